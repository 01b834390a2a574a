#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert-layouts-run.py FOLDER [COUNT [SEED]]: blocks through chains of random layouts, on the
simulator under several orders: what is stored is what was loaded.

A chain's layouts deal the same digits anew to lanes and registers, with copies here and there, so
lanes shuffle; now and then the warps are others too, and values go through shared memory.
"""
import sys

import layout_kernels
import numpy as np

# What is moved, what is in memory, how the one becomes the other and back, and the largest number.
TYPES = {
    "i8": ("i8", "", "", 2**7 - 1), "i16": ("i16", "", "", 2**15 - 1), "i32": ("i32", "", "", 2**31 - 1),
    "i64": ("i64", "", "", 2**63 - 1), "f32": ("f32", "", "", 2**24), "f64": ("f64", "", "", 2**53),
    "bf16": ("f32", "arith.truncf", "arith.extf", 2**8), "f16": ("f32", "arith.truncf", "arith.extf", 2**11),
    "f8E4M3FN": ("f32", "arith.truncf", "arith.extf", 2**4), "f8E5M2": ("f32", "arith.truncf", "arith.extf", 2**3),
    "i1": ("i32", "arith.trunci", "arith.extui", 1),
}
NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


def exchanged(digits):
    """A digit of 2 and the next one of its dimension, if that is larger, the other way around."""
    digits = list(digits)
    for i, (e, strides) in enumerate(digits):
        for j, (f, others) in enumerate(digits):
            if e == 2 and f > 2 and others == tuple(2 * s for s in strides):
                digits[i], digits[j] = (2, tuple(f * s for s in strides)), (f, strides)
                return digits
    return digits


def deal(rng):
    """Shape, warps and the texts of four layouts."""
    shape, digits, warps = [1] * int(rng.integers(1, 4)), [], []
    kinds = ["bit"] * int(rng.integers(2, 9)) + ["other"] * int(rng.integers(0, 2)) + ["warp"] * int(rng.integers(0, 3))
    rng.shuffle(kinds)
    for kind in kinds:
        extent, dim = 2 if kind == "bit" else 3 if kind == "other" else int(rng.integers(2, 4)), int(rng.integers(len(shape)))
        (warps if kind == "warp" else digits).append((extent, tuple(shape[dim] * (d == dim) for d in range(len(shape)))))
        shape[dim] *= extent
    copy = (2, (0,) * len(shape))
    digit = lambda extent, strides: f"{extent}:({','.join(map(str, strides))})"

    def layout():
        dealt = exchanged(digits) if rng.random() < 0.2 else digits
        registers, lanes, own = [d for d in dealt if d[0] > 2], [], list(warps)
        bits = [d for d in dealt if d[0] == 2]
        for i in (rng.permutation(len(bits)) if rng.random() < 0.6 else range(len(bits))):
            (lanes if len(lanes) < 5 and rng.random() < 0.7 else registers).append(bits[i])
        while len(lanes) < 5:
            lanes.insert(int(rng.integers(len(lanes) + 1)), copy)
        if rng.random() < 0.5:
            rng.shuffle(registers)
        if rng.random() < 0.2:
            registers.insert(int(rng.integers(len(registers) + 1)), copy)
        if rng.random() < 0.15:
            own.reverse()
        return "#tile.layout<%s>" % ", ".join(
            f"{holder} = [{', '.join(digit(*d) for d in some)}]"
            for holder, some in (("register", registers), ("lane", lanes), ("warp", own)))

    return tuple(shape), int(np.prod([w[0] for w in warps], dtype=int)), [layout() for _ in range(4)]


def kernel(name, rng):
    """Text, layouts, shape, warps and the type in memory."""
    shape, warps, layouts = deal(rng)
    moved = list(TYPES)[rng.integers(len(TYPES))]
    stored, there, back, most = TYPES[moved]
    size = "".join(f"{n}x" for n in shape)
    view, place = f"!tile.view<{size}{stored}>", ", ".join(f"%c0 : {n}" for n in shape)
    block = lambda element, i: f"tensor<{size}{element}, #{name}_{i}>"
    lines = [f"  gpu.func @{name}(%x: {view}, %y: {view}) kernel attributes {{tile.schedule = "
             f"#tile.schedule<warps = {warps}, stages = 1>, tile.grid = array<i64: 1, 1, 1>}} {{",
             "    %c0 = arith.constant 0 : index", "    %c1 = arith.constant 1 : index",
             "    %c3 = arith.constant 3 : index",
             f"    %b = tile.load %x[{place}] : {view} -> {block(stored, 0)}",
             f"    %v = {there} %b : {block(stored, 0)} to {block(moved, 0)}" if there else "",
             f"    %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v0 = %{'v' if there else 'b'}) -> ({block(moved, 0)}) {{"]
    lines += [f"      %v{i + 1} = tile.convert_layout %v{i} : {block(moved, i)} -> {block(moved, (i + 1) % 4)}"
              for i in range(4)]
    lines += [f"      scf.yield %v4 : {block(moved, 0)}", "    }",
              f"    %last = tile.convert_layout %r : {block(moved, 0)} -> {block(moved, 1)}",
              f"    %out = {back} %last : {block(moved, 1)} to {block(stored, 1)}" if back else "",
              f"    tile.store %{'out' if back else 'last'}, %y[{place}] : {block(stored, 1)}, {view}",
              "    gpu.return", "  }"]
    numbers = rng.integers(0 if moved == "i1" else -most, most, shape, endpoint=True)
    return "\n".join(lines), layouts, warps, numbers.astype(NUMPY[stored]), stored, moved


def main():
    folder, count, seed = layout_kernels.arguments()
    rng = np.random.default_rng(seed)
    kernels = {f"k{i}": kernel(f"k{i}", rng) for i in range(count)}
    layouts = [f"#{name}_{i} = {layout}" for name, k in kernels.items() for i, layout in enumerate(k[1])]
    layout_kernels.make(folder, layouts, [k[0] for k in kernels.values()], "sm_89")
    wrong, shuffled, alone = 0, 0, 0
    for name, (_, _, warps, numbers, stored, moved) in kernels.items():
        ptx = (folder / f"{name}.ptx").read_text()
        shuffled += "shfl.sync" in ptx
        alone += "shfl.sync" in ptx and "bar.sync" not in ptx
        np.save(folder / "x.npy", numbers)
        dims = ",".join(map(str, numbers.shape))
        arguments = [f"in:{folder}/x.npy", f"out:{stored}[{dims}]:{folder}/y.npy"]
        for order in ("0", "7"):
            layout_kernels.simulate(folder, name, warps, arguments, order)
            if not np.array_equal(np.load(folder / "y.npy"), numbers):
                print(f"{name}: {moved} of {numbers.shape} on {warps} warps is wrong")
                wrong += 1
    print(f"{len(kernels)} kernels, {wrong} wrong results; {shuffled} with shuffles, {alone} of them without a barrier")
    return bool(wrong) or not alone


if __name__ == "__main__":
    sys.exit(main())
