#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""split-masked-loops-run.py FOLDER [CASE..]: attention under masks, on the simulator.

Each case is compiled twice: as it is, and with the position of the keys hidden from
--tile-split-masked-loops. Both must agree with NumPy, and with each other to a
rounding (a part of one iteration is no loop, where exponentials are computed by other
instructions), and the first must do as many matrix instructions as the blocks that a mask leaves
need: those where no comparison is false all over. In a loop that would make NaN of a
row whose keys are all hidden, blocks that nobody sees stay, but not their scores.
"""
import itertools
import pathlib
import re
import subprocess
import sys

import numpy as np

MOST_SHARED = 99 * 1024  # of a program on sm_86 and sm_89

#        queries, keys, block of queries, of keys, and comparisons
CASES = {
    "causal": dict(s=200, t=200, bq=64, bk=64, causal=0),
    "causal-32-bits": dict(s=200, t=200, bq=64, bk=64, causal=0, bits=32),
    "bottom-right-longer": dict(s=70, t=230, bq=32, bk=48, causal=160, end=230),
    "bottom-right-shorter": dict(s=230, t=70, bq=64, bk=32, causal=-160, end=70),
    "top-left-longer": dict(s=100, t=300, bq=64, bk=32, causal=0),
    "wide-blocks": dict(s=200, t=200, bq=32, bk=96, causal=0, end=200),
    "tall-blocks": dict(s=200, t=200, bq=128, bk=16, causal=0, end=200),
    "window": dict(s=200, t=250, bq=32, bk=64, window=70, end=250),
    "window-causal": dict(s=300, t=300, bq=32, bk=32, causal=0, window=130, end=300),
    "window-less-than-a-block": dict(s=200, t=200, bq=64, bk=64, causal=0, window=20),
    "window-of-one": dict(s=200, t=200, bq=32, bk=48, causal=0, window=1),
    "window-shifted": dict(s=90, t=200, bq=32, bk=32, causal=110, window=150, shift=110),
    "ragged": dict(s=64, t=250, bq=64, bk=64, end=250),
    "ragged-at-launch": dict(s=64, t=250, bq=64, bk=64, end=250, launch=True),
    "hidden": dict(s=200, t=200, bq=64, bk=64, causal=0, hidden=True),
    "packed": dict(s=128, t=300, bq=32, bk=32, begin=75, end=222),
    "sequences": dict(s=256, t=256, bq=64, bk=32, causal=0, lengths=[70, 1, 90, 95]),
    "sequences-both-ways": dict(s=192, t=192, bq=32, bk=48, lengths=[20, 100, 72]),
    "all-seen": dict(s=64, t=128, bq=64, bk=64, end=1000),
    "none-seen": dict(s=64, t=128, bq=64, bk=64, end=0),
    "rescaled": dict(s=200, t=200, bq=64, bk=64, causal=0, guard="scale"),
    "rescaled-shorter": dict(s=230, t=70, bq=64, bk=32, causal=-160, end=70, guard="scale"),
    "unguarded": dict(s=200, t=200, bq=64, bk=64, causal=0, guard="none"),
    "wide-heads": dict(s=200, t=200, bq=128, bk=64, causal=0, d=128),
    "step-at-launch": dict(s=200, t=256, bq=64, bk=32, causal=0, steps=True),
}


def comparisons(case):
    """Sums of factors of i and of j and a constant, negative where a key is seen."""
    out = []
    if "causal" in case:
        out.append((-1, 1, -case["causal"] - 1))
    if "window" in case:
        out.append((1, -1, case.get("shift", 0) - case["window"]))
    if "end" in case:
        out.append((0, 1, -case["end"]))
    if "begin" in case:
        out.append((0, -1, case["begin"] - 1))
    return out


def sequence(case):
    """Where each query's sequence begins and ends; without sequences, everywhere."""
    lengths = case.get("lengths", [case["t"]])
    ends = np.cumsum(lengths)
    which = np.minimum(np.searchsorted(ends, np.arange(case["s"]), side="right"), len(ends) - 1)
    return (ends - lengths)[which].astype(np.int32), ends[which].astype(np.int32)


def blocks_needed(case):
    count = 0
    low, high = sequence(case)
    for i, j in itertools.product(range(0, case["s"], case["bq"]), range(0, case["t"], case["bk"])):
        if j + case["bk"] <= low[i:i + case["bq"]].min() or j >= high[i:i + case["bq"]].max():
            continue
        count += all(min(a * x + b * y for x in (i, i + case["bq"] - 1) for y in (j, j + case["bk"] - 1)) + c < 0
                     for a, b, c in comparisons(case))
    return count


def kernel(case, split):
    s, t, bq, bk, D = case["s"], case["t"], case["bq"], case["bk"], case.get("d", 32)
    bits = case.get("bits", 64)
    integer, scores = f"i{bits}", f"{bq}x{bk}"
    lines = []

    def spread(name, vector, axis):
        one = f"{bq}x1" if axis else f"1x{bk}"
        lines.append(f"%{name}_1 = tile.expand_dims %{vector} axis {axis} : tensor<{bq if axis else bk}x{integer}>")
        lines.append(f"%{name} = tile.broadcast %{name}_1 : tensor<{one}x{integer}> -> tensor<{scores}x{integer}>")

    def numbers(name, base, extent):
        lines.append(f"%{name}_base = arith.index_cast {base} : index to {integer}")
        lines.append(f"%{name}_all = tensor.splat %{name}_base : tensor<{extent}x{integer}>")
        lines.append(f"%{name}_iota = tile.iota 0 to {extent}")
        own = f"%{name}_iota"
        if bits == 64:
            own += "_64"
            lines.append(f"{own} = arith.extsi %{name}_iota : tensor<{extent}xi32> to tensor<{extent}xi64>")
        lines.append(f"%{name} = arith.addi %{name}_all, {own} : tensor<{extent}x{integer}>")

    block = f"tensor<{scores}x{integer}>"
    numbers("rows", "%i", bq)
    numbers("columns", "%jj", bk)
    spread("queries", "rows", 1)
    spread("keys", "columns", 0)
    constants = {"causal": case.get("causal", 0), "window": case.get("window", 0), "shift": case.get("shift", 0),
                 "end": case.get("end", 0), "begin": case.get("begin", 0)}
    for name, n in constants.items():
        if name == "end" and case.get("launch"):
            lines.append(f"%end_n = arith.index_cast %n : index to {integer}")
        else:
            lines.append(f"%{name}_n = arith.constant {n} : {integer}")
        lines.append(f"%{name}_c = tensor.splat %{name}_n : {block}")
    seen = []
    if "causal" in case:
        lines.append(f"%last = arith.addi %queries, %causal_c : {block}")
        predicate = "sgt" if case.get("hidden") else "sle"
        lines.append(f"%causal = arith.cmpi {predicate}, %keys, %last : {block}")
        seen.append("causal")
    if "window" in case:
        lines.append(f"%shifted = arith.addi %queries, %shift_c : {block}")
        lines.append(f"%behind = arith.subi %shifted, %keys : {block}")
        lines.append(f"%window = arith.cmpi slt, %behind, %window_c : {block}")
        seen.append("window")
    if "end" in case:
        lines.append(f"%end = arith.cmpi slt, %keys, %end_c : {block}")
        seen.append("end")
    if "begin" in case:
        lines.append(f"%begin = arith.cmpi sge, %keys, %begin_c : {block}")
        seen.append("begin")
    for bound, predicate in (("low", "sge"), ("high", "slt")) if "lengths" in case else ():
        if bits == 64:
            lines.append(f"%{bound}_64 = arith.extsi %{bound}_32 : tensor<{bq}xi32> to tensor<{bq}xi64>")
        spread(f"{bound}_b", f"{bound}_{bits}", 1)
        lines.append(f"%{bound} = arith.cmpi {predicate}, %keys, %{bound}_b : {block}")
        seen.append(bound)
    mask = seen[0]
    for name in seen[1:]:
        lines.append(f"%{mask}_{name} = arith.andi %{mask}, %{name} : tensor<{scores}xi1>")
        mask += f"_{name}"
    guard = case.get("guard", "both")
    arms = "%none, %s" if case.get("hidden") else "%s, %none"
    lines.append(f"%S = arith.select %{mask}, {arms} : tensor<{scores}xi1>, tensor<{scores}xf32>")
    masked = "\n      ".join(lines)
    hide = "%jj = arith.addi %j, %c0 : index" if split else "%jj = arith.remui %j, %large : index"
    b_new, b_old, c = {
        "both": ("%b_new", "%b_old", "%c"),  # 1 where nothing was seen before
        "scale": ("%b_new", "%m", "%power"),  # 0 there
        "none": ("%m_new", "%m", "%power"),  # NaN there
    }[guard]
    step = "%step" if case.get("steps") else f"%c{bk}"
    return f"""
gpu.module @kernels {{
  gpu.func @attention(%q: !tile.view<{s}x{D}xbf16>, %k: !tile.view<{t}x{D}xbf16>, %v: !tile.view<{t}x{D}xbf16>,
                      %o: !tile.view<{s}x{D}xf32>, %n: index, %step: index,
                      %lows: !tile.view<{s}xi32>, %highs: !tile.view<{s}xi32>)
      kernel attributes {{tile.grid = array<i64: {-(-s // bq)}, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c{bk} = arith.constant {bk} : index
    %bq = arith.constant {bq} : index
    %t = arith.constant {t} : index
    %large = arith.constant 1000000 : index
    %no_scores = arith.constant dense<0.0> : tensor<{scores}xf32>
    %none = arith.constant dense<0xFF800000> : tensor<{scores}xf32>
    %inf = arith.constant dense<0xFF800000> : tensor<{bq}xf32>
    %zero = arith.constant dense<0.0> : tensor<{bq}xf32>
    %one = arith.constant dense<1.0> : tensor<{bq}xf32>
    %no_values = arith.constant dense<0.0> : tensor<{bq}x{D}xf32>
    %p = tile.program_id x
    %i = arith.muli %p, %bq : index
    %low_32 = tile.load %lows[%i : {bq}] : !tile.view<{s}xi32>
    %high_32 = tile.load %highs[%i : {bq}] : !tile.view<{s}xi32>
    %Q = tile.load %q[%i : {bq}, %c0 : {D}] : !tile.view<{s}x{D}xbf16>
    %all:3 = scf.for %j = %c0 to %t step {step} iter_args(%acc = %no_values, %m = %inf, %l = %zero)
        -> (tensor<{bq}x{D}xf32>, tensor<{bq}xf32>, tensor<{bq}xf32>) {{
      {hide}
      %K = tile.load %k[%j : {bk}, %c0 : {D}] : !tile.view<{t}x{D}xbf16>
      %Kt = tile.trans %K : tensor<{bk}x{D}xbf16>
      %s = tile.dot %Q, %Kt, %no_scores : tensor<{bq}x{D}xbf16>, tensor<{D}x{bk}xbf16> -> tensor<{scores}xf32>
      {masked}

      %mj = tile.reduce max %S axis 1 : tensor<{scores}xf32>
      %m_new = arith.maximumf %m, %mj : tensor<{bq}xf32>
      %new_none = arith.cmpf oeq, %m_new, %inf : tensor<{bq}xf32>
      %b_new = arith.select %new_none, %zero, %m_new : tensor<{bq}xi1>, tensor<{bq}xf32>
      %old_none = arith.cmpf oeq, %m, %inf : tensor<{bq}xf32>
      %b_old = arith.select %old_none, %zero, %m : tensor<{bq}xi1>, tensor<{bq}xf32>
      %b_column = tile.expand_dims {b_new} axis 1 : tensor<{bq}xf32>
      %b_block = tile.broadcast %b_column : tensor<{bq}x1xf32> -> tensor<{scores}xf32>
      %d = arith.subf %S, %b_block : tensor<{scores}xf32>
      %P = math.exp %d : tensor<{scores}xf32>
      %less = arith.subf {b_old}, {b_new} : tensor<{bq}xf32>
      %power = math.exp %less : tensor<{bq}xf32>
      %c = arith.select %old_none, %one, %power : tensor<{bq}xi1>, tensor<{bq}xf32>
      %lj = tile.reduce add %P axis 1 : tensor<{scores}xf32>
      %l_less = arith.mulf %l, {c} : tensor<{bq}xf32>
      %l_new = arith.addf %l_less, %lj : tensor<{bq}xf32>
      %c_column = tile.expand_dims {c} axis 1 : tensor<{bq}xf32>
      %c_block = tile.broadcast %c_column : tensor<{bq}x1xf32> -> tensor<{bq}x{D}xf32>
      %acc_less = arith.mulf %acc, %c_block : tensor<{bq}x{D}xf32>
      %P16 = arith.truncf %P : tensor<{scores}xf32> to tensor<{scores}xbf16>
      %V = tile.load %v[%j : {bk}, %c0 : {D}] : !tile.view<{t}x{D}xbf16>
      %acc_new = tile.dot %P16, %V, %acc_less : tensor<{scores}xbf16>, tensor<{bk}x{D}xbf16> -> tensor<{bq}x{D}xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<{bq}x{D}xf32>, tensor<{bq}xf32>, tensor<{bq}xf32>
    }}
    %empty = arith.cmpf oeq, %all#2, %zero : tensor<{bq}xf32>
    %l_safe = arith.select %empty, %one, %all#2 : tensor<{bq}xi1>, tensor<{bq}xf32>
    %l_column = tile.expand_dims %l_safe axis 1 : tensor<{bq}xf32>
    %l_block = tile.broadcast %l_column : tensor<{bq}x1xf32> -> tensor<{bq}x{D}xf32>
    %out = arith.divf %all#0, %l_block : tensor<{bq}x{D}xf32>
    tile.store %out, %o[%i : {bq}, %c0 : {D}] : !tile.view<{s}x{D}xf32>
    gpu.return
  }}
}}
"""


def bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def reference(case, q, k, v):
    i, j = np.ogrid[:case["s"], :case["t"]]
    seen = np.ones((case["s"], case["t"]), bool)
    for a, b, c in comparisons(case):
        seen &= a * i + b * j + c < 0
    low, high = sequence(case)
    seen &= (low[:, None] <= j) & (j < high[:, None])
    scores = np.where(seen, q @ k.T, -np.inf)
    most = scores.max(1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = powers.sum(1, keepdims=True)
    return powers @ v / np.where(total == 0, 1, total)


def run(folder, case, split):
    (folder / "k.mlir").write_text(kernel(case, split))
    command = ["act-run", "kernel", str(folder / "k.mlir"), "--target", "sm_86", "--seed", "7"]
    for a in ["in:q.npy", "in:k.npy", "in:v.npy", f"out:f32[{case['s']},{case.get('d', 32)}]:o.npy", f"i64:{case.get('end', 0)}",
              f"i64:{case['bk']}", "in:low.npy", "in:high.npy"]:
        command += ["--arg", a.replace(":", f":{folder}/", 1) if a.startswith("in:") else
                    a.replace(":o.npy", f":{folder}/o.npy")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"exit status {done.returncode} of {' '.join(command)}\n{done.stderr}")
    matrix = re.search(r"^ +matrix +(\d+)$", done.stdout, re.M)
    shared = re.search(r"^ +shared bytes +(\d+)$", done.stdout, re.M)
    return np.load(folder / "o.npy"), int(matrix[1]) if matrix else 0, int(shared[1])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name in sys.argv[2:] or CASES:
        case = CASES[name]
        rng = np.random.default_rng(5)
        d = case.get("d", 32)
        q, k, v = (bf16(rng.normal(size=(n, d)) / d**0.25) for n in (case["s"], case["t"], case["t"]))
        for file, x in zip("qkv", (q, k, v)):
            np.save(folder / f"{file}.npy", x)
        for file, x in zip(("low", "high"), sequence(case)):
            np.save(folder / f"{file}.npy", x)
        got, matrix, shared = run(folder, case, True)
        plain, most, _ = run(folder, case, False)
        want = reference(case, wide(q), wide(k), wide(v))
        error = np.abs(got - want).max()
        per_block = case["bq"] * case["bk"] * d * 2 // 2048
        needed = blocks_needed(case)
        all_blocks = -(-case["s"] // case["bq"]) * -(-case["t"] // case["bk"])
        expected = needed * per_block
        if case.get("guard") == "none":
            expected = (needed + all_blocks) * per_block // 2
        wrong = []
        if not error <= 2**-7 * np.abs(want).max():
            wrong.append(f"off by {error}")
        if not np.abs(got - plain).max() <= 2**-11 * np.abs(want).max():
            wrong.append(f"other numbers without the pass, by {np.abs(got - plain).max()}")
        if matrix != expected:
            wrong.append(f"{matrix} matrix instructions, expected {expected}")
        if shared > MOST_SHARED:
            wrong.append(f"{shared} bytes of shared memory, {MOST_SHARED} are there")
        if needed and most != all_blocks * per_block:
            wrong.append(f"{most} matrix instructions without the pass, expected {all_blocks * per_block}")
        print(f"{name}: {needed} of {all_blocks} blocks, off by {error:.1e}, "
              f"{shared} shared bytes" + "".join("\n  " + w for w in wrong))
        failures += bool(wrong)
    sys.exit(failures != 0)


main()
