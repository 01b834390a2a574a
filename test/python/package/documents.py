# SPDX-License-Identifier: Apache-2.0
"""documents.py BUILD: the Python of README.md, docs/python.md and docs/embedding.md, and the
cells of the notebook run."""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback

build = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(build / "python" / "site"))
root = pathlib.Path(__file__).resolve().parents[3]


def run(name, blocks):
    names, bad = {"__name__": name}, 0
    for number, block in enumerate(blocks, 1):
        try:
            exec(compile(block, f"{name}, block {number}", "exec"), names)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            bad += 1
    print(f"{name}: {len(blocks)} blocks, {bad} failures", flush=True)
    return bad or not blocks


def page(name):
    return run(name, re.findall(r"```python\n(.*?)```", (root / name).read_text(), re.S))


cells = json.loads((root / "examples/11-from-python/memory.ipynb").read_text())["cells"]
# The pages' files: what importers and nvcc wrote, and what the pages write.
os.chdir(tempfile.mkdtemp(prefix="act-documents-"))
models = root / "test/python/raise/models"
shutil.copy(models / "llama.linalg", "model.linalg")
shutil.copy(models / "gpt2.jax.stablehlo", "model.stablehlo")
shutil.copy(root / "test/runtime/sim/kernels/cuda/tma.sm_90a.ptx", "tma.ptx")
bad = page("README.md") + page("docs/python.md") + page("docs/embedding.md") + run(
    "memory.ipynb", ["".join(c["source"]) for c in cells if c["cell_type"] == "code"])
shutil.rmtree(os.getcwd())
sys.exit(bad > 0)
