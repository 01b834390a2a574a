# SPDX-License-Identifier: Apache-2.0
"""same-logs.py A B: loss and val_loss of every step agree to 1e-5."""
import json
import math
import sys

logs = [[json.loads(line) for line in open(path)] for path in sys.argv[1:3]]
assert logs[0] and len(logs[0]) == len(logs[1]), logs
for a, b in zip(*logs):
    for key in ("loss", "val_loss"):
        assert math.isclose(a[key], b[key], rel_tol=1e-5), (key, a, b)
assert logs[0][0]["val_loss"] != logs[0][-1]["val_loss"], "nothing was learnt"
