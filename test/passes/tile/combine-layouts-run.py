#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""combine-layouts-run.py FOLDER [COUNT [SEED]]: scans and reductions of blocks in random layouts, on the
simulator under several orders, against loops in Python.

A layout is drawn digit by digit: registers, lanes, warps and copies follow each other along
either dimension in any order, also such as tile-assign-layouts would not choose. All numbers are integers.
"""
import re
import sys

import layout_kernels
import numpy as np


def layout(rng):
    """Shape, warps and the text of a layout."""
    digits = [("lane", e) for e in ([2, 2, 2, 4], [4, 8], [2, 16], [32], [8, 2, 2])[rng.integers(5)]]
    warps = [[], [2], [3], [4], [2, 3], [2, 2], [5]][rng.integers(7)]
    digits += [("warp", e) for e in warps]
    digits += [("register", int(e)) for e in rng.integers(2, 5, rng.integers(0, 4))]
    rng.shuffle(digits)
    shape, lists = [1, 1], {"register": [], "lane": [], "warp": []}
    for holder, extent in digits:
        extent, strides = int(extent), [0, 0]
        if rng.random() > 0.15:
            dim = int(rng.random() < 0.7)
            strides[dim] = shape[dim]
            shape[dim] *= extent
        lists[holder].append(f"{extent}:({strides[0]},{strides[1]})")
    for digits in lists.values():
        rng.shuffle(digits)
    text = ", ".join(f"{holder} = [{', '.join(d)}]" for holder, d in lists.items())
    return tuple(shape), int(np.prod(warps, dtype=int)), f"#tile.layout<{text}>"


# Text of the region, without its type, and what it computes of one or two operands.
REGIONS = {
    "recurrence": (2, """
    ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
      %p = arith.muli %a, %c : i32
      %q = arith.muli %c, %b : i32
      %r = arith.addi %q, %d : i32
      tile.yield %p, %r : i32, i32
    }""", lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1])),
    # A branch, and a number from around the op.
    "last": (1, """
    ^bb0(%x: i32, %y: i32):
      %c = arith.cmpi ne, %y, %nothing : i32
      %r = scf.if %c -> i32 {
        scf.yield %y : i32
      } else {
        %z = arith.ori %x, %nothing : i32
        scf.yield %z : i32
      }
      tile.yield %r : i32
    }""", lambda x, y: (np.where(y[0] != 0, y[0], x[0]),)),
    "largest": (2, """
    ^bb0(%x: i32, %i: i32, %y: i32, %j: i32):
      %more = arith.cmpi sgt, %x, %y : i32
      %same = arith.cmpi eq, %x, %y : i32
      %first = arith.cmpi slt, %i, %j : i32
      %keep = arith.select %same, %first, %more : i1
      %r = arith.select %keep, %x, %y : i32
      %k = arith.select %keep, %i, %j : i32
      tile.yield %r, %k : i32, i32
    }""", lambda x, y: tuple(np.where((x[0] > y[0]) | (x[0] == y[0]) & (x[1] < y[1]), a, b) for a, b in zip(x, y))),
}
WORDS = {"add": lambda x, y: (x[0] + y[0],), "max": lambda x, y: (np.maximum(x[0], y[0]),)}


def kernel(name, rng):
    """Text, operands and results."""
    shape, warps, text = layout(rng)
    axis = int(rng.integers(2))
    # Reductions may exchange their operands, so they have no `recurrence` nor `last`.
    op = "scan" if rng.random() < 0.7 else "reduce"
    how = ["add", "max", "largest", *(["recurrence", "last", "last"] if op == "scan" else [])]
    how = how[rng.integers(len(how))]
    count, region, f = REGIONS[how] if how in REGIONS else (1, "", WORDS[how])
    x = [rng.integers(-3, 4, shape).astype(np.int32) for _ in range(count)]
    if how == "largest":
        x[1] = rng.permutation(x[1].size).reshape(shape).astype(np.int32)

    steps, at = [tuple(np.take(v, 0, axis) for v in x)], lambda i: tuple(np.take(v, i, axis) for v in x)
    for i in range(1, shape[axis]):
        steps.append(tuple(v.astype(np.int32) for v in f(steps[-1], at(i))))
    out = [np.stack([s[i] for s in steps], axis) for i in range(count)] if op == "scan" else list(steps[-1])

    view = f"!tile.view<{shape[0]}x{shape[1]}xi32>"
    block = f"tensor<{shape[0]}x{shape[1]}xi32, #{name}>"
    rows = f"tensor<{shape[1 - axis]}xi32"
    to = view if op == "scan" else f"!tile.view<{shape[1 - axis]}xi32>"
    arguments = [f"%x{i}: {view}" for i in range(count)] + [f"%y{i}: {to}" for i in range(count)]
    lines = [f"  gpu.func @{name}({', '.join(arguments)}) kernel attributes {{tile.schedule = "
             f"#tile.schedule<warps = {warps}, stages = 1>, tile.grid = array<i64: 1, 1, 1>}} {{",
             "    %c0 = arith.constant 0 : index", "    %nothing = arith.constant 0 : i32"]
    lines += [f"    %b{i} = tile.load %x{i}[%c0 : {shape[0]}, %c0 : {shape[1]}] : {view} -> {block}" for i in range(count)]
    blocks = ", ".join(f"%b{i}" for i in range(count))
    word = how + " " if how in WORDS else ""
    result = block
    if op == "reduce":
        result = f"{rows}, #{name}r>"
    types = ", ".join([block] * count) + " -> " + ", ".join([result] * count)
    lines.append(f"    %r:{count} = tile.{op} {word}{blocks} axis {axis} : {types}" + (" {" + region if region else ""))
    place = f"%c0 : {shape[0]}, %c0 : {shape[1]}" if op == "scan" else f"%c0 : {shape[1 - axis]}"
    lines += [f"    tile.store %r#{i}, %y{i}[{place}] : {result}, {to}" for i in range(count)]
    lines += ["    gpu.return", "  }"]
    return text, axis, op, shape, warps, "\n".join(lines), x, out


def dropped(text, axis):
    """The layout of a reduction's result: digits along the axis are copies, of registers nothing."""
    parts = []
    for holder, digits in re.findall(r"(register|lane|warp) = \[([^\]]*)\]", text):
        kept = []
        for extent, a, b in re.findall(r"(\d+):\((\d+),(\d+)\)", digits):
            stride = int((a, b)[1 - axis])
            if stride or holder != "register":
                kept.append(f"{extent}:({stride})")
        parts.append(f"{holder} = [{', '.join(kept)}]")
    return f"#tile.layout<{', '.join(parts)}>"


def main():
    folder, count, seed = layout_kernels.arguments()
    rng = np.random.default_rng(seed)
    layouts, kernels = [], {}
    for i in range(count):
        name = f"k{i}"
        kernels[name] = k = kernel(name, rng)
        layouts.append(f"#{name} = {k[0]}")
        if k[2] == "reduce":
            layouts.append(f"#{name}r = {dropped(k[0], k[1])}")
    layout_kernels.make(folder, layouts, [k[5] for k in kernels.values()], "sm_80")
    wrong = 0
    for name, (_, axis, op, shape, warps, _, x, out) in kernels.items():
        for i, v in enumerate(x):
            np.save(folder / f"x{i}.npy", v)
        arguments = [f"in:{folder}/x{i}.npy" for i in range(len(x))]
        dims = ",".join(map(str, out[0].shape))
        arguments += [f"out:i32[{dims}]:{folder}/y{i}.npy" for i in range(len(out))]
        for order in ("0", "7"):
            layout_kernels.simulate(folder, name, warps, arguments, order)
            for i, v in enumerate(out):
                if not np.array_equal(np.load(folder / f"y{i}.npy"), v):
                    print(f"{name}: result {i} of tile.{op} axis {axis} of {shape} on {warps} warps is wrong")
                    wrong += 1
    print(f"{len(kernels)} kernels, {wrong} wrong results")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
