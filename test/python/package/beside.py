# SPDX-License-Identifier: Apache-2.0
"""beside.py BUILD: act in one process with jaxlib and with torch-mlir, which have MLIRs of
their own, whichever is first. It installs both into BUILD."""
import os
import pathlib
import subprocess
import sys

build = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "raise"))
import raise_models  # noqa: E402

ACT = """
import act
m = act.import_config({"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                       "num_attention_heads": 2, "vocab_size": 64}, batch=1, seq=8)
step = act.Device("host").load(m.run(fuse_attention=True, remat="selective", optimizer="adamw").emit())
step.initialise(seed=1)
import numpy
tokens = numpy.zeros((1, 8), numpy.int32)
step.run("step", inputs={"tokens": tokens, "labels": tokens}, scalars={"lr": 1e-2, "step": 1})
"""
OTHERS = {
    "jax": """
import jax, jax.numpy as jnp
text = jax.jit(lambda x: jnp.tanh(x)).lower(jnp.zeros(4)).compiler_ir("stablehlo").operation.get_asm(
    print_generic_op_form=True)
""",
    "torch-mlir": """
import torch
from torch_mlir import fx
class Tanh(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)
text = str(fx.export_and_import(Tanh(), torch.zeros(4), output_type="linalg-on-tensors", func_name="forward"))
""",
}
# What the other one writes, act reads.
BOTH = """
assert "act.tanh" in act.Module.parse(text).run(raise_to_act=True).text
"""
failures = 0
for name, site in raise_models.sites(build):
    for order in ((ACT, OTHERS[name]), (OTHERS[name], ACT)):
        path = os.pathsep.join((str(build / "python/site"), str(site)))
        run = subprocess.run([sys.executable, "-c", "".join(order) + BOTH], capture_output=True, text=True,
                             env=os.environ | dict(PYTHONPATH=path))
        failures += run.returncode != 0
        print(f"act {'before' if order[0] is ACT else 'after'} {name}: {'ok' if not run.returncode else run.stderr}",
              flush=True)
print(f"{4 - failures} passed, {failures} failed")
sys.exit(failures > 0)
