# SPDX-License-Identifier: Apache-2.0
"""Norms, their statistics and gradients."""
import numpy as np

from cases_elementwise import draw
from harness import TOLERANCE, Case, tensor

wide = lambda x: np.asarray(x).astype(np.float64)


def make(name, op, arrays, dtypes, results, expected, options="", glue="{}", **more):
    types = [tensor(a.shape, d) for a, d in zip(arrays, dtypes)]
    outs = [tensor(np.shape(e), d) for e, d in zip(expected, results)]
    left = "%r" if len(outs) == 1 else f"%r:{len(outs)}"
    back = "%r" if len(outs) == 1 else ", ".join(f"%r#{i}" for i in range(len(outs)))
    operands = glue.format(", ".join(f"%{i}" for i in range(len(arrays)))) if glue == "{}" else glue
    text = f"{left} = act.{op} {operands} {options} : ({', '.join(types)}) -> ({', '.join(outs)})"
    return Case(name, text, arrays, types, outs, back, expected, **more)


def cancelling(dtype, terms, difference):
    """The tolerance of a difference of terms that may be much larger, in rows of few."""
    most = lambda x: np.abs(x).max(initial=1e-30)
    return TOLERANCE[dtype] * max(1, most(terms) / most(difference))


def norms(shapes):
    eps = 1e-5
    for d, stat in (("f32", "f32"), ("f64", "f64"), ("bf16", "f32"), ("f16", "f32")):
        for shape in shapes:
            n = f"{len(shape)}_{d}"
            x, g, b, dy = draw(shape, d), draw(shape[-1:], d), draw(shape[-1:], d), draw(shape, d)
            X, G, B, DY = map(wide, (x, g, b, dy))
            rstd = 1 / np.sqrt((X * X).mean(-1) + eps)
            normal = X * rstd[..., None]
            yield make(f"rms_norm_{n}", "rms_norm", [x, g], [d, d], [d], [normal * G],
                       f"eps {eps:e}")
            yield make(f"rms_norm_stat_{n}", "rms_norm", [x, g], [d, d], [d, stat],
                       [normal * G, rstd], f"eps {eps:e}")
            r = rstd.astype(np.float64 if stat == "f64" else np.float32)
            yield make(f"normalize_rms_{n}", "normalize", [x, g, r], [d, d, stat], [d], [X * wide(r)[..., None] * G],
                       glue="%0, %1 rstd(%2)")
            dn = DY * G
            want = rstd[..., None] * (dn - normal * (dn * normal).mean(-1, keepdims=True))
            yield make(f"rms_norm_grad_{n}", "rms_norm_grad", [dy, x, g, r], [d, d, d, stat], [d],
                       [want], tolerance=cancelling(d, rstd[..., None] * dn, want))
            axes = tuple(range(len(shape) - 1))
            yield make(f"rms_weight_grad_{n}", "norm_weight_grad", [dy, x, r], [d, d, stat], [d],
                       [(DY * normal).sum(axes)], glue="%0, %1 rstd(%2)")
            mean = X.mean(-1)
            rstd = 1 / np.sqrt(X.var(-1) + eps)
            normal = (X - mean[..., None]) * rstd[..., None]
            yield make(f"layer_norm_{n}", "layer_norm", [x, g, b], [d] * 3, [d], [normal * G + B],
                       f"eps {eps:e}")
            yield make(f"layer_norm_stat_{n}", "layer_norm", [x, g, b], [d] * 3, [d, stat, stat],
                       [normal * G + B, mean, rstd], f"eps {eps:e}")
            m, r = mean.astype(r.dtype), rstd.astype(r.dtype)
            yield make(f"normalize_layer_{n}", "normalize", [x, g, m, r, b], [d, d, stat, stat, d], [d],
                       [(X - wide(m)[..., None]) * wide(r)[..., None] * G + B],
                       glue="%0, %1 mean(%2) rstd(%3) bias(%4)")
            want = rstd[..., None] * (dn - dn.mean(-1, keepdims=True)
                                      - normal * (dn * normal).mean(-1, keepdims=True))
            yield make(f"layer_norm_grad_{n}", "layer_norm_grad", [dy, x, g, m, r],
                       [d, d, d, stat, stat], [d], [want],
                       tolerance=cancelling(d, rstd[..., None] * dn, want))
            yield make(f"layer_weight_grad_{n}", "norm_weight_grad", [dy, x, m, r],
                       [d, d, stat, stat], [d], [(DY * normal).sum(axes)],
                       glue="%0, %1 mean(%2) rstd(%3)")


def cases():
    yield from norms(((2, 3, 7), (5, 4)))
    # A large mean: the variance must not cancel.
    x = (draw((2, 64), "f32", 1) + 3000).astype(np.float32)
    one, zero = np.ones(64, np.float32), np.zeros(64, np.float32)
    X = wide(x)
    eps = 1e-5
    want = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + eps)
    yield make("layer_norm_offset", "layer_norm", [x, one, zero], ["f32"] * 3, ["f32"], [want],
               f"eps {eps:e}", tolerance=5e-4)
