#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dot-within-run.py FOLDER: tile.dot within ends, rows of 64 by 48 numbers each.

Ends are those of sequences, which rows share, of all k, and any: before the block, behind
it, overlapping, in the wrong order. Half of what a row does not see is NaN or infinite, in
both operands; where a row sees such a number, its sum is none. Others are small integers,
so sums are exact in any order."""
import itertools
import pathlib
import subprocess
import sys

import numpy as np

ROWS, DEPTH, COLUMNS = 64, 48, 32
KERNEL = """gpu.module @kernels {{
  gpu.func @within(%x: !tile.view<{m}x{k}x{t}>, %y: !tile.view<{k}x{n}x{t}>, %l: !tile.view<{m}xi32>, %h: !tile.view<{m}xi32>, %z: !tile.view<{m}x{n}xf32>) kernel attributes {{tile.schedule = #tile.schedule<warps = {warps}>, tile.grid = array<i64: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<{m}x{n}xf32>
    %a = tile.load %x[%c0 : {m}, %c0 : {k}] : !tile.view<{m}x{k}x{t}>
    %b = tile.load %y[%c0 : {k}, %c0 : {n}] : !tile.view<{k}x{n}x{t}>
    %low = tile.load %l[%c0 : {m}] : !tile.view<{m}xi32>
    %high = tile.load %h[%c0 : {m}] : !tile.view<{m}xi32>
    %c = tile.dot %a, %b, %one within(%low, %high : tensor<{m}xi32>, tensor<{m}xi32>) {precision} : tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}> -> tensor<{m}x{n}xf32>
    tile.store %c, %z[%c0 : {m}, %c0 : {n}] : !tile.view<{m}x{n}xf32>
    gpu.return
  }}
}}
"""
rng = np.random.default_rng(4)
BITS = {"bf16": lambda x: (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
        "f16": lambda x: x.astype(np.float16), "f32": lambda x: x.astype(np.float32)}


def of_sequences(borders):
    at = np.searchsorted(borders, np.arange(ROWS) * DEPTH // ROWS, side="right")
    ends = np.array([0, *borders, DEPTH])
    return ends[at], ends[at + 1]


WINDOWS = {"all": of_sequences([]), "two": of_sequences([17]), "four": of_sequences([1, 2, 40]),
           "behind": (np.full(ROWS, -5), np.full(ROWS, 99)), "none": (np.full(ROWS, 48), np.full(ROWS, 60)),
           "any": tuple(rng.integers(-9, 60, (2, ROWS))), "one row": (np.arange(ROWS) - 30, np.arange(ROWS) + 1)}


def run(folder, dtype, precision, warps, device, low, high):
    """Whether the sums are as expected."""
    seen = (np.arange(DEPTH) >= low[:, None]) & (np.arange(DEPTH) < high[:, None])
    x, y = (rng.integers(-3, 4, shape).astype(np.float64) for shape in ((ROWS, DEPTH), (DEPTH, COLUMNS)))
    bad = rng.choice([np.nan, np.inf, -np.inf], (ROWS, DEPTH))
    x = np.where(seen | (rng.random(x.shape) < 0.5), x, bad)
    y[rng.integers(DEPTH, size=2), rng.integers(COLUMNS)] = np.nan
    products = np.where(seen[:, :, None], x[:, :, None] * y[None], 0)
    want = 1 + products.sum(1)
    kernel = folder / "within.mlir"
    kernel.write_text(KERNEL.format(m=ROWS, k=DEPTH, n=COLUMNS, t=dtype, warps=warps,
                                    precision=precision and f"precision = {precision}"))
    for name, array in (("x", BITS[dtype](x)), ("y", BITS[dtype](y)),
                        ("l", low.astype(np.int32)), ("h", high.astype(np.int32))):
        np.save(folder / f"{name}.npy", array)
    args = [*(f"in:{folder / name}.npy" for name in "xylh"), f"out:f32[{ROWS},{COLUMNS}]:{folder / 'z.npy'}"]
    done = subprocess.run(["act-run", "kernel", kernel, "--entry", "within", "--cache-dir", "none", "--device", device,
                           *(x for a in args for x in ("--arg", a))], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
        return False
    return np.array_equal(np.load(folder / "z.npy"), want, equal_nan=True)


np.seterr(all="ignore")
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
wrong = 0
forms = [("bf16", "", 4), ("bf16", "", 1), ("f16", "", 2), ("f32", "", 2), ("f32", "bf16x3", 4), ("f32", "tf32", 4)]
for (dtype, precision, warps), (name, ends) in itertools.product(forms, WINDOWS.items()):
    for device in ("sim", "host") if warps > 1 else ("sim",):
        if not run(folder, dtype, precision, warps, device, *ends):
            wrong += 1
            print(f"{dtype} {precision}, {warps} warps, {name}, on {device}: wrong")
sys.exit(wrong > 0)
