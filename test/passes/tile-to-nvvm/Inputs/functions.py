# SPDX-License-Identifier: Apache-2.0
"""Each function on thousands of numbers, against NumPy in f64: ulps, or 'abs'."""
import math
import subprocess
import sys

import numpy as np

Y = np.float32(-3.7)
COUNT = 4096
# name: operation on %x (and %y, %half), or with its results, range of %x, reference, most ulps or ("abs", error)
FUNCTIONS = {
    "exp": ("math.exp %x", (-80, 80), np.exp, 1),
    "exp_afn": ("math.exp %x fastmath<afn>", (-5, 5), np.exp, 8),
    "exp2": ("math.exp2 %x", (-100, 100), np.exp2, 2),
    "log": ("math.log %x", (1e-3, 100), np.log, 1),
    "log_afn": ("math.log %x fastmath<afn>", (1e-3, 100), np.log, ("abs", 2e-6)),
    "log2": ("math.log2 %x", (1e-3, 100), np.log2, 1.5),
    "log10": ("math.log10 %x", (1e-3, 100), np.log10, 2),
    "log1p": ("math.log1p %x", (-0.9, 10), np.log1p, 2),
    "expm1": ("math.expm1 %x", (-5, 5), np.expm1, 3),
    "tanh": ("math.tanh %x", (-10, 10), np.tanh, 4),
    "tanh_afn": ("math.tanh %x fastmath<afn>", (-10, 10), np.tanh, ("abs", 2.0**-10)),
    "erf": ("math.erf %x", (-4, 4), np.vectorize(math.erf), 4),
    "sin": ("math.sin %x", (-1e9, 1e9), np.sin, 0.51),
    "cos": ("math.cos %x", (-1e9, 1e9), np.cos, 0.51),
    "sin_small": ("math.sin %x", (-1e-3, 1e-3), np.sin, 0.51),
    "sin_far": ("math.sin %x", (2.0**50, 2.0**53), np.sin, ("abs", 2e-7)),
    "cos_far": ("math.cos %x", (-(2.0**53), -(2.0**50)), np.cos, ("abs", 2e-7)),
    "sin_large": ("math.sin %x", (-1e20, 1e20), np.zeros_like, ("abs", 1)),
    "cos_large": ("math.cos %x", (-3e38, 3e38), np.zeros_like, ("abs", 1)),
    "tan": ("math.tan %x", (-1e4, 1e4), np.tan, 2),
    "tan_small": ("math.tan %x", (-1.6, 1.6), np.tan, 2),
    "sinh": ("math.sinh %x", (-89.4, 89.4), np.sinh, 0.51),
    "sinh_small": ("math.sinh %x", (-0.01, 0.01), np.sinh, 0.51),
    "sinh_tiny": ("math.sinh %x", (-1e-30, 1e-30), np.sinh, 0.51),
    "cosh": ("math.cosh %x", (-89.4, 89.4), np.cosh, 0.51),
    "cosh_small": ("math.cosh %x", (-1, 1), np.cosh, 0.51),
    "asinh": ("math.asinh %x", (-100, 100), np.arcsinh, 0.51),
    "asinh_small": ("math.asinh %x", (-0.01, 0.01), np.arcsinh, 0.51),
    "asinh_large": ("math.asinh %x", (-3e38, 3e38), np.arcsinh, 0.51),
    "acosh": ("math.acosh %x", (1, 100), np.arccosh, 0.51),
    "acosh_near": ("math.acosh %x", (1, 1.0001), np.arccosh, 0.51),
    "acosh_large": ("math.acosh %x", (1, 3e38), np.arccosh, 0.51),
    "atanh": ("math.atanh %x", (-0.999999, 0.999999), np.arctanh, 0.51),
    "atanh_small": ("math.atanh %x", (-0.01, 0.01), np.arctanh, 0.51),
    "atanh_near": ("math.atanh %x", (0.9999, 0.9999999), np.arctanh, 0.51),
    "sincos": ("%r, %cosine = math.sincos %x", (-1e9, 1e9), np.sin, 0.51),
    "sincos_second": ("%sine, %r = math.sincos %x", (-1e9, 1e9), np.cos, 0.51),
    "clamp": ("math.clampf %x to [%y, %half]", (-9, 9), lambda v: np.clip(v, np.float64(Y), 0.5), 0),
    "rsqrt": ("math.rsqrt %x", (1e-3, 100), lambda v: 1 / np.sqrt(v), 1.5),
    "rsqrt_afn": ("math.rsqrt %x fastmath<afn>", (1e-3, 100), lambda v: 1 / np.sqrt(v), 2.1),
    "sqrt": ("math.sqrt %x", (0, 100), np.sqrt, 0.5),
    "pow": ("math.powf %x, %y", (0.01, 50), lambda v: v ** np.float64(Y), 0.51),
    "div": ("arith.divf %y, %x", (0.01, 50), lambda v: np.float64(Y) / v, 0.5),
    "div_afn": ("arith.divf %y, %x fastmath<afn>", (0.01, 50), lambda v: np.float64(Y) / v, 2),
    "round": ("math.round %x", (-50, 50), lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5), 0),
    "maximum": ("arith.maximumf %x, %y", (-9, 9), lambda v: np.maximum(v, np.float64(Y)), 0),
    "maxnum": ("arith.maxnumf %x, %y", (-9, 9), lambda v: np.fmax(v, np.float64(Y)), 0),
}
# Beyond the range: x, what it must be.
ENDS = {
    "exp": [(np.inf, np.inf), (-np.inf, 0), (np.nan, np.nan), (0, 1)],
    "exp_afn": [(np.inf, np.inf), (-np.inf, 0), (np.nan, np.nan), (0, 1)],
    "exp2": [(np.inf, np.inf), (-np.inf, 0), (np.nan, np.nan), (0, 1)],
    "tanh": [(np.inf, 1), (-np.inf, -1), (np.nan, np.nan), (0, 0)],
    "tan": [(np.inf, np.nan), (np.nan, np.nan), (0, 0)],
    "sinh": [(np.inf, np.inf), (-np.inf, -np.inf), (np.nan, np.nan), (0, 0), (-100, -np.inf)],
    "cosh": [(np.inf, np.inf), (-np.inf, np.inf), (np.nan, np.nan), (0, 1), (100, np.inf)],
    "asinh": [(np.inf, np.inf), (-np.inf, -np.inf), (np.nan, np.nan), (0, 0)],
    "acosh": [(np.inf, np.inf), (1, 0), (0.99, np.nan), (-np.inf, np.nan), (np.nan, np.nan)],
    "atanh": [(1, np.inf), (-1, -np.inf), (1.01, np.nan), (np.inf, np.nan), (np.nan, np.nan), (0, 0)],
    "clamp": [(np.inf, 0.5), (-np.inf, Y), (np.nan, np.nan)],
    "sin": [(np.inf, np.nan), (np.nan, np.nan), (0, 0)],
    "sin_large": [(np.inf, np.nan), (-np.inf, np.nan), (np.nan, np.nan)],
    "pow": [(0, np.inf), (np.inf, 0), (-2, np.nan), (1, 1), (np.nan, np.nan)],
    "maximum": [(np.nan, np.nan)],
    "maxnum": [(np.nan, Y)],
}

KERNEL = """  gpu.func @{name}(%a: !llvm.ptr<1>, %o: !llvm.ptr<1>, %y: f32) kernel attributes {{
      known_block_size = array<i32: 128, 1, 1>, tile.grid = array<i64: {blocks}, 1, 1>}} {{
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %c = arith.constant 128 : index
    %m = arith.muli %b, %c : index
    %s = arith.addi %m, %t : index
    %i = arith.index_cast %s : index to i64
    %p = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %q = llvm.getelementptr %o[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %half = arith.constant 0.5 : f32
    {result}{operation} : f32
    llvm.store %r, %q : f32, !llvm.ptr<1>
    gpu.return
  }}
"""


def main():
    with open("functions.mlir", "w") as f:
        f.write("gpu.module @functions {\n")
        for name, (operation, *_) in FUNCTIONS.items():
            f.write(KERNEL.format(name=name, operation=operation, blocks=COUNT // 128,
                                  result="" if operation[0] == "%" else "%r = "))
        f.write("}\n")
    wrong = 0
    for name, (_, bounds, reference, most) in FUNCTIONS.items():
        x = np.random.default_rng(1).uniform(*bounds, COUNT).astype(np.float32)
        ends = ENDS.get(name, [])
        x[: len(ends)] = [end for end, _ in ends]
        np.save("x.npy", x)
        subprocess.run(
            ["act-run", "kernel", "functions.mlir", "--entry", name, "--cache-dir=none",
             "--seed", "5", "--arg", "in:x.npy", "--arg", f"out:f32[{COUNT}]:y.npy",
             "--arg", f"f32:{Y}"], check=True, stdout=subprocess.DEVNULL)
        y = np.load("y.npy")
        for value, (at, want) in zip(y, ends):
            if not (value == want or (np.isnan(value) and np.isnan(want))):
                print(f"{name}({at}) is {value}, expected {want}")
                wrong += 1
        x, y = x[len(ends):].astype(np.float64), y[len(ends):].astype(np.float64)
        want = reference(x)
        error = np.abs(y - want)
        if isinstance(most, tuple):
            _, most = most
        else:
            error = error / np.spacing(np.abs(want.astype(np.float32)))
        print(f"{name}: {error.max():.3g} of {most}")
        wrong += not error.max() <= most
    sys.exit(wrong > 0)


main()
