# SPDX-License-Identifier: Apache-2.0
"""Models as torch-mlir and JAX write them, raised to act and trained: loss and gradients are
PyTorch's on the host and on the simulator, attention is one op, what is left of other
dialects is counted, and a raised Llama's memory is that of the imported one.

  raise_models.py BUILD [--full] [FILE...]

`models` holds texts that write.py wrote. --full writes all forms of all models anew, with
two layers and for inference, too; it installs torch-mlir and JAX into BUILD.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import actrt  # noqa: E402
import torch_models as models  # noqa: E402

# Of the texts in models: attentions that are fused, and ops that no act op computes.
# Those of Llama make its rotary tables, those of T5 its bias's buckets and ReLU; the
# convolutions of a net are left, too.
EXPECTED = {
    "mlp.linalg": (0, 0), "mlp.jax.stablehlo": (0, 0),
    "llama.linalg": (1, 6), "llama.jax.stablehlo": (1, 8), "llama.stablehlo": (1, 6),
    "gpt2.linalg": (1, 0), "gpt2.jax.stablehlo": (1, 3), "gpt2.tosa": (1, 2),
    "vit.linalg": (1, 0), "vit.jax.stablehlo": (1, 0), "vit.stablehlo": (1, 3),
    "t5.linalg": (3, 4), "t5.jax.stablehlo": (3, 7),
    "convnet.linalg": (0, 5), "convnet.jax.stablehlo": (0, 5), "convnet.tosa": (0, 5),
    "llama.torch": (1, 6), "convnet.torch": (0, 5), "windows.linalg": (0, 5), "windows.torch": (0, 5),
}
ON_SIMULATOR = ["llama.linalg", "gpt2.jax.stablehlo", "vit.linalg", "t5.jax.stablehlo", "convnet.tosa",
                "windows.linalg"]
CONFIGS = {
    "llama": dict(model_type="llama", vocab_size=48, hidden_size=32, intermediate_size=64, num_attention_heads=4,
                  num_key_value_heads=2, max_position_embeddings=16, rms_norm_eps=1e-6, tie_word_embeddings=False,
                  torch_dtype="float32", hidden_act="silu"),
    "gpt2": dict(model_type="gpt2", vocab_size=48, n_embd=32, n_head=4, n_positions=16, layer_norm_epsilon=1e-5,
                 activation_function="gelu_new", torch_dtype="float32", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
}
# A raised GPT-2 knows that it takes all rows of its table of places, and keeps no numbers of them.
LESS = {"gpt2": 4 * models.ROWS}


class Raised:
    """A text, and the same model in PyTorch."""
    def __init__(self, file, bin):
        name = file.name.split(".")[0]
        self.file, self.bin = file, bin
        self.program = models.Program(name.removesuffix("-infer"), not name.endswith("-infer"))
        self.by_jax = ".jax." in file.name
        first = len(self.program.inputs)
        self.names = [f"arg{first + i}" for i in range(len(self.program.names))]
        self.flags = ["--allow-unregistered-dialect", f"--raise-to-act=parameters={first}-{first + len(self.names) - 1}",
                      "--fuse-attention"]

    def call(self, *flags):
        run = subprocess.run([self.bin / "act-opt", self.file, *self.flags, *flags], capture_output=True, text=True)
        assert run.returncode == 0, f"{self.file.name}: {run.stderr}"
        return run

    def raised(self):
        """The module's text, and how many ops were left."""
        run = self.call()
        return run.stdout, int(re.search(r"; (\d+) ops are left", run.stderr)[1])

    def report(self):
        return json.loads(self.call("--remat=none", "--memory-report=format=json", "-o", os.devnull).stdout)

    def check(self, runtime, target=""):
        """Largest difference from PyTorch of the result, or of the loss and the gradients."""
        program, trains = self.program, self.program.trains
        ours = program.for_jax if self.by_jax else lambda i, array: array
        # A host's cached kernels would hide that a kernel is wrong: none are kept.
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "a.act"
            self.call(*(["--remat=selective"] if trains else []), *([f"--target={target}"] if target else []),
                      f"--emit=file={out}" + ("" if trains else " mode=infer"), "-o", os.devnull)
            step = runtime.load(str(out))
        for i, name in enumerate(self.names):
            step.set_parameter(name, np.ascontiguousarray(ours(i, program.parameters_[i])))
        if trains:
            step.set_scalar("lr", 0.0)
            step.set_scalar("step", 1)
        inputs = [models.input_for_jax(a) if self.by_jax else a for a in program.inputs]
        function = "step" if trains else "forward"
        outputs = step.bind(function, {f"arg{i}": np.ascontiguousarray(a) for i, a in enumerate(inputs)})
        step.run(function)
        [got] = outputs.values()
        leaves = list(program.model.parameters())
        program.model.zero_grad()
        want = program(*program.inputs, *leaves)
        pairs = [(got, want.detach())]
        if trains:
            want.backward()
            pairs += [(step.gradient(name), ours(i, p.grad)) for i, (name, p) in enumerate(zip(self.names, leaves))]
        step.release()
        # Some gradients are 0 but for rounding, as that of a bias of keys.
        return max(np.abs(g - w.numpy()).max() / max(1e-2, w.abs().max().item()) for g, w in pairs)


def compare_with_import(raised, bin, name):
    """Saved activations, the peak and the plan: to the byte those of the imported model, but for LESS."""
    with tempfile.TemporaryDirectory() as folder:
        config, twin = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "twin.mlir"
        config.write_text(json.dumps(CONFIGS[name] | {"n_layer" if name == "gpt2" else "num_hidden_layers": models.LAYERS}))
        subprocess.run([bin / "act-import", config, "--batch", str(models.BATCH), "--seq", str(models.ROWS), "-o", twin],
                       check=True)
        run = subprocess.run([bin / "act-opt", twin, "--fuse-attention", "--remat=none", "--memory-report=format=json",
                              "-o", os.devnull], check=True, capture_output=True, text=True)
    own, other = raised.report(), json.loads(run.stdout)
    less = LESS.get(name, 0)
    for key in ("retained_bytes", "peak_bytes", "arena_bytes", "parameters_bytes", "gradients_bytes"):
        expected = other[key] - (less if key in ("retained_bytes", "peak_bytes", "arena_bytes") else 0)
        assert own[key] == expected, f"{raised.file.name}: {key} {own[key]}, of the imported model {other[key]}"
    print(f"{raised.file.name}: saved {own['retained_bytes']}, peak {own['peak_bytes']}: the imported model's"
          + (f" without {less}" if less else ""))


def sites(build):
    """Folders with torch-mlir and with JAX, for PYTHONPATH."""
    for importer, packages in (("torch-mlir", ["--no-deps", "torch-mlir"]), ("jax", ["jax"])):
        site = build / "raise-models" / f"{importer}-site"
        if not site.exists():
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", site, *packages], check=True)
        yield importer, site


def write_anew(build):
    """All models in all forms, with two layers."""
    for importer, site in sites(build):
        out = build / "raise-models" / importer
        out.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, HERE / "write.py", importer, out, "--layers", "2"], check=True,
                       env=os.environ | dict(PYTHONPATH=str(site)))
        yield from sorted(out.iterdir())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    bin = options.build.resolve() / "bin"
    library = str(bin.parent / "lib/libact_runtime.so")
    host, simulator = actrt.Runtime(library), actrt.Runtime(library, device="sim:sm_80")
    if options.full:
        models.LAYERS = 2
        files = list(write_anew(options.build.resolve()))
    else:
        files = options.files or [HERE / "models" / name for name in EXPECTED]
    wrong = 0
    for file in files:
        raised = Raised(file, bin)
        text, left = raised.raised()
        found = text.count("act.attention "), left
        error = raised.check(host)
        line = f"{file.name}: {found[0]} attentions, {left} ops left; host {error:.1e}"
        if options.full or file.name in ON_SIMULATOR:
            on_simulator = raised.check(simulator, "sm_80")
            line += f", simulator {on_simulator:.1e}"
            error = max(error, on_simulator)
        good = error < 5e-6 and (options.full or found == EXPECTED.get(file.name, found))
        wrong += not good
        print(line if good else f"WRONG {line}; expected {EXPECTED.get(file.name)}", flush=True)
        if raised.program.trains and file.name.split(".")[0] in CONFIGS and (
                file.suffix in (".linalg", ".torch", ".stablehlo") and not raised.by_jax):
            compare_with_import(raised, bin, file.name.split(".")[0])
    print(f"{len(files) - wrong} passed, {wrong} failed")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
