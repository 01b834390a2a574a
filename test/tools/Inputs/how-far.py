# SPDX-License-Identifier: Apache-2.0
"""how-far.py EXPECTED FOUND LEAST MOST: the largest difference of two arrays of f32,
as a part of the largest number expected, is from LEAST to MOST. Without numpy."""
import array
import pathlib
import sys


def numbers(file):
    data = pathlib.Path(file).read_bytes()
    header = int.from_bytes(data[8:10], "little")
    assert b"'<f4'" in data[10:10 + header], data[10:10 + header]
    return array.array("f", data[10 + header:])


expected, found = map(numbers, sys.argv[1:3])
assert len(expected) == len(found) > 0
far = max(abs(x - y) for x, y in zip(expected, found)) / max(map(abs, expected))
if not float(sys.argv[3]) <= far <= float(sys.argv[4]):
    sys.exit(f"{far:.3g} away, expected from {sys.argv[3]} to {sys.argv[4]}")
