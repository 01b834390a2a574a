# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops: every one in f32, f64, bf16 and f16; broadcasting; casts."""
import math

import numpy as np

import philox
from harness import DTYPES, Case, tensor

erf = np.vectorize(math.erf)
rng = np.random.default_rng(1)


def draw(shape, dtype, scale=2.0):
    return (rng.standard_normal(shape) * scale).astype(DTYPES[dtype])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "silu": (lambda x: x * sigmoid(x),
             lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "gelu": (lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
             lambda x: 0.5 * (1 + erf(x / math.sqrt(2)))
             + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
}


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def slope(f):
    """A central difference in f64: simpler than the formulas it checks."""
    return lambda x: (f(x + 1e-5) - f(x - 1e-5)) / 2e-5


ACTIVATIONS["gelu_new"] = (gelu_new, slope(gelu_new))


def case(name, op, arrays, dtypes, result, expected, suffix="", returns="%r", results=None,
         **options):
    types = [tensor(a.shape, d) for a, d in zip(arrays, dtypes)]
    results = results or [result]
    left = "%r" if len(results) == 1 else f"%r:{len(results)}"
    operands = ", ".join(f"%{i}" for i in range(len(arrays)))
    text = f"{left} = {op.replace('$', operands)} : {suffix.format(*types, r=result)}"
    return Case(name, text, arrays, types, results, returns, expected, **options)


def cases():
    wide = lambda *xs: [np.asarray(x).astype(np.float64) for x in xs]
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    for d in ("f32", "f64", "bf16", "f16"):
        for op, f in binary.items():
            x, y = draw((3, 5), d), draw((3, 5), d)
            yield case(f"{op}_{d}", f"act.{op} $", [x, y], [d, d], tensor((3, 5), d),
                       [f(*wide(x, y)).astype(DTYPES[d])], "({0}, {1}) -> {r}")
        x = draw((3, 5), d)
        yield case(f"scale_{d}", "act.scale $ by -0.75", [x], [d], tensor(x.shape, d),
                   [wide(x)[0] * -0.75], "{0}")
        for op in ("silu", "gelu", "gelu_new"):
            f, df = ACTIVATIONS[op]
            x, y, u = draw((4, 9), d, 3), draw((4, 9), d), draw((4, 9), d)
            t = tensor(x.shape, d)
            loose = {} if d != "f64" else {"tolerance": 1e-9}
            yield case(f"{op}_{d}", f"act.{op} $", [x], [d], t, [f(*wide(x))], "{0}")
            yield case(f"{op}_grad_{d}", f"act.activation_grad {op} $", [y, x], [d, d], t,
                       [df(*wide(x)) * wide(y)[0]], "{0}", **loose)
            yield case(f"glu_grad_{op}_{d}", f"act.glu_grad {op} $", [y, x, u], [d] * 3, t,
                       [df(*wide(x)) * wide(u)[0] * wide(y)[0], f(*wide(x)) * wide(y)[0]],
                       "{0}", returns="%r#0, %r#1", results=[t, t], **loose)
            glu = {"silu": "swiglu $", "gelu": "geglu $", "gelu_new": "geglu $ tanh"}[op]
            yield case(f"glu_{op}_{d}", f"act.{glu}", [x, u], [d, d], t,
                       [f(*wide(x)) * wide(u)[0]], "{0}")
        x, y = draw((7,), d), draw((7,), d)
        yield case(f"tanh_{d}", "act.tanh $", [x], [d], tensor((7,), d), [np.tanh(*wide(x))],
                   "{0}")
        yield case(f"tanh_grad_{d}", "act.tanh_grad $", [y, x], [d, d], tensor((7,), d),
                   [(1 - wide(x)[0]**2) * wide(y)[0]], "{0}")
        m, x, c = rng.random((4, 4)) < 0.5, draw((2, 4, 4), d), draw((), d)
        c = np.asarray(c, dtype=DTYPES[d])
        yield case(f"select_{d}", "act.select $", [m, x, c], ["i1", d, d],
                   tensor((2, 4, 4), d), [np.where(m, *wide(x, c))],
                   "({0}, {1}, {2}) -> {r}", exact=True)
    # Broadcasting: missing leading, size 1 in the middle, scalar, both sides.
    for i, (a, b) in enumerate([((2, 3, 4), (4,)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), ()),
                                ((3, 1), (1, 5)), ((), (2, 2)), ((1,), (4, 3)),
                                ((2, 3, 4), (1, 1, 4)), ((2, 3, 4), (1, 3, 1)),
                                ((1, 3, 1), (1, 1, 4)), ((1, 1), (1,))]):
        x, y = np.asarray(draw(a, "f32")), np.asarray(draw(b, "f32"), dtype=np.float32)
        x = x.astype(np.float32)
        r = np.broadcast_shapes(a, b)
        yield case(f"broadcast_{i}", "act.sub $", [x, y], ["f32", "f32"], tensor(r, "f32"),
                   [np.subtract(*wide(x, y))], "({0}, {1}) -> {r}")
    m, n = rng.random((4, 4)) < 0.5, rng.random((2, 1, 4)) < 0.5
    yield case("and", "act.and $", [m, n], ["i1", "i1"], tensor((2, 4, 4), "i1"), [m & n],
               "({0}, {1}) -> {r}", exact=True)
    yield case("not", "act.not $", [m], ["i1"], tensor((4, 4), "i1"), [~m], "{0}", exact=True)
    # Edges of silu: no NaN for large arguments.
    x = np.array([-1e4, -100.0, -89.0, 0.0, 89.0, 1e4], np.float32)
    yield case("silu_edges", "act.silu $", [x], ["f32"], tensor(x.shape, "f32"),
               [np.where(x < -80, 0, x / (1 + np.exp(-np.maximum(x, -80.0))))], "{0}")
    yield from casts()
    yield from dropouts()


def casts():
    np.seterr(over="ignore", invalid="ignore")  # of the cast to a type without infinity
    floats = ["f64", "f32", "bf16", "f16", "f8E4M3FN"]
    special = np.array([0.0, -0.0, 1.0, 1.0625, 1.1875, 447.9, 464.0, 464.1, 500.0, -1e9, 2**-6,
                        2**-7, 2**-9, 2**-10, 1.5 * 2**-10, 3 * 2**-10, 5 * 2**-10, 0.0077,
                        np.nan, np.inf, -np.inf, 65504.0, 1.00390625, 1.01171875])
    for a in floats:
        for b in floats:
            x = np.concatenate([special, rng.standard_normal(40) * 3]).astype(DTYPES[a])
            via = x.astype(np.float32) if b not in ("f64",) else x.astype(np.float64)
            if a == b:
                continue
            # Host kernels have no operands of 8-bit floats.
            yield case(f"cast_{a}_{b}", "act.cast $", [x], [a], tensor(x.shape, b),
                       [via.astype(DTYPES[b])], "{0} to {r}", exact=True,
                       plain_only="f8E4M3FN" in (a, b))
    i = np.array([-5, 0, 1, 7, 123], np.int64)
    for a in ("i1", "i32", "i64"):
        x = i.astype(DTYPES[a])
        for b in ("f64", "f32", "bf16", "f16", "i32", "i64"):
            if a != b:
                yield case(f"cast_{a}_{b}", "act.cast $", [x], [a], tensor(x.shape, b),
                           [x.astype(DTYPES[b])], "{0} to {r}", exact=True)


def dropouts():
    # The last two differ in the micro-batch alone.
    scalars = [(0x123456789ABCDEF, 3, 65539), (-1, 2**40 + 7, 1), (5, 6, 65539 + 2**32),
               (5, 6, 65539 + 4095 * 2**32)]
    for n, (seed, step, site) in enumerate(scalars):
        for d in ("f32", "f64", "bf16"):
            wide = np.float64 if d == "f64" else np.float32
            for p in (0.1, 0.5):
                x = draw((3, 5, 7), d)
                keep = philox.uniform(seed, step, site, np.arange(x.size)) >= p
                t = tensor(x.shape, d)
                yield Case(f"dropout_{n}_{d}_{int(p * 10)}",
                           f"%r = act.dropout %0 p {p:e} rng(%1, %2, %3) : {t}",
                           [x, seed, step, site], [t, "i64", "i64", "i64"], [t], "%r",
                           [np.where(keep.reshape(x.shape), x.astype(wide) * wide(1 / (1 - p)), 0).astype(x.dtype)],
                           exact=True)
