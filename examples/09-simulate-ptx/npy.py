#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy's files of f32 without NumPy.

  npy.py write FILE N    the numbers 0 to N - 1
  npy.py print FILE      what is in it, 16 to a line
"""
import struct
import sys


def write(path, n):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{n}f", *range(n)))


def show(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    numbers = [f"{v:g}" for v, in struct.iter_unpack("<f", data[start:])]
    for i in range(0, len(numbers), 16):
        print(*numbers[i:i + 16])


if sys.argv[1:2] == ["write"] and len(sys.argv) == 4:
    write(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1:2] == ["print"] and len(sys.argv) == 3:
    show(sys.argv[2])
else:
    sys.exit(__doc__)
