# SPDX-License-Identifier: Apache-2.0
"""Arrays for plain-kernels.mlir, without NumPy: make, check FILES, damage FOLDER."""
import array
import pathlib
import struct
import sys


def save(name, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array("f", values).tofile(f)


def load(name):
    data = pathlib.Path(name).read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    return array.array("f", data[10 + length:])


A = [i * 0.37 - 100 for i in range(1000)]
B = [i * i * 0.01 for i in range(1000)]
if sys.argv[1] == "make":
    save("a.npy", A)
    save("b.npy", B)
    save("s.npy", range(1024))
elif sys.argv[1] == "check":
    a, b = load("a.npy"), load("b.npy")
    want = array.array("f", [x + y for x, y in zip(a, b)])
    for name in sys.argv[2:]:
        assert load(name) == want, name
    sums = [sum(range(256 * i, 256 * i + 256)) for i in range(4)]
    assert list(load("o.npy")) == sums, list(load("o.npy"))
else:
    entries = list(pathlib.Path(sys.argv[2]).glob("*.ptx"))
    assert entries
    for entry in entries:
        text = entry.read_bytes()
        assert b"add.rn.f32" in text
        entry.write_bytes(text.replace(b"add.rn.f32", b"sub.rn.f32"))
