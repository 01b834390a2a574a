#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs for the kernels, and what they should compute: in f64, without NumPy.

  reference.py make FILE DTYPE SHAPE      numbers between -4 and 4, f32 or bf16, or whole
                                          ones, i8, i32 or i64; 37x200
  reference.py add X Y Z                  compares Z with X + Y
  reference.py softmax X Y
  reference.py matmul X W Y
  reference.py attention Q K V O          all keys
  reference.py causal Q K V O             keys up to the query's own position

The files are NumPy's. It has no bf16: such arrays are uint16, a number's upper half.
"""
import ast
import math
import random
import struct
import sys


def bf16_bits(x):
    bits, = struct.unpack("<I", struct.pack("<f", x))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def make(path, dtype, shape):
    sizes = [int(n) for n in shape.split("x")]
    draw = random.Random(path.rsplit("/", 1)[-1])  # so that two files differ
    whole = dtype[0] == "i"
    most = 2 ** (int(dtype[1:]) - 1) if whole else 4
    numbers = [draw.randrange(-most, most) if whole else draw.uniform(-most, most)
               for _ in range(math.prod(sizes))]
    names = {"f32": "<f4", "bf16": "<u2", "i8": "|i1", "i32": "<i4", "i64": "<i8"}
    header = repr({"descr": names[dtype], "fortran_order": False,
                   "shape": tuple(sizes)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        if dtype != "bf16":
            code = {"f32": "f", "i8": "b", "i32": "i", "i64": "q"}[dtype]
            file.write(struct.pack(f"<{len(numbers)}{code}", *numbers))
        else:
            file.write(struct.pack(f"<{len(numbers)}H", *map(bf16_bits, numbers)))


def read(path):
    """A list of rows of f64; a vector is one row."""
    data = open(path, "rb").read()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:start].decode())
    if header["descr"] == "<u2":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(start, len(data), 2))
        start = 0
    numbers = [x for x, in struct.iter_unpack("<f", data[start:])]
    columns = header["shape"][-1]
    return [numbers[i:i + columns] for i in range(0, len(numbers), columns)]


def transposed(a):
    return list(zip(*a))


def product(a, b):
    columns = transposed(b)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def add(x, y):
    return [[a + b for a, b in zip(*rows)] for rows in zip(x, y)]


def softmax(x):
    powers = [[math.exp(a - max(row)) for a in row] for row in x]
    return [[a / sum(row) for a in row] for row in powers]


def attention(q, k, v, causal=False):
    scores = product(q, transposed(k))
    for i, row in enumerate(scores):
        for j in range(len(row)):
            hidden = causal and j > i
            row[j] = -math.inf if hidden else row[j] / math.sqrt(len(q[0]))
    return product(softmax(scores), v)


# What is computed, and how far a result may be from it, as a part of the largest:
# bf16 has 8 bits, and attention rounds its weights to bf16, too.
KERNELS = {
    "add": (add, 2**-23),
    "softmax": (softmax, 2**-21),
    "matmul": (product, 2**-8),
    "attention": (attention, 2**-7),
    "causal": (lambda q, k, v: attention(q, k, v, causal=True), 2**-7),
}


def check(name, paths):
    function, bound = KERNELS[name]
    expected = function(*map(read, paths[:-1]))
    actual = read(paths[-1])
    if [len(row) for row in actual] != [len(row) for row in expected]:
        sys.exit(f"{name}: {paths[-1]} has another shape than the result")
    pairs = [pair for rows in zip(actual, expected) for pair in zip(*rows)]
    error = max(abs(a - e) if math.isfinite(a) else math.inf for a, e in pairs)
    largest = max(abs(e) for _, e in pairs)
    if error > bound * largest:
        sys.exit(f"{name}: off by {error:.1e}, {bound * largest:.1e} allowed")
    print(f"{name}: {len(pairs)} numbers up to {largest:.3g}, off by at most {error:.1e}")


if sys.argv[1:2] == ["make"] and len(sys.argv) == 5:
    make(*sys.argv[2:])
elif sys.argv[1:2] and sys.argv[1] in KERNELS and len(sys.argv) >= 4:
    check(sys.argv[1], sys.argv[2:])
else:
    sys.exit(__doc__)
