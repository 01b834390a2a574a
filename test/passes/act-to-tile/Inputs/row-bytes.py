# SPDX-License-Identifier: Apache-2.0
"""Norms and a softmax of rows that no program has whole, and of rows that begin anywhere:
values, and bytes moved by the least."""
import json
import subprocess
import sys

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
# How often each reads and writes what there is once, with sums in one pass or two.
LONG = {"rms_norm": 1.95, "layer_norm": 2.75, "rms_norm_grad": 2.3, "layer_norm_grad": 2.3, "softmax": 1.55}
# Of odd rows 64 bytes of a warp are in three sectors and not in two; with few rows for
# a program its weights count as well.
ODD = dict.fromkeys(LONG, 2)


def kernel(name, rows, width, text, inputs, outputs, seed, most):
    """The results of a function of one op, and bytes moved by the least."""
    with open("op.mlir", "w") as f:
        f.write(text)
    linalg = subprocess.run(["act-lower-linalg", "op.mlir", "--sums"], check=True, capture_output=True)
    subprocess.run(["act-opt", "-", "--convert-linalg-to-tile", "-o", "tile.mlir"], check=True, input=linalg.stdout)
    arguments, least = [], 0
    for i, x in enumerate(inputs):
        np.save(f"in{i}.npy", x.view(np.uint16) if x.dtype == BF16 else x)
        arguments.append(f"in:in{i}.npy")
        least += x.nbytes
    for i, (dtype, shape) in enumerate(outputs):
        arguments.append(f"out:{dtype}[{','.join(map(str, shape))}]:out{i}.npy")
        least += int(np.prod(shape)) * (2 if dtype == "u16" else 4)
    done = subprocess.run(["act-run", "kernel", "tile.mlir", "--json", "--cache-dir=none", "--seed", str(seed),
                           *(x for a in arguments for x in ("--arg", a))], check=True, capture_output=True, text=True)
    counted = json.loads(done.stdout)
    moved = 32 * (counted["counters"]["global_load_sectors"] + counted["counters"]["global_store_sectors"])
    print(f"{name}, {rows} rows of {width}: grid {counted['grid'][0]}, {moved / least:.3f} of the least")
    assert moved <= most[name] * least, name
    return [np.load(f"out{i}.npy") for i in range(len(outputs))], counted["grid"][0]


def near(got, want):
    got = got.view(BF16).astype(np.float64) if got.dtype == np.uint16 else got
    worst = np.abs(got - want).max() / np.abs(want).max()
    assert worst < 0.012, worst


def check(width, rows, seed, most):
    r = np.random.default_rng(seed)
    draw = lambda *shape: r.standard_normal(shape).astype(np.float32).astype(BF16)
    wide = lambda x: x.astype(np.float64)
    x, g, b, dy = draw(rows, width), draw(width), draw(width), draw(rows, width)
    X, G, B, DN = wide(x), wide(g), wide(b), wide(dy) * wide(g)
    t, w, s = f"tensor<{rows}x{width}xbf16>", f"tensor<{width}xbf16>", f"tensor<{rows}xf32>"
    row, stat = ("u16", (rows, width)), ("f32", (rows,))

    def run(name, operands, types, results, outputs, inputs, options=""):
        arguments = ", ".join(f"%{i}: {k}" for i, k in enumerate(types))
        back = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r"
        many = f":{len(results)}" if len(results) > 1 else ""
        signature = f"({', '.join(types)}) -> ({', '.join(results)})" if name != "softmax" else types[0]
        text = (f"func.func @f({arguments}) -> ({', '.join(results)}) {{\n%r{many} = act.{name} {operands} {options} "
                f": {signature}\nreturn {back} : {', '.join(results)}\n}}\n")
        made, grid = kernel(name, rows, width, text, inputs, outputs, seed, most)
        assert grid == rows or most is ODD
        return made

    rstd = 1 / np.sqrt((X * X).mean(-1) + 1e-5)
    N = X * rstd[:, None]
    y, r1 = run("rms_norm", "%0, %1", [t, w], [t, s], [row, stat], [x, g], "eps 1.0e-5")
    near(y, N * G), near(r1, rstd)
    [dx] = run("rms_norm_grad", "%0, %1, %2, %3", [t, t, w, s], [t], [row], [dy, x, g, r1])
    near(dx, rstd[:, None] * (DN - N * (DN * N).mean(-1, keepdims=True)))

    mean, rstd = X.mean(-1), 1 / np.sqrt(X.var(-1) + 1e-5)
    N = (X - mean[:, None]) * rstd[:, None]
    y, m1, r1 = run("layer_norm", "%0, %1, %2", [t, w, w], [t, s, s], [row, stat, stat], [x, g, b], "eps 1.0e-5")
    near(y, N * G + B), near(r1, rstd)
    [dx] = run("layer_norm_grad", "%0, %1, %2, %3, %4", [t, t, w, s, s], [t], [row], [dy, x, g, m1, r1])
    near(dx, rstd[:, None] * (DN - DN.mean(-1, keepdims=True) - N * (DN * N).mean(-1, keepdims=True)))

    e = np.exp(X - X.max(-1, keepdims=True))
    [p] = run("softmax", "%0", [t], [t], [row], [x], "axis 1")
    near(p, e / e.sum(-1, keepdims=True))


check(32768, 4, 0, LONG)
check(20008, 3, 7, LONG)
check(1001, 128, 0, ODD)
check(1999, 37, 3, ODD)
