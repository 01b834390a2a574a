# SPDX-License-Identifier: Apache-2.0
"""What attention is written in: softmax, rope, positions, masks."""
import numpy as np

from cases_elementwise import case, draw
from harness import DTYPES, Case, tensor

wide = lambda x: np.asarray(x).astype(np.float64)
f32 = np.float32


def softmax(x, axis=-1):
    most = x.max(axis, keepdims=True)
    e = np.exp(x - np.where(np.isinf(most), 0, most))
    total = e.sum(axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


def segments(cu, tokens):
    return np.array([sum(c <= i for c in cu) for i in range(tokens)])


def softmaxes(shape):
    for d in ("f32", "f64", "bf16", "f16"):
        for axis in range(len(shape)):
            x, dy = draw(shape, d, 4), draw(shape, d)
            x[0, ..., -1] = -np.inf
            x[-1, ..., 0] = -np.inf
            y = softmax(wide(x), axis).astype(DTYPES[d])
            yield case(f"softmax_{axis}_{d}", f"act.softmax $ axis {axis}", [x], [d],
                       tensor(x.shape, d), [softmax(wide(x), axis)], "{0}")
            Y, DY = wide(y), wide(dy)
            want = Y * (DY - (Y * DY).sum(axis, keepdims=True))
            yield case(f"softmax_grad_{axis}_{d}", f"act.softmax_grad $ axis {axis}", [dy, y],
                       [d, d], tensor(x.shape, d), [want], "{0}")


def cases():
    yield from softmaxes((3, 4, 5))
    yield case("softmax_no_inputs", "act.softmax $ axis 1", [np.full((2, 3), -np.inf, f32)],
               ["f32"], "tensor<2x3xf32>", [np.zeros((2, 3))], "{0}", exact=True)
    yield case("softmax_large", "act.softmax $ axis 0", [np.array([1e30, -1e30, 1e30], f32)],
               ["f32"], "tensor<3xf32>", [np.array([0.5, 0, 0.5])], "{0}", exact=True)
    yield Case("positions", "%r = act.positions : tensor<9xi32>", [], [], ["tensor<9xi32>"], "%r",
               [np.arange(9)])
    for i, cu in enumerate([[0, 3, 7, 9], [0, 4, 4, 4], [0, 9, 9, 9], [0, 1, 2, 5]]):
        c = np.array(cu, np.int32)
        seg = segments(cu, 9)
        start = np.array([max(b for b in cu if b <= t) for t in range(9)])
        yield Case(f"positions_packed_{i}",
                   "%r = act.positions cu_seqlens(%0 : tensor<4xi32>) : tensor<9xi32>", [c],
                   ["tensor<4xi32>"], ["tensor<9xi32>"], "%r", [np.arange(9) - start])
        yield Case(f"segment_mask_{i}",
                   "%r = act.segment_mask %0 : tensor<4xi32> -> tensor<9x9xi1>", [c],
                   ["tensor<4xi32>"], ["tensor<9x9xi1>"], "%r", [seg[:, None] == seg[None]])
    for q, kv in ((8, 8), (3, 7)):
        behind = np.arange(q)[:, None] + kv - q - np.arange(kv)[None]
        t = tensor((q, kv), "i1")
        yield Case(f"causal_mask_{q}", f"%r = act.causal_mask : {t}", [], [], [t], "%r",
                   [behind >= 0])
        yield Case(f"causal_mask_top_left_{q}", f"%r = act.causal_mask top_left : {t}", [], [], [t],
                   "%r", [behind >= kv - q])
        yield Case(f"causal_mask_window_{q}", f"%r = act.causal_mask window(4) : {t}", [], [], [t],
                   "%r", [(behind >= 0) & (behind < 4)])
    yield from ropes()


def frequencies(d, theta, llama=None, linear=None):
    """transformers' modeling_rope_utils.py in numpy's f32."""
    exponent = (np.arange(0, d, 2).astype(f32) / f32(d)).astype(f32)
    f = (f32(1) / (np.float64(theta) ** exponent.astype(np.float64)).astype(f32)).astype(f32)
    if linear:
        f = f / f32(linear)
    if llama:
        factor, low, high, original = llama
        wavelength = f32(2 * np.pi) / f
        scaled = np.where(wavelength > f32(original / low), f / f32(factor), f)
        blend = (f32(original) / wavelength - f32(low)) / f32(high - low)
        smooth = (f32(1) - blend) * scaled / f32(factor) + blend * scaled
        medium = ~(wavelength < f32(original / high)) & ~(wavelength > f32(original / low))
        f = np.where(medium, smooth, scaled)
    return f.astype(f32)


def ropes():
    positions = np.array([0, 1, 2, 5, 100, 4095, 131071, 7], np.int32)
    for name, d, theta, options, kwargs in [
            ("plain", 8, 10000.0, "", {}), ("odd", 6, 10000.0, "", {}),
            ("linear", 8, 10000.0, "linear(4.0)", {"linear": 4.0}),
            ("llama3", 64, 500000.0, "llama3 array<f64: 8.0, 1.0, 4.0, 8192.0>",
             {"llama": (8.0, 1.0, 4.0, 8192.0)})]:
        angle = positions[:, None].astype(f32) * frequencies(d, theta, **kwargs)
        for e in ("f32", "f64"):
            t = tensor((8, d // 2), e)
            want = [f(angle.astype(np.float64)).astype(DTYPES[e]) for f in (np.cos, np.sin)]
            if options.startswith("llama3"):
                options = "llama3 [8.0, 1.0, 4.0, 8192.0]"
            yield Case(f"rope_table_{name}_{e}",
                       f"%c, %s = act.rope_table %0 theta {theta:e} {options} : tensor<8xi32> -> {t}",
                       [positions], ["tensor<8xi32>"], [t, t], "%c, %s", want,
                       tolerance=6e-8 if e == "f32" else 1e-15)
    yield from rotations(2, 8, 2, 6)


def rotations(batch, tokens, heads, width):
    half = width // 2
    for d in ("f32", "f64", "bf16"):
        table = "f64" if d == "f64" else "f32"
        angle = np.random.default_rng(5).random((tokens, half)) * 6
        c, s = np.cos(angle).astype(DTYPES[table]), np.sin(angle).astype(DTYPES[table])
        for shape, heads_first in (((batch, tokens, heads, width), 0), ((batch, heads, tokens, width), 1),
                                   ((tokens, heads, width), 0)):
            for interleaved in (0, 1):
                for inverse in (0, 1):
                    x = draw(shape, d)
                    X, C, S = wide(x), wide(c), wide(s) * (-1 if inverse else 1)
                    if not heads_first:
                        C, S = C[:, None], S[:, None]
                    a, b = (X[..., 0::2], X[..., 1::2]) if interleaved else (X[..., :half], X[..., half:])
                    u, v = a * C - b * S, b * C + a * S
                    want = np.stack([u, v], -1).reshape(shape) if interleaved \
                        else np.concatenate([u, v], -1)
                    flags = " interleaved" * interleaved + " heads_first" * heads_first + \
                        " inverse" * inverse
                    T = [tensor(shape, d), tensor((tokens, half), table)]
                    yield Case(f"rope_{d}_{len(shape)}_{heads_first}{interleaved}{inverse}",
                               f"%r = act.rope %0, %1, %2{flags} : {T[0]}, {T[1]}",
                               [x, c, s], [T[0], T[1], T[1]], [T[0]], "%r", [want])
