# SPDX-License-Identifier: Apache-2.0
"""Arrays for plain-kernels.mlir, without NumPy: make, check FILES, damage FOLDER; and for a
copy: bits.npy has all numbers of 16 bits, same FILES holds others to it, in which a NaN of
bf16 that signals may have become quiet."""
import array
import pathlib
import struct
import sys


def save(name, values, code="f"):
    header = f"{{'descr': '<{'f4' if code == 'f' else 'u2'}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array(code, values).tofile(f)


def load(name, code="f"):
    data = pathlib.Path(name).read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    return array.array(code, data[10 + length:])


A = [i * 0.37 - 100 for i in range(1000)]
B = [i * i * 0.01 for i in range(1000)]
if sys.argv[1] == "make":
    save("a.npy", A)
    save("b.npy", B)
    save("s.npy", range(1024))
    save("bits.npy", range(65536), "H")
elif sys.argv[1] == "same":
    for name in sys.argv[2:]:
        for want, got in enumerate(load(name, "H")):
            signals = want & 0x7FFF in range(0x7F81, 0x7FC0)
            assert got == want or (signals and got == want | 0x40), f"{name}: {want:04x} is {got:04x}"
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
