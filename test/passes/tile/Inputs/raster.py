# SPDX-License-Identifier: Apache-2.0
"""raster.py COMMAND...: runs raster.mlir; each of 7x5 programs must have run once, with its numbers."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

with tempfile.TemporaryDirectory() as name:
    numbers, times = pathlib.Path(name, "numbers.npy"), pathlib.Path(name, "times.npy")
    np.save(times, np.zeros(35, np.int32))
    subprocess.run([*sys.argv[1:], "--arg", f"out:i32[35]:{numbers}", "--arg", f"inout:{times}"],
                   check=True, stdout=subprocess.DEVNULL)
    want = 10 * np.arange(5)[:, None] + np.arange(7)
    assert (np.load(numbers).reshape(5, 7) == want).all(), np.load(numbers)
    assert (np.load(times) == 1).all(), np.load(times)
