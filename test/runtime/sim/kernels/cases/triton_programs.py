# SPDX-License-Identifier: Apache-2.0
"""Block programs compiled by Triton. The first line of each PTX file says how many
threads and how much shared memory it wants, and the boxes of its tensor maps."""
import re

import numpy as np

from formats import random_bits, to_float
from launch import HERE, NULL, F32, I32, I64, In, InOut, Out, Tma, Within, case

LOG2E = float(np.log2(np.e))


def header(name, target):
    return (HERE / "triton" / f"{name}.{target}.ptx").read_text().split("\n", 1)[0]


def number(name, target, word):
    return int(re.search(rf"{word} (\d+)", header(name, target)).group(1))


def maps(name, target):
    """(box, swizzle) of each tensor map; Triton's codes: 1 is 32 bytes, 2 is 64, 3 is 128."""
    found = re.findall(r"map ([\dx]+) swizzle (\d)", header(name, target))
    return [(tuple(map(int, box.split("x"))), {0: 0, 1: 32, 2: 64, 3: 128}[int(s)]) for box, s in found]


def program(name, entry=None, grid=1, **parameters):
    """A case for every PTX file of the program; the function gets the target."""
    def add(build):
        for path in sorted((HERE / "triton").glob(f"{name}.sm_*.ptx")):
            target = path.name.split(".")[1]
            each = [dict(target=target, **p) for p in parameters.get("each", [{}])]
            case(name, grid=(lambda target, **p: grid(**p)) if callable(grid) else grid,
                 block=number(name, target, "threads"), smem=number(name, target, "shared"),
                 only=target, entry=entry or name, folder="triton", each=each)(build)
        return build
    return add


def described(value, dtype, box, over=""):
    """A tensor map over a matrix and what Triton passes with it: sizes and strides."""
    (box, swizzle), value_shape = box, value.shape
    tma = Tma(None if over else value, box, swizzle, dtype, over)
    return [tma, I32(value_shape[0]), I32(value_shape[1]), I64(value_shape[1]), I64(1)]


@program("softmax", grid=5)
def softmax(rng, target):
    x = (rng.standard_normal((5, 112)) * 3).astype(np.float32)
    v = x[:, :100].astype(np.float64)
    e = np.exp(v - v.max(1, keepdims=True))
    expected = np.zeros((5, 112))
    expected[:, :100] = e / e.sum(1, keepdims=True)
    return [In(x), InOut(expected, Within("exp by ex2 (2 ulp) of a product rounded at |x| < 32: 2⁻¹⁹ relative; "
            "the sum and the division add 2⁻²¹", relative=2.0 ** -18, absolute=1e-12), "f32",
            value=np.zeros((5, 112), np.float32)), I32(100), I32(112), NULL, NULL]


@program("layer_norm", grid=3, each=[dict(columns=0), dict(columns=300)])
def layer_norm(rng, target, columns):
    x = random_bits(rng, (3, 300), "bf16")
    w, b = (rng.standard_normal(300).astype(np.float32) for _ in range(2))
    v = to_float(x, "bf16")
    mean = v.mean(1)
    rstd = 1 / np.sqrt(v.var(1) + 1e-5)
    expected = (v - mean[:, None]) * rstd[:, None] * w + b
    small = Within("sums of 300 values in f32", relative=2.0 ** -18, absolute=1e-6)
    if columns == 0:  # no round of any loop: 0 / 0, and nothing is normalised
        nothing = Out(np.full(3, np.nan), dtype="f32")
        return [In(x), In(w), In(b), Out(None, dtype="bf16", shape=(3, 300)), nothing, nothing, I32(0), F32(1e-5),
                NULL, NULL]
    return [In(x), In(w), In(b), Out(expected, Within("rounded to bf16 at the end", relative=2.0 ** -8,
            absolute=1e-5), "bf16"), Out(mean, small, "f32"), Out(rstd, small, "f32"),
            I32(300), F32(1e-5), NULL, NULL]


def product_bound(x, y, k, why="exact products, k truncated additions of partial sums below Σ|a·b|"):
    return Within(why, absolute=np.abs(x) @ np.abs(y) * k * 2.0 ** -22 + 1e-30)


# Programs with a loop run once more with none of its rounds (k or length 0; the arrays are the
# same): what stands before and behind it is then all that there is.


def matmul_arguments(rng, m, n, k, transposed=False):
    a = random_bits(rng, (m, k), "bf16")
    b = random_bits(rng, (n, k) if transposed else (k, n), "bf16")
    x, y = to_float(a, "bf16"), to_float(b, "bf16")
    y = y.T if transposed else y
    return a, b, x @ y, product_bound(x, y, k)


def matmul_case(rng, m, n, k):
    a, b, c, bound = matmul_arguments(rng, m, n, 240)
    return [In(a), In(b), Out(c if k else 0 * c, bound, "f32"), I32(m), I32(n), I32(k), NULL, NULL]


@program("matmul", grid=(2, 3), each=[dict(k=0), dict(k=240)])
def matmul(rng, target, k):
    return matmul_case(rng, 50, 80, k)


@program("matmul_wgmma", entry="matmul", grid=(2, 2), each=[dict(k=0), dict(k=240)])
def matmul_wgmma(rng, target, k):
    return matmul_case(rng, 100, 64, k)


def matmul_described(rng, name, target, k):
    a, b, c, bound = matmul_arguments(rng, 128, 64, 448, True)
    c = c if k else 0 * c
    boxes = maps(name, target)
    zero = np.zeros((128, 64), np.float32)
    # The result has no pointer of its own: a tensor map over the array that comes last
    # (Triton's scratch pointer, which these programs do not use).
    return [*described(a, "bf16", boxes[0]), *described(b, "bf16", boxes[1]),
            *described(zero, "f32", boxes[2], over="c"), I32(k),
            InOut(c, bound, "f32", value=zero, name="c"), NULL]


@program("matmul_descriptors", grid=(2, 2), each=[dict(k=0), dict(k=448)])
def matmul_descriptors(rng, target, k):
    return matmul_described(rng, "matmul_descriptors", target, k)


@program("matmul_roles", entry="matmul_descriptors", grid=(2, 2), each=[dict(k=0), dict(k=448)])
def matmul_roles(rng, target, k):
    return matmul_described(rng, "matmul_roles", target, k)


@program("matmul_device_descriptors", grid=(2, 2), each=[dict(k=0), dict(k=304)])
def matmul_device_descriptors(rng, target, k):
    a, b, c, bound = matmul_arguments(rng, 100, 64, 304, True)
    scratch = np.zeros(384 * 4, np.uint8)
    return [In(a), In(b), Out(c if k else 0 * c, bound, "f32"), I32(100), I32(64), I32(k),
            InOut(None, value=scratch), NULL]


def attention_reference(q, k, v, scale, causal):
    s = q @ k.swapaxes(-1, -2) * scale
    if causal:
        s = np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
    most = s.max(-1, keepdims=True)
    p = np.exp2(s - most)
    total = p.sum(-1, keepdims=True)
    return p @ v / total, (most + np.log2(total))[..., 0], (p / total) @ np.abs(v)


def attention_case(rng, name, heads, length, d, causal):
    q, k, v = (random_bits(rng, (heads, length, d), name) for _ in range(3))
    scale = LOG2E / d ** 0.5
    out, lse, spread = attention_reference(*(to_float(x, name) for x in (q, k, v)), float(np.float32(scale)), causal)
    digits = 2.0 ** -10 if name == "f16" else 2.0 ** -7
    return q, k, v, scale, Within("P rounded to 16 bits, and rescaled", absolute=spread * digits + 1e-5), out, lse


def attention_arguments(rng, name, causal, length=256):
    q, k, v, scale, bound, out, lse = attention_case(rng, name, 1, 256, 32, causal)
    if length == 0:
        out, lse = np.full_like(out, np.nan), np.full_like(lse, -np.inf)
    return [In(q), In(k), In(v), Out(out, bound, "f32"),
            Out(lse, Within("sums in f32, ex2 and lg2", absolute=3e-5), "f32"), I32(length), F32(scale), NULL, NULL]


@program("attention", grid=(8, 1))
def attention(rng, target):
    return attention_arguments(rng, "f16", True)


@program("attention_wgmma", entry="attention", grid=(4, 1), each=[dict(length=0), dict(length=256)])
def attention_wgmma(rng, target, length):
    return attention_arguments(rng, "bf16", False, length)


def attention_described(rng, name, target, length):
    q, k, v, scale, bound, out, _ = attention_case(rng, "bf16", 1, 256, 32, False)
    out = out if length else np.full_like(out, np.nan)
    boxes = maps(name, target)
    zero = np.zeros((256, 32), np.float32)
    arguments = []
    for value, box in zip((q, k, v), boxes):
        arguments += described(value[0], "bf16", box)
    return [*arguments, *described(zero, "f32", boxes[3], over="out"), I32(length), F32(scale),
            InOut(out[0], Within(bound.why, absolute=bound.absolute[0]), "f32", value=zero, name="out"), NULL]


@program("attention_descriptors", grid=4, each=[dict(length=0), dict(length=256)])
def attention_descriptors(rng, target, length):
    return attention_described(rng, "attention_descriptors", target, length)


@program("attention_roles", entry="attention_descriptors", grid=4, each=[dict(length=0), dict(length=256)])
def attention_roles(rng, target, length):
    return attention_described(rng, "attention_roles", target, length)


def backward(rng, name, length):
    n, d = 192, 32
    q, k, v, g = (random_bits(rng, (n, d), name) for _ in range(4))
    x, y, z, w = (to_float(t, name) for t in (q, k, v, g))
    # The program leaves 1/√d out of dS: callers scale dQ and dK.
    scale = LOG2E / d ** 0.5
    out, lse, _ = attention_reference(x, y, z, float(np.float32(scale)), False)
    lse, delta = lse.astype(np.float32), (out * w).sum(1).astype(np.float32)
    p = np.exp2(x @ y.T * float(np.float32(scale)) - lse[:, None])
    ds = p * (w @ z.T - delta[:, None])
    rounding = 2.0 ** -10 if name == "f16" else 2.0 ** -7
    # dS cancels: its error is that of P·(|dP| + |delta|).
    size = p * (np.abs(w) @ np.abs(z).T + np.abs(delta)[:, None])
    why = "P and dS rounded to 16 bits; f32 sums"
    tiny = 1e-4
    bounds = [np.abs(ds) @ np.abs(y) * rounding + size @ np.abs(y) * 2.0 ** -16,
              np.abs(ds).T @ np.abs(x) * rounding + size.T @ np.abs(x) * 2.0 ** -16,
              p.T @ np.abs(w) * rounding]
    dq, dk, dv = ds @ y, ds.T @ x, p.T @ w
    if length == 0:
        dq, dk, dv = 0 * dq, 0 * dk, 0 * dv
    return [In(q), In(k), In(v), In(g), In(lse), In(delta),
            InOut(dq, Within(why, absolute=bounds[0] + tiny), "f32", value=np.zeros((n, d), np.float32)),
            Out(dk, Within(why, absolute=bounds[1] + tiny), "f32"),
            Out(dv, Within(why, absolute=bounds[2] + tiny), "f32"), I32(length), F32(scale), NULL, NULL]


@program("attention_backward", grid=6, each=[dict(length=0), dict(length=192)])
def attention_backward(rng, target, length):
    return backward(rng, "f16", length)


@program("attention_backward_wgmma", entry="attention_backward", grid=3, each=[dict(length=0), dict(length=192)])
def attention_backward_wgmma(rng, target, length):
    return backward(rng, "bf16", length)


@program("histogram", grid=4)
def histogram(rng, target):
    n = 500
    x = rng.integers(0, 49, n).astype(np.int32)
    x[128 + 70] = 49  # the greatest: of one program, not of its first warp
    programs = 4

    class Permutation(Within):
        def wrong(self, got, _):
            return np.full(got.shape, sorted(got) != list(range(programs)))

    taken = np.array([programs, 0, x.sum(), x.max()], np.int32)
    return [In(x), InOut(np.bincount(x, minlength=50).astype(np.int32), value=np.zeros(50, np.int32)),
            InOut(taken, value=np.zeros(4, np.int32)),
            Out(np.zeros(programs, np.int32), Permutation("any order of the programs")), I32(n), NULL, NULL]
