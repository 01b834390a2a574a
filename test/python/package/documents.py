# SPDX-License-Identifier: Apache-2.0
"""documents.py BUILD: the Python of docs/python.md and the cells of the notebook run."""
import json
import pathlib
import re
import sys
import traceback

build = pathlib.Path(sys.argv[1])
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


page = (root / "docs/python.md").read_text()
cells = json.loads((root / "examples/11-from-python/memory.ipynb").read_text())["cells"]
sys.exit(run("docs/python.md", re.findall(r"```python\n(.*?)```", page, re.S))
         + run("memory.ipynb", ["".join(c["source"]) for c in cells
                                if c["cell_type"] == "code"]) > 0)
