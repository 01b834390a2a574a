# SPDX-License-Identifier: Apache-2.0
"""same-logs.py A B: loss and val_loss of every step agree to 1e-5."""
import json
import math
import sys

logs = [[json.loads(line) for line in open(path)] for path in sys.argv[1:3]]
assert logs[0] and len(logs[0]) == len(logs[1]), logs
for a, b in zip(*logs):
    assert a.keys() == b.keys(), (a, b)
    for key in a:
        assert math.isclose(a[key], b[key], rel_tol=1e-5), (key, a, b)
key = "val_loss" if "val_loss" in logs[0][0] else "loss"
assert logs[0][0][key] != logs[0][-1][key], "nothing was learnt"
