# SPDX-License-Identifier: Apache-2.0
"""turns.py COMMAND...: runs `window` or `last_first` of turns.mlir by the command and checks
what it leaves behind: ones by programs p for rows 64 p to 64 p + 127, each turn once; the
second counts p from the last."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

with tempfile.TemporaryDirectory() as folder:
    files = [pathlib.Path(folder) / name for name in ("sum.npy", "turns.npy", "ticket.npy")]
    for file, array in zip(files, (np.zeros(512, np.float32), np.zeros(512, np.int32),
                                   np.zeros(1, np.int32))):
        np.save(file, array)
    subprocess.run([*sys.argv[1:], *(x for f in files for x in ("--arg", f"inout:{f}"))], check=True)
    total, turns, ticket = map(np.load, files)
block = np.arange(512) // 64
assert np.array_equal(total, np.where(block == 0, 1, 2)), total
assert ticket[0] == 8, ticket
# On the host all take their turn; else those that come after have none: the last ones, or
# where these come first, the first.
if "host" in sys.argv:
    want = np.full(8, 8)
elif "last_first" in sys.argv:
    want = np.minimum(9 - np.arange(8), 8)
else:
    want = np.arange(8) + 1
assert np.array_equal(turns[::64], want), turns[::64]
