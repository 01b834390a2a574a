# SPDX-License-Identifier: Apache-2.0
"""tokens.py FILE.npy DIM... [LOW-HIGH]: int32 that are all in the range."""
import sys

import numpy as np

*shape, last = sys.argv[2:]
low, high = map(int, last.split("-")) if "-" in last else (0, 24)
shape = [int(n) for n in shape + ([] if "-" in last else [last])]
values = np.random.default_rng(0).integers(low, high, shape, dtype=np.int32)
np.save(sys.argv[1], values)
