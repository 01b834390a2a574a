# SPDX-License-Identifier: Apache-2.0
"""plain-tokens.py FILE.npy VOCABULARY DIM...: int32 below VOCABULARY, without numpy."""
import math
import random
import struct
import sys

path, vocabulary, *shape = sys.argv[1], *map(int, sys.argv[2:])
draw = random.Random(0)
values = [draw.randrange(vocabulary) for _ in range(math.prod(shape))]
head = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
head += " " * (-(10 + len(head) + 1) % 64) + "\n"
with open(path, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    f.write(struct.pack(f"<{len(values)}i", *values))
