#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""float8-run.py FOLDER: conversions to floats of 8 bits and back, in kernels on the simulator and on the host,
bit by bit what the simulator's cvt.rn.satfinite and cvt.rn.f16x2 of sm_89 say; of f64, what NumPy says.
"""
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "sweep"))
from reference import to_8_bits  # noqa: E402

BLOCK = 4096
TYPES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}

# Thread i: two numbers of x to two bytes of y, and two bytes of z to two numbers of w.
ORACLE = """.version 8.4
.target sm_89
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z, .param .u64 w)
{
  .reg .b64 %p<4>; .reg .b64 %o; .reg .f32 %f<2>; .reg .b16 %h; .reg .b32 %r<6>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  ld.param.u64 %p0, [x]; ld.param.u64 %p1, [y]; ld.param.u64 %p2, [z]; ld.param.u64 %p3, [w];
  mul.wide.u32 %o, %r0, 8; add.u64 %p0, %p0, %o;
  mul.wide.u32 %o, %r0, 2; add.u64 %p1, %p1, %o; add.u64 %p2, %p2, %o;
  mul.wide.u32 %o, %r0, 4; add.u64 %p3, %p3, %o;
  ld.global.v2.f32 {%f0, %f1}, [%p0];
  cvt.rn.satfinite.TYPEx2.f32 %h, %f1, %f0;
  st.global.b16 [%p1], %h;
  ld.global.b16 %h, [%p2];
  cvt.rn.f16x2.TYPEx2 %r3, %h;
  st.global.b32 [%p3], %r3;
  ret;
}
"""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def arguments(*pairs):
    return [w for a in pairs for w in ("--arg", a)]


def convert(folder, device, op, x, from_type, to_type, stored):
    """x, by the kernel of one op."""
    n = x.size
    assert n % BLOCK == 0
    (folder / "k.mlir").write_text(f"""gpu.module @m {{
  gpu.func @k(%x: !tile.view<{n}x{from_type}>, %y: !tile.view<{n}x{to_type}>) kernel attributes {{tile.grid = array<i64: {n // BLOCK}, 1, 1>}} {{
    %c = arith.constant {BLOCK} : index
    %p = tile.program_id x
    %i = arith.muli %p, %c : index
    %a = tile.load %x[%i : {BLOCK}] : !tile.view<{n}x{from_type}>
    %b = {op} %a : tensor<{BLOCK}x{from_type}> to tensor<{BLOCK}x{to_type}>
    tile.store %b, %y[%i : {BLOCK}] : !tile.view<{n}x{to_type}>
    gpu.return
  }}
}}
""")
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.zeros(n, stored))
    run("act-run", "kernel", folder / "k.mlir", *device, "--cache-dir", "none",
        *arguments(f"in:{folder}/x.npy", f"inout:{folder}/y.npy"))
    return np.load(folder / "y.npy")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    halves = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        ties = halves.view(np.float16).astype(np.float32).view(np.uint32)
    # Every f16, and the f32 on both sides of it; bf16 of all kinds; anything.
    bits = np.concatenate([ties, ties + 1, ties - 1, halves.astype(np.uint32) << 16,
                           rng.integers(0, 1 << 32, 1 << 16, dtype=np.uint32)])
    codes = np.resize(np.arange(256, dtype=np.uint8), bits.size)
    devices = {"sm_80": ["--target", "sm_80"], "host": ["--device", "host"]}
    wrong = 0

    def compare(what, got, want, x):
        nonlocal wrong
        bad = np.flatnonzero(got != want)
        if bad.size:
            wrong += 1
            at = bad[0]
            print(f"{what}: {bad.size} of {got.size} differ, at {x[at]!r}: {got[at]:#x}, expected {want[at]:#x}")

    for t, word in TYPES.items():
        (folder / "oracle.ptx").write_text(ORACLE.replace("TYPE", word))
        np.save(folder / "x.npy", bits.view(np.float32))
        np.save(folder / "z.npy", codes)
        run("actrt-sim", folder / "oracle.ptx", "--target", "sm_89", "--block", 128, "--grid", bits.size // 256,
            *arguments(f"in:{folder}/x.npy", f"out:u8[{bits.size}]:{folder}/y.npy", f"in:{folder}/z.npy",
                       f"out:u16[{bits.size}]:{folder}/w.npy"))
        want, back = np.load(folder / "y.npy"), np.load(folder / "w.npy")
        with np.errstate(invalid="ignore"):
            doubles = np.concatenate([bits.view(np.float32).astype(np.float64),
                                      ties.view(np.float32).astype(np.float64) * (1 + 2.0 ** -40)])
            wants64 = to_8_bits(doubles, t)
        for name, device in devices.items():
            def to8(x, kind):
                return convert(folder, device, "arith.truncf", x, kind, t, np.uint8)
            compare(f"f32 to {t}, {name}", to8(bits.view(np.float32), "f32"), want, bits.view(np.float32))
            compare(f"f16 to {t}, {name}", to8(halves.view(np.float16), "f16"), want[:1 << 16], halves.view(np.float16))
            compare(f"bf16 to {t}, {name}", to8(halves, "bf16"), want[3 << 16:4 << 16], halves)
            compare(f"f64 to {t}, {name}", to8(doubles, "f64"), wants64, doubles)
            f16 = convert(folder, device, "arith.extf", codes[:BLOCK], t, "f16", np.float16)
            numbers = back[:BLOCK].view(np.float16)
            compare(f"{t} to f16, {name}", np.where(np.isnan(f16), 0, f16.view(np.uint16)),
                    np.where(np.isnan(numbers), 0, back[:BLOCK]), codes)
            compare(f"NaN of {t}, {name}", np.isnan(f16).astype(int), np.isnan(numbers).astype(int), codes)
            for wide, stored in (("f32", np.float32), ("f64", np.float64)):
                x = convert(folder, device, "arith.extf", codes[:BLOCK], t, wide, stored)
                equal = (x == numbers) | np.isnan(x) & np.isnan(numbers)
                compare(f"{t} to {wide}, {name}", equal.astype(int), np.ones(BLOCK, int), codes)
    print(f"{2 * bits.size} conversions, {wrong} kinds wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
