# SPDX-License-Identifier: Apache-2.0
"""kernel-index.py DIR [REPORT]: DIR/index.json says of every kernel what it should,
its file has the entry with that block, and the least bytes are those of the shapes.
REPORT is a memory report, for a target, of a model that launches each kernel once."""
import json
import math
import pathlib
import re
import sys

WORDS = ["name", "file", "entry", "ops", "shapes", "grid", "block", "shared_bytes",
         "useful_flops", "least_bytes", "block_bytes", "schedule"]
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "i32": 4, "i64": 8, "i1": 1}
folder = pathlib.Path(sys.argv[1])
index = json.loads((folder / "index.json").read_text())
assert index, "no kernels"
assert len({k["name"] for k in index}) == len(index), "names"
for k in index:
    assert list(k) == WORDS, (k["name"], list(k))
    text = (folder / k["file"]).read_text()
    assert len(re.findall(r"\.visible \.entry (\w+)\(", text)) == 1, k["name"]
    assert f".visible .entry {k['entry']}(" in text, k["name"]
    assert f".reqntid {', '.join(map(str, k['block']))}" in text, k["name"]
    assert text.count(".param .u64") == len(k["shapes"]), (k["name"], k["shapes"])
    assert k["ops"] and all(re.fullmatch(r"[a-z_0-9]+", op) for op in k["ops"]), k["ops"]
    assert min(k["grid"]) >= 1 and k["shared_bytes"] <= 101376, (k["name"], k["shared_bytes"])
    assert set(k["schedule"]) >= {"warps", "stages"}, k["schedule"]
    assert 32 * k["schedule"]["warps"] == math.prod(k["block"]), k["name"]
    moved = []
    for shape in k["shapes"]:
        *dims, element = shape.split("x")
        moved.append(math.prod(map(int, dims)) * BYTES[element])
    if k["ops"] == ["embedding"]:  # of the table, the rows that it gives
        moved[0] = min(moved[0], moved[-1])
    # What is replaced in place is one operand that is read and written.
    sums = {sum(moved)}
    for size in moved:
        sums |= {known + size for known in sums}
    assert k["least_bytes"] in sums, (k["name"], moved, k["least_bytes"])
if len(sys.argv) > 2:
    report = json.loads(pathlib.Path(sys.argv[2]).read_text())
    assert report["launches"] == len(index), report["launches"]
    for of in ("least_bytes", "block_bytes"):
        assert report[of] == sum(k[of] for k in index), (of, report[of])
print(len(index), "kernels")
