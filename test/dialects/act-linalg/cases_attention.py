# SPDX-License-Identifier: Apache-2.0
"""act.attention and its gradient against dense formulas in f64, which are
themselves checked by central differences."""
import dataclasses

import numpy as np

import philox
from harness import DTYPES, Case, tensor

rng = np.random.default_rng(6)
wide = lambda x: np.asarray(x).astype(np.float64)


@dataclasses.dataclass
class Options:
    scale: float = 0.4
    causal: bool = False
    window: int = 0
    softcap: float = 0
    dropout: float = 0
    mask: np.ndarray = None
    cu: list = None
    sinks: np.ndarray = None
    bias: np.ndarray = None  # 1 for all, as in numpy
    bias_grad: bool = True
    top_left: bool = False
    region: object = ""  # a name in REGIONS, or such a pair
    keep: np.ndarray = None  # of dropout
    rng = (77, 5, 9)


# Text of the region with FLOAT for the score's type, and the same in numpy.
REGIONS = {
    "alibi": ("""%n = arith.subi %i, %j : index
        %m = arith.index_cast %n : index to i64
        %x = arith.sitofp %m : i64 to FLOAT
        %g = arith.index_cast %h : index to i64
        %k = arith.sitofp %g : i64 to FLOAT
        %c = arith.constant -0.125 : FLOAT
        %y = arith.mulf %k, %c : FLOAT
        %z = arith.mulf %x, %y : FLOAT
        %r = arith.addf %s, %z : FLOAT""",
              lambda s, b, h, i, j: s - 0.125 * h * (i - j)),
    "curved": ("""%t = math.tanh %s : FLOAT
        %q = arith.mulf %s, %s : FLOAT
        %c = arith.constant 0.25 : FLOAT
        %u = arith.mulf %q, %c : FLOAT
        %e = math.exp %t : FLOAT
        %v = arith.divf %u, %e : FLOAT
        %w = arith.subf %t, %v : FLOAT
        %a = math.absf %s : FLOAT
        %l = arith.maximumf %a, %c : FLOAT
        %g = math.log %l : FLOAT
        %p = arith.cmpf ogt, %s, %c : FLOAT
        %o = arith.select %p, %g, %w : FLOAT
        %k = math.sqrt %l : FLOAT
        %r = arith.addf %o, %k : FLOAT""",
               lambda s, b, h, i, j: np.where(
                   s > 0.25, np.log(np.maximum(abs(s), 0.25)),
                   np.tanh(s) - s * s * 0.25 / np.exp(np.tanh(s)))
               + np.sqrt(np.maximum(abs(s), 0.25))),
    "hide": ("""%m = arith.remui %j, %h1 : index
        %c = arith.constant 0 : index
        %p = arith.cmpi eq, %m, %c : index
        %n = arith.constant 0xNINF : FLOAT
        %r = arith.select %p, %s, %n : FLOAT""",
             lambda s, b, h, i, j: np.where(j % 2 == 0, s, -np.inf)),
}


def region_of(o):
    return REGIONS[o.region] if isinstance(o.region, str) else o.region


def visible(o, B, S, T):
    i, j = np.arange(S)[:, None] + (0 if o.top_left else T - S), np.arange(T)[None]
    ok = np.ones((B, 1, S, T), bool)
    if o.causal:
        ok &= j <= i
    if o.window:
        ok &= i - j < o.window
    if o.mask is not None:
        ok &= o.mask[:, None, None, :] if o.mask.ndim == 2 else o.mask[:, None]
    if o.cu is not None:
        seg = np.array([sum(c <= t for c in o.cu) for t in range(T)])
        ok &= seg[:, None] == seg[None]
    return ok


def scores(o, raw, more=0):
    """`more`: added to the bias."""
    B, H, S, T = raw.shape
    s = o.scale * raw
    if o.softcap:
        s = o.softcap * np.tanh(s / o.softcap)
    if o.bias is not None:
        s = s + o.bias + more
    if o.region:
        at = np.meshgrid(*map(np.arange, raw.shape), indexing="ij")
        s = region_of(o)[1](s, *at)
    return np.where(visible(o, B, S, T), s, -np.inf)


def forward(q, k, v, o):
    """[B, S, H, D] throughout; returns out, lse, p (before dropout)."""
    group = q.shape[2] // k.shape[2]
    K, V = np.repeat(k, group, 2), np.repeat(v, group, 2)
    s = scores(o, np.einsum("bihd,bjhd->bhij", q, K))
    sink = np.full(s.shape[:3], -np.inf) if o.sinks is None \
        else np.broadcast_to(o.sinks[None, :, None], s.shape[:3])
    most = np.maximum(s.max(-1), sink)
    shift = np.where(np.isneginf(most), 0, most)
    e = np.exp(s - shift[..., None])
    total = e.sum(-1) + np.exp(sink - shift)
    p = e / np.where(total == 0, 1, total)[..., None]
    with np.errstate(divide="ignore"):
        lse = np.where(total == 0, -np.inf, shift + np.log(np.where(total == 0, 1, total)))
    pd = p if o.keep is None else np.where(o.keep, p / (1 - o.dropout), 0)
    return np.einsum("bhij,bjhd->bihd", pd, V), lse, p, pd


def backward(do, q, k, v, o):
    group = q.shape[2] // k.shape[2]
    K, V = np.repeat(k, group, 2), np.repeat(v, group, 2)
    out, lse, p, pd = forward(q, k, v, o)
    raw = np.einsum("bihd,bjhd->bhij", q, K)
    h = 1e-6
    with np.errstate(invalid="ignore"):
        slope = (scores(o, raw + h) - scores(o, raw - h)) / (2 * h)
    delta = np.einsum("bihd,bihd->bhi", do, out)
    dp = np.einsum("bihd,bjhd->bhij", do, V)
    if o.keep is not None:
        dp = np.where(o.keep, dp / (1 - o.dropout), 0)
    scored = lambda slope: np.where(
        p == 0, 0, p * (dp - delta[..., None]) * np.where(np.isfinite(slope), slope, 0))
    ds = scored(slope)
    fold = lambda x: x.reshape(*x.shape[:2], k.shape[2], group, -1).sum(3)
    grads = [np.einsum("bhij,bjhd->bihd", ds, K), fold(np.einsum("bhij,bihd->bjhd", ds, q)),
             fold(np.einsum("bhij,bihd->bjhd", pd, do))]
    if o.sinks is not None:
        grads.append(-(np.exp(o.sinks[None, :, None] - lse) * delta).sum((0, 2)))
    if o.bias is not None and o.bias_grad:
        with np.errstate(invalid="ignore"):
            slope = (scores(o, raw, h) - scores(o, raw, -h)) / (2 * h)
        repeated = tuple(i for i in range(4) if o.bias.shape[i] == 1)
        grads.append(scored(slope).sum(repeated, keepdims=True))
    return grads


def check_reference():
    """backward against central differences of forward, all options at once."""
    q, k, v, do = (rng.standard_normal(s) for s in
                   ((2, 4, 4, 3), (2, 5, 2, 3), (2, 5, 2, 3), (2, 4, 4, 3)))
    for region in ("", "alibi", "curved"):
        o = Options(causal=True, window=4, softcap=1.5, region=region,
                    sinks=rng.standard_normal(4), mask=rng.random((2, 5)) < 0.8,
                    bias=rng.standard_normal((1, 4, 1, 5)),
                    dropout=0.25, keep=rng.random((2, 4, 4, 5)) >= 0.25)
        inputs = [q, k, v, o.sinks, o.bias]
        for x, grad in zip(inputs, backward(do, q, k, v, o)):
            for at in np.ndindex(x.shape):
                old, values = x[at], []
                for step in (1e-5, -1e-5):
                    x[at] = old + step
                    values.append((forward(q, k, v, o)[0] * do).sum())
                x[at] = old
                got = (values[0] - values[1]) / 2e-5
                assert abs(got - grad[at]) < 1e-6, (region, at, got, grad[at])


def attention(name, B, S, T, H, G, D, dtype, o, packed=False, tolerance=0, DV=None):
    DV = DV or D
    q, k, v, do = (rng.standard_normal(s).astype(DTYPES[dtype]) for s in
                   ((B, S, H, D), (B, T, G, D), (B, T, G, DV), (B, S, H, DV)))
    stat = "f64" if dtype == "f64" else "f32"
    if o.dropout:
        seed, step, site = o.rng
        index = np.arange(B * H * S * T)
        o.keep = (philox.uniform(seed, step, site, index) >= o.dropout).reshape(B, H, S, T)
    if o.sinks is not None:
        o.sinks = o.sinks.astype(DTYPES[stat])
    bt = "bf16" if dtype == "bf16" else stat
    if o.bias is not None:
        o.bias = o.bias.astype(DTYPES[bt])
    Q, K, V, DO = map(wide, (q, k, v, do))
    wide_o = dataclasses.replace(o, **{n: wide(x) for n in ("sinks", "bias")
                                       if (x := getattr(o, n)) is not None})
    out, lse, _, _ = forward(Q, K, V, wide_o)
    strip = (lambda x: x.reshape(x.shape[1:])) if packed else (lambda x: x)
    q, k, v, do, out, lse = map(strip, (q, k, v, do, out, lse))

    options, extra, types, operands = f"scale {o.scale:e}", [], [], []

    def operand(value, kind):
        extra.append(value)
        types.append(kind)
        return f"%{{{len(extra) - 1}}}"
    if o.causal:
        options += " causal"
    if o.top_left:
        options += " top_left"
    if o.window:
        options += f" window({o.window})"
    if o.softcap:
        options += f" softcap({o.softcap:e})"
    if o.mask is not None:
        options += f" mask({operand(o.mask, tensor(o.mask.shape, 'i1'))})"
    if o.cu is not None:
        options += f" cu_seqlens({operand(np.array(o.cu, np.int32), tensor((len(o.cu),), 'i32'))})"
    if o.sinks is not None:
        options += f" sinks({operand(o.sinks, tensor(o.sinks.shape, stat))})"
    if o.bias is not None:
        bias = strip(o.bias)
        options += f" bias({operand(bias, tensor(bias.shape, bt))})"
    if o.dropout:
        names = ", ".join(operand(x, "i64") for x in o.rng)
        options += f" dropout({o.dropout:e}, {names})"
    if o.region:
        text = region_of(o)[0].replace("FLOAT", stat).replace("%h1", "%two")
        text = text.replace("0xNINF", "0xFFF0000000000000" if stat == "f64" else "0xFF800000")
        two = "%two = arith.constant 2 : index\n" if "%two" in text else ""
        body = f"^bb0(%s: {stat}, %b: index, %h: index, %i: index, %j: index):\n{two}{text}\n" \
               f"act.yield %r : {stat}"
        options += " score {{\n" + body + "\n}}"

    def fill(count):
        return options.format(*[count + i for i in range(len(extra))])
    qt, kt, vt, ot = (tensor(x.shape, dtype) for x in (q, k, v, do))
    lt = tensor(lse.shape, stat)
    T3 = [qt, kt, vt] + types
    yield Case(f"attention_{name}",
               f"%o, %l = act.attention %0, %1, %2 {fill(3)} : ({', '.join(T3)}) -> ({ot}, {lt})",
               [q, k, v] + extra, T3, [ot, lt], "%o, %l", [out, lse], tolerance=tolerance)
    grads = backward(DO, Q, K, V, wide_o)
    grads = [strip(g) if g.ndim == 4 else g for g in grads]
    R = [qt, kt, vt] + ([tensor(o.sinks.shape, stat)] if o.sinks is not None else [])
    if o.bias is not None and o.bias_grad:
        R.append(tensor(bias.shape, bt))
    T6 = [ot, qt, kt, vt, ot, lt] + types
    back = ", ".join(f"%g#{i}" for i in range(len(R)))
    loose = tolerance or {"f64": 2e-8, "f32": 2e-5, "bf16": 3e-2, "f16": 4e-3}[dtype]
    yield Case(f"attention_grad_{name}",
               f"%g:{len(R)} = act.attention_grad %0, %1, %2, %3, %4, %5 {fill(6)} : "
               f"({', '.join(T6)}) -> ({', '.join(R)})",
               [do, q, k, v, out.astype(DTYPES[dtype]), lse.astype(DTYPES[stat])] + extra, T6, R,
               back, grads, tolerance=loose)


def gradients_of(case, wanted):
    """Of a gradient's results the `wanted` ones; nobody asks for the others."""
    kept = [case.results[i] for i in wanted]
    return dataclasses.replace(
        case, as_group=True, name=f"{case.name}_only_{'_'.join(map(str, wanted))}", results=kept,
        returns=", ".join(f"%g#{i}" for i in wanted), expected=[case.expected[i] for i in wanted])


def cases():
    check_reference()
    sinks = lambda h: rng.standard_normal(h)
    small = dict(B=2, S=5, T=5, H=4, G=2, D=3)
    for d in ("f32", "f64", "bf16", "f16"):
        yield from attention(f"plain_{d}", **small, dtype=d, o=Options())
        yield from attention(f"all_{d}", 2, 6, 9, 4, 2, 3, d, Options(
            causal=True, window=4, softcap=1.5, sinks=sinks(4), region="curved",
            mask=rng.random((2, 9)) < 0.7, dropout=0.25))
        yield from attention(f"packed_{d}", 1, 9, 9, 4, 1, 5, d, Options(
            causal=True, cu=[0, 3, 4, 9, 9]), packed=True)
        yield from attention(f"tiles_{d}", 2, 101, 131, 4, 2, 7, d, Options(causal=True))
    yield from attention("mha", 1, 4, 4, 2, 2, 8, "f32", Options(scale=1 / 8**0.5))
    yield from attention("one", 1, 1, 1, 1, 1, 1, "f32", Options())
    yield from attention("decode", 2, 1, 70, 2, 1, 4, "f32", Options(causal=True))
    yield from attention("more_queries_than_keys", 1, 70, 5, 2, 1, 4, "f32", Options(causal=True))
    yield from attention("more_queries_window", 1, 70, 5, 2, 1, 4, "f64",
                         Options(causal=True, window=3))
    for d in ("f32", "f64"):
        for S, T in ((64, 64), (65, 65), (101, 131), (131, 101), (200, 200)):
            n = f"{S}x{T}_{d}"
            yield from attention(f"full_{n}", 1, S, T, 2, 1, 5, d, Options())
            yield from attention(f"causal_{n}", 1, S, T, 2, 1, 5, d, Options(causal=True))
            yield from attention(f"window_{n}", 1, S, T, 2, 1, 5, d, Options(causal=True, window=17))
            yield from attention(f"window_only_{n}", 1, S, T, 2, 1, 5, d, Options(window=70))
            yield from attention(f"mask_{n}", 2, S, T, 2, 1, 5, d, Options(
                mask=np.arange(T)[None] < np.array([[T // 3], [T - 2]])))
            yield from attention(f"mask_of_pairs_{n}", 2, S, T, 2, 1, 5, d, Options(
                mask=rng.random((2, S, T)) < 0.3, causal=True))
            yield from attention(f"mask_of_all_{n}", 2, S, T, 2, 1, 5, d, Options(
                mask=rng.random((1, S, T)) < 0.3))
            yield from attention(f"dropout_{n}", 1, S, T, 2, 1, 5, d, Options(
                dropout=0.3, causal=True))
    for d in ("f32", "f64"):
        for i, cu in enumerate(([0, 40, 41, 130, 150, 200], [0, 100, 100, 100], [0, 200, 200],
                                [0, 64, 128, 192, 200])):
            yield from attention(f"packed_{i}_{d}", 1, 200, 200, 2, 1, 5, d,
                                 Options(cu=cu, causal=True), packed=True)
            yield from attention(f"packed_full_{i}_{d}", 1, 200, 200, 2, 2, 4, d,
                                 Options(cu=cu), packed=True)
        yield from attention(f"packed_window_{d}", 1, 200, 200, 2, 2, 4, d, Options(
            cu=[0, 90, 200], causal=True, window=9, sinks=sinks(2), dropout=0.1), packed=True)
        yield from attention(f"sinks_{d}", 2, 70, 70, 4, 2, 5, d, Options(
            causal=True, sinks=sinks(4)))
        yield from attention(f"softcap_{d}", 2, 70, 70, 2, 2, 5, d, Options(softcap=2.0))
        yield from attention(f"hidden_{d}", 2, 6, 6, 2, 2, 5, d, Options(
            mask=np.array([[False] * 6, [True] * 5 + [False]])))
        yield from attention(f"hidden_sinks_{d}", 2, 6, 6, 2, 2, 5, d, Options(
            mask=np.array([[False] * 6, [True] * 5 + [False]]), sinks=sinks(2)))
        for region in REGIONS:
            yield from attention(f"region_{region}_{d}", 2, 70, 70, 4, 2, 5, d, Options(
                causal=True, region=region))
        # A score of 100 is known to 1e-5 in f32, and so is its exponential.
        yield from attention(f"large_scores_{d}", 1, 70, 70, 2, 2, 5, d, Options(
            scale=40.0, causal=True), tolerance={"f32": 1e-4, "f64": 1e-7}[d])
        for i, of in enumerate(((2, 4, 70, 90), (1, 4, 70, 90), (2, 1, 1, 90), (1, 4, 70, 1),
                                (1, 1, 1, 1), (1, 4, 1, 90))):
            yield from attention(f"bias_{i}_{d}", 2, 70, 90, 4, 2, 5, d, Options(
                causal=i % 2 == 0, bias=rng.standard_normal(of), softcap=1.5 * (i == 1),
                region="curved" if i == 3 else "", dropout=0.2 * (i == 0),
                sinks=sinks(4) if i in (1, 4) else None))
        yield from attention(f"bias_packed_{d}", 1, 70, 70, 2, 1, 5, d, Options(
            cu=[0, 30, 70], causal=True, bias=rng.standard_normal((1, 2, 70, 70))), packed=True)
        hidden = np.where(rng.random((1, 1, 70, 70)) < 0.5, -np.inf, 0)
        hidden[..., 3, :] = -np.inf  # a row that sees nothing
        yield from attention(f"bias_hides_{d}", 1, 70, 70, 2, 1, 5, d, Options(
            bias=hidden, bias_grad=False))
        for S, T in ((70, 90), (90, 70), (64, 128)):
            yield from attention(f"top_left_{S}x{T}_{d}", 1, S, T, 2, 1, 5, d, Options(
                causal=True, top_left=True))
            yield from attention(f"top_left_window_{S}x{T}_{d}", 1, S, T, 2, 1, 5, d, Options(
                causal=True, window=20, top_left=True))
    # Weights that are not trained leave some of a gradient without a reader.
    for d in ("f32", "bf16"):
        for name, o in (("asked", Options(causal=True)),
                        ("asked_all", Options(causal=True, softcap=1.5, sinks=sinks(4), dropout=0.25,
                                              bias=rng.standard_normal((1, 4, 70, 90))))):
            _, grad = attention(f"{name}_{d}", 2, 70, 90, 4, 2, 16, d, o)
            for wanted in ([0], [1], [2], [0, 2], [1, 2], *([[0, 3], [4], [0, 3, 4]] if o.sinks is not None else [])):
                yield gradients_of(grad, wanted)
    yield from attention("bias_bf16", 2, 70, 90, 4, 2, 16, "bf16", Options(
        bias=rng.standard_normal((1, 4, 70, 90))))
    yield from attention("long_f32", 1, 1100, 1100, 1, 1, 3, "f32", Options(causal=True))
