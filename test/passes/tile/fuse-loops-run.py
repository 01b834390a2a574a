#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuse-loops-run.py FILE FOLDER [KERNEL..]: the kernels of a file on the simulator.

Each is compared with NumPy in f64. Among the rows are some that are all -inf, some
whose first blocks are, some around -200 and some with one large number at the end.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np

rng = np.random.default_rng(5)
INF = np.inf


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def rows(shape):
    """f32; row 0 ordinary, then the others."""
    x = rng.normal(size=shape).astype(np.float32)
    if len(shape) == 2 and shape[0] >= 8:
        x[1] -= 200
        x[2, :64] = -INF
        x[3] = -INF
        x[4, :40] -= 200
        x[5, -1] = 200
        x[6] = -200
        x[6, :64] = -INF
        x[7] += 80
    return x


def seen():
    """Where negative, a key is hidden from a query."""
    w = rng.uniform(0, 1, (16, 96)).astype(np.float32)
    w[1] = -1
    w[2, :40] = -1
    w[3, 32:] = -1
    w[4, ::2] = -1
    w[5, :95] = -1
    return w


def exps(x, base=np.exp, sign=1):
    """exp(x - max), 0 where all is -inf."""
    m = (x.max if sign > 0 else x.min)(-1, keepdims=True)
    return base(sign * (x - np.where(np.isinf(m), 0, m)))


def softmax(x):
    e = exps(x)
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, w):
    s = np.where(w >= 0, wide(q) @ wide(k).T, -INF)
    e = exps(s)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ wide(v)


def logarithm(x, y):
    return (softmax(x) * y).sum(-1)


def sink(x, sinks):
    x = np.concatenate([x / 2, sinks[:, None]], -1)
    return exps(x, np.exp2).sum(-1)


def minimum(x):
    return np.array([(exps(x, sign=-1) / (x.min() + 2)).sum()])


def normalised(x, w):
    x = wide(x)
    return x / np.sqrt((x * x).sum(-1, keepdims=True)) @ wide(w)


def numbers(*shape):
    return rng.normal(size=shape).astype(np.float32)


def queries():
    q = numbers(16, 16)
    q[6] = -30
    return bf16(q)


def keys():
    return bf16(np.abs(numbers(96, 16)))  # times -30 it is about -300


# What a kernel takes, computes, and how far from it is right, as a part of the row's
# largest number.
KERNELS = {
    "softmax": ([rows((8, 100))], softmax, 2e-6),
    "attention": ([queries(), keys(), bf16(numbers(96, 16)), seen()], attention, 2**-7),
    "logarithm": ([rows((8, 100)), numbers(8, 100)], logarithm, 1e-5),
    "ragged": ([rows((8, 100))], lambda x: exps(x).sum(-1), 1e-5),
    "sink": ([rows((8, 100)), numbers(8)], sink, 1e-5),
    "minimum": ([np.abs(numbers(1024)) - 0.5], minimum, 1e-5),
    "normalised": ([bf16(numbers(16, 96)), bf16(numbers(96, 16))], normalised, 2**-20),
    "variance": ([rows((8, 96))[:1].repeat(8, 0) + np.float32(100)], lambda x: x.astype(np.float64).var(-1) * 96, 1e-5),
    "unrelated": ([numbers(8, 96), numbers(8, 96) * 100 + np.arange(96, dtype=np.float32)],
                  lambda x, y: np.exp(np.minimum(x - y.max(-1, keepdims=True), 700)).sum(-1), 1e-4),
    "gradients": ([bf16(numbers(32, 96)), bf16(numbers(96, 16)), bf16(numbers(96, 16))],
                  lambda p, x, y: np.stack([wide(p) @ wide(x), wide(p) @ wide(y)]), 2**-20),
    "nested": ([numbers(8, 96)], lambda x: np.stack([x.sum(-1), (x.astype(np.float64)**2).sum(-1)]), 1e-5),
}
# Sums of positive terms are right up to a part of their own.
POSITIVE = {"ragged", "sink", "minimum", "variance", "unrelated"}


def scaled(x, h):
    s = np.where(h >= 0, x * np.float64(np.float32(0.3)), -INF)
    m = np.maximum(s.max(-1), -1e30)
    return m + np.log(np.exp(s - m[:, None]).sum(-1))


def hidden(x, h):
    x = np.where(h >= 0, x, 0)
    return np.where((h >= 0).any(-1), x.sum(-1) / np.maximum((x * x).sum(-1), 1e-300), 0)


SCALED = numbers(8, 96) * np.float32(30)
SCALED[1] -= 3000
SCALED[4, :40] = -1e9
SCALED[5] = -1e9
SCALED[6, :70] = -1e29
HIDDEN = numbers(8, 96)
HIDDEN[2] = -1
HIDDEN[3, :40] = -1
KERNELS["hidden"] = ([numbers(8, 96), HIDDEN], hidden, 1e-5)
KERNELS["products"] = ([queries(), keys(), seen()], lambda q, k, h: scaled(wide(q) @ wide(k).T, h), 2e-6)
KERNELS["scaled"] = ([SCALED, HIDDEN], scaled, 2e-6)


def run(file, folder, kernel):
    inputs, reference, bound = KERNELS[kernel]
    with np.errstate(all="ignore"):
        expected = reference(*[x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs])
    arguments = []
    for i, x in enumerate(inputs):
        np.save(folder / f"{kernel}.{i}.npy", x)
        arguments += ["--arg", f"in:{folder}/{kernel}.{i}.npy"]
    out = folder / f"{kernel}.out.npy"
    arguments += ["--arg", f"out:f32[{','.join(map(str, expected.shape))}]:{out}"]
    for seed in ("0", "7"):
        subprocess.run(["act-run", "kernel", file, "--entry", kernel, "--cache-dir", "none", "--seed", seed, *arguments],
                       check=True, stdout=subprocess.DEVNULL)
        actual = np.load(out).astype(np.float64)
        finite = np.isfinite(expected)
        message = f"{kernel}: {actual}, expected {expected}"
        assert np.array_equal(actual[~finite], expected[~finite], equal_nan=True), message
        number = np.where(finite, expected, 0)
        largest = np.abs(number) if kernel in POSITIVE else np.abs(number).max(-1, keepdims=True)
        off = np.where(finite, np.abs(actual - number), 0)
        assert (off <= bound * largest + 1e-30).all(), message
    print(f"{kernel}: {actual.size} numbers as expected")


def main():
    file, folder, *kernels = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in kernels or re.findall(r"^ *gpu.func @(\w+)", pathlib.Path(file).read_text(), re.M):
        run(file, folder, kernel)


main()
