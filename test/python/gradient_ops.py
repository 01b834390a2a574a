# SPDX-License-Identifier: Apache-2.0
"""The cases of gradients.py that are one op: every op with a gradient, every option.

`op_case` puts the op into a module several times: on parameters; on values that are
computed from them and used elsewhere; and with one operand trained, the others not."""
import numpy as np

CASES = {}


def op_case(name, shapes, build, *, domain=(-1, 1), alone=True):
    """`shapes`: of the trained operands. build(program, *operands) returns what the
    op returns. `domain`: of the parameters; a positive one stays positive."""

    def write(p):
        x = [p.param(f"p{i}", s, *domain) for i, s in enumerate(shapes)]
        inner = [p.unary("act.tanh", v) for v in x]
        uses = [x, inner]
        if alone and len(x) > 1:
            frozen = [p.constant(p.random(s, *domain)) for s in shapes]
            uses += [frozen[:i] + [x[i]] + frozen[i + 1:] for i in range(len(x))]
        for operands in uses:
            results = build(p, *operands)
            for r in results if isinstance(results, list) else [results]:
                p.add_loss(r)
        for v in inner:
            p.add_loss(v)

    assert name not in CASES, name
    CASES[name] = write


# ---- One element at a time ------------------------------------------------------

BROADCASTS = {
    "same": ((2, 3), (2, 3)), "row": ((2, 3), (3,)), "column": ((2, 3), (2, 1)),
    "scalar": ((2, 3), ()), "lhs-row": ((3,), (2, 3)), "lhs-scalar": ((), (2, 3)),
    "both": ((2, 1, 4), (3, 1)), "ones": ((1, 1), (4, 3)), "middle": ((2, 1, 5), (2, 3, 5)),
    "scalars": ((), ()), "large": ((7, 33, 19), (33, 1)),
}


def result_of(*shapes):
    return np.broadcast_shapes(*shapes)


for op in ("add", "sub", "mul", "div"):
    for kind, shapes in BROADCASTS.items():
        op_case(f"{op}-{kind}", shapes,
                lambda p, a, b, op=op: p.apply(f"act.{op}", [a, b], result_of(a.shape, b.shape)),
                domain=(0.5, 1.5) if op == "div" else (-1, 1))
    op_case(f"{op}-itself", [(2, 3)],
            lambda p, a, op=op: p.apply(f"act.{op}", [a, a], a.shape), domain=(0.5, 1.5))
for factor in ("0.7", "-2.0", "0.0", "1.0"):
    op_case(f"scale-{factor}", [(3, 5)],
            lambda p, x, f=factor: p.unary("act.scale", x, f"by {f}"))
for op in ("silu", "gelu", "gelu_new", "tanh"):
    for shape in ((), (5,), (3, 41)):
        op_case(f"{op}-{len(shape)}d", [shape], lambda p, x, op=op: p.unary(f"act.{op}", x),
                domain=(-4, 4))
for name, op, option in (("swiglu", "swiglu", ""), ("geglu", "geglu", ""),
                         ("geglu-tanh", "geglu", "tanh")):
    op_case(name, [(3, 7), (3, 7)], lambda p, g, u, op=op, o=option:
            p.op(f"act.{op} {g}, {u} {o} : {g.type}", g.shape), domain=(-3, 3))


def dropout(p, x, rate):
    return p.op(f"act.dropout {x} p {rate} rng({p.generator()}) : {x.type}", x.shape)


for rate in ("0.0", "0.1", "0.75"):
    op_case(f"dropout-{rate}", [(5, 13)], lambda p, x, r=rate: dropout(p, x, r))

SELECTS = {
    "same": ((3, 4), (3, 4), (3, 4)), "mask-row": ((4,), (3, 4), (3, 4)),
    "mask-wide": ((2, 3, 4), (3, 4), (4,)), "scalar-false": ((3, 4), (3, 4), ()),
    "scalar-true": ((3, 4), (), (3, 1)),
}
for kind, (m, t, f) in SELECTS.items():
    def select(p, a, b, m=m):
        mask = p.input("mask", np.arange(int(np.prod(m))).reshape(m) % 3 != 1)
        return p.apply("act.select", [mask, a, b], result_of(m, a.shape, b.shape))
    op_case(f"select-{kind}", [t, f], select)


def and_masks(p, a, b):
    rows = p.input("rows", np.array([[True], [False], [True]]))
    columns = p.input("columns", np.array([True, True, False, True]))
    both = p.apply("act.and", [rows, columns], ((3, 4), "i1"))
    return p.apply("act.select", [both, a, b], (3, 4))


op_case("select-and", [(3, 4), (3, 4)], and_masks)


def hide(p, x):
    mask = p.input("hide", np.array([True, False, True]))
    visible = p.op(f"act.not {mask} : {mask.type}", ((3,), "i1"))
    return p.apply("act.select", [visible, x, p.constant(np.zeros((2, 3)))], (2, 3))


op_case("select-not", [(2, 3)], hide)


# A cast rounds, so the loss is a staircase. On values that every type holds, with a
# step that stays among them, its differences are exact.
def cast_case(name, chain, integers=4):
    def write(p):
        p.step_size, p.tolerance, p.directions = 1.0, 1e-12, 0
        whole = p.rng.integers(-integers, integers + 1, (3, 5)).astype(np.float64)
        x = p.param("x", (3, 5), value=whole)
        for to in chain:
            x = p.op(f"act.cast {x} : {x.type} to tensor<3x5x{to}>", ((3, 5), to))
        c = p.constant(p.rng.integers(1, 5, (3, 5)).astype(np.float64))
        p.add_scalar(p.total(p.apply("act.mul", [x, c], (3, 5))))
    CASES[name] = write


for chain in (["f32", "f64"], ["bf16", "f64"], ["f16", "f64"], ["f32", "bf16", "f32", "f64"],
              ["f64"], ["f8E4M3FN", "f64"]):
    cast_case("cast-" + "-".join(chain), chain)


def cast_integers(p, x):
    counts = p.input("counts", np.arange(6, dtype=np.int32).reshape(2, 3))
    flags = p.input("flags", np.array([True, False, True]))
    a = p.op(f"act.cast {counts} : {counts.type} to tensor<2x3xf64>", (2, 3))
    b = p.op(f"act.cast {flags} : {flags.type} to tensor<3xf64>", (3,))
    y = p.apply("act.mul", [x, a], (2, 3))
    return p.apply("act.add", [y, p.apply("act.mul", [y, b], (2, 3))], (2, 3))


op_case("cast-integers", [(2, 3)], cast_integers)

# ---- Shapes ---------------------------------------------------------------------


def reshaped(p, op, x, to):
    return p.op(f"{op} {x} : {x.type} -> tensor<{''.join(f'{n}x' for n in to)}f64>", to)


for shape, permutation in (((2, 3), [1, 0]), ((2, 3, 4), [0, 2, 1]), ((2, 3, 4), [2, 0, 1]),
                           ((2, 3, 4, 5), [0, 2, 1, 3]), ((2, 3, 4, 5), [3, 2, 1, 0]),
                           ((37, 50), [1, 0]), ((4,), [0])):
    op_case(f"transpose-{'x'.join(map(str, shape))}-{''.join(map(str, permutation))}", [shape],
            lambda p, x, q=permutation: p.op(
                f"act.transpose {x} {q} : {x.type} -> "
                f"tensor<{''.join(f'{x.shape[i]}x' for i in q)}f64>", [x.shape[i] for i in q]))
for a, b in (((2, 6), (3, 4)), ((2, 3, 4), (24,)), ((1, 1), ()), ((), (1, 1)), ((12,), (2, 3, 2))):
    op_case(f"reshape-{a}-{b}".replace(" ", ""), [a],
            lambda p, x, b=b: reshaped(p, "act.reshape", x, b))
for small, large in (((3, 1), (3, 4)), ((2, 3), (6, 3)), ((2, 2, 3), (2, 6, 3)), ((1, 1), (5, 7)),
                     ((2, 3), (4, 9)), ((2, 3), (2, 3))):
    op_case(f"expand-{small}-{large}".replace(" ", ""), [small],
            lambda p, x, to=large: reshaped(p, "act.expand", x, to))
    op_case(f"sum_to-{large}-{small}".replace(" ", ""), [large],
            lambda p, x, to=small: reshaped(p, "act.sum_to", x, to))
op_case("sum_to-large", [(70, 45)], lambda p, x: reshaped(p, "act.sum_to", x, (1, 45)))


def split(p, x, sizes):
    lead = "".join(f"{n}x" for n in x.shape[:-1])
    types = ", ".join(f"tensor<{lead}{n}xf64>" for n in sizes)
    parts = p.op(f"act.split {x} : {x.type} -> {types}", *[x.shape[:-1] + (n,) for n in sizes])
    return parts if isinstance(parts, list) else [parts]


op_case("split", [(3, 9)], lambda p, x: split(p, x, (2, 4, 3)))
op_case("split-1d", [(9,)], lambda p, x: split(p, x, (8, 1)))
op_case("split-whole", [(3, 4)], lambda p, x: split(p, x, (4,)))
op_case("split-unused-part", [(3, 9)], lambda p, x: split(p, x, (2, 4, 3))[1])
op_case("split-products", [(3, 8)], lambda p, x: p.apply("act.mul", split(p, x, (4, 4)), (3, 4)))
op_case("concat", [(3, 2), (3, 4), (3, 1)],
        lambda p, *parts: p.apply("act.concat", parts, (3, 7)))
op_case("concat-4d", [(2, 3, 2, 5), (2, 3, 2, 3)],
        lambda p, a, b: p.apply("act.concat", [a, b], (2, 3, 2, 8)))
op_case("concat-itself", [(3, 2)], lambda p, a: p.apply("act.concat", [a, a], (3, 4)))
op_case("concat-one", [(3, 2)], lambda p, a: p.apply("act.concat", [a], (3, 2)))

# ---- Products -------------------------------------------------------------------


def matmul(p, a, b, m, n, flags):
    return p.apply("act.matmul", [a, b], a.shape[:-2] + (m, n), options=flags)


for sizes, tag in (((3, 4, 5), ""), ((1, 1, 1), "-ones"), ((33, 65, 17), "-large")):
    m, k, n = sizes
    for tl in (0, 1):
        for tr in (0, 1):
            flags = " ".join(["transpose_lhs"] * tl + ["transpose_rhs"] * tr)
            end = tag + (f"-{flags}" if flags else "").replace(" ", "-").replace("transpose_", "t")
            l, r = (k, m) if tl else (m, k), (n, k) if tr else (k, n)
            build = lambda p, a, b, m=m, n=n, f=flags: matmul(p, a, b, m, n, f)
            op_case("matmul" + end, [l, r], build)
            op_case("matmul-batched" + end, [(2,) + l, (2,) + r], build)
            op_case("matmul-shared" + end, [(2,) + l, r], build)
            if not tag:
                op_case("matmul-batched4d" + end, [(2, 3) + l, (2, 3) + r], build)
                op_case("matmul-shared4d" + end, [(2, 3) + l, r], build)
op_case("matmul-square", [(4, 4)], lambda p, a: matmul(p, a, a, 4, 4, "transpose_rhs"))


def linear(p, x, w, *more, bias=False, in_out=False, lora=False):
    more = list(more)
    out = w.shape[1] if in_out else w.shape[0]
    text, operands = f"act.linear {x}, {w}", [x, w, *more]
    if bias:
        text += f" bias({more.pop(0)})"
    if lora:
        text += f" lora({more[0]}, {more[1]}, 1.7)"
    if in_out:
        text += " in_out"
    types = ", ".join(v.type for v in operands)
    result = x.shape[:-1] + (out,)
    return p.op(f"{text} : ({types}) -> tensor<{''.join(f'{n}x' for n in result)}f64>", result)


for bias in (False, True):
    for in_out in (False, True):
        for lora in (False, True):
            shapes = [(2, 3, 5), (5, 4) if in_out else (4, 5)] + [(4,)] * bias \
                + [(2, 5), (4, 2)] * lora
            tag = "".join(f"-{t}" for t, on in
                          (("bias", bias), ("in_out", in_out), ("lora", lora)) if on)
            build = lambda p, *v, o=dict(bias=bias, in_out=in_out, lora=lora): linear(p, *v, **o)
            op_case("linear" + tag, shapes, build)
            op_case("linear-matrix" + tag, [(3, 5)] + shapes[1:], build, alone=False)
            op_case("linear-vector" + tag, [(5,)] + shapes[1:], build, alone=False)
op_case("linear-large", [(3, 17, 40), (70, 40), (70,)],
        lambda p, x, w, b: linear(p, x, w, b, bias=True))


def nf4_linear(p, x, *lora, in_out=False, bias=False):
    shape = (8, 16) if in_out else (16, 8)
    p.count += 1
    w = p.param(f"w{p.count}", shape, dtype="!act.nf4<block = 64>", frozen=True)
    return linear(p, x, w, *lora, in_out=in_out, bias=bias, lora=len(lora) > 1)


op_case("linear-nf4", [(3, 8)], nf4_linear)
op_case("linear-nf4-in_out", [(3, 8)], lambda p, x: nf4_linear(p, x, in_out=True))
op_case("linear-nf4-bias", [(3, 8), (16,)], lambda p, x, b: nf4_linear(p, x, b, bias=True))
op_case("linear-nf4-lora", [(3, 8), (2, 8), (16, 2)], nf4_linear)

# ---- Norms ----------------------------------------------------------------------


def norm(p, x, w, *b, eps="1.0e-3"):
    op = "act.layer_norm" if b else "act.rms_norm"
    return p.apply(op, [x, w, *b], x.shape, options=f"eps {eps}")


for shape in ((7,), (3, 5), (2, 3, 4), (2, 3, 2, 6), (9, 130), (4, 1)):
    tag = "x".join(map(str, shape))
    weight = shape[-1:]
    op_case(f"rms_norm-{tag}", [shape, weight], norm)
    op_case(f"layer_norm-{tag}", [shape, weight, weight], norm)
op_case("rms_norm-small-eps", [(3, 5), (5,)], lambda p, x, w: norm(p, x, w, eps="1.0e-12"))
op_case("layer_norm-large-eps", [(3, 5), (5,), (5,)],
        lambda p, x, w, b: norm(p, x, w, b, eps="10.0"))

# ---- Rotary embedding, softmax -----------------------------------------------------


def rope(p, x, flags, table):
    heads_first = "heads_first" in flags
    s, half = x.shape[-2 if heads_first else -3], x.shape[-1] // 2
    if table is None:
        angle = p.random((s, half), -3, 3)
        cos, sin = p.constant(np.cos(angle)), p.constant(np.sin(angle))
    else:
        positions = p.op("act.positions", ((s,), "i32"), suffix=True)
        cos, sin = p.op(f"act.rope_table {positions} {table} : tensor<{s}xi32> -> "
                        f"tensor<{s}x{half}xf64>", (s, half), (s, half))
    return p.op(f"act.rope {x}, {cos}, {sin} {flags} : {x.type}, {cos.type}", x.shape)


for flags in ("", "interleaved", "heads_first", "interleaved heads_first", "inverse",
              "interleaved heads_first inverse"):
    shape = (2, 3, 5, 6) if "heads_first" in flags else (2, 5, 3, 6)
    op_case(f"rope-{flags.replace(' ', '-') or 'half'}", [shape],
            lambda p, x, f=flags: rope(p, x, f, None))
op_case("rope-3d", [(5, 3, 6)], lambda p, x: rope(p, x, "", None))
op_case("rope-2d-heads_first", [(5, 6)], lambda p, x: rope(p, x, "heads_first", None))
for name, table in (("table", "theta 100.0"), ("linear", "theta 100.0 linear(3.0)"),
                    ("llama3", "theta 100.0 llama3 [8.0, 1.0, 4.0, 16.0]")):
    op_case(f"rope-{name}", [(2, 9, 3, 8)], lambda p, x, t=table: rope(p, x, "", t))
for shape, axis in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 0), ((2, 3, 4), 1),
                    ((2, 3, 4, 5), 2), ((2, 3, 4, 5), 3), ((6, 200), 1), ((3, 1), 1)):
    op_case(f"softmax-{'x'.join(map(str, shape))}-axis{axis}", [shape],
            lambda p, x, a=axis: p.unary("act.softmax", x, f"axis {a}"), domain=(-3, 3))


def masked_softmax(p, x):
    hidden = p.op("act.constant dense<0xFFF0000000000000> : tensor<f64>", ())
    seen = p.op("act.causal_mask window(3)", ((6, 6), "i1"), suffix=True)
    if x.shape[0] > 1:
        pad = p.input("padding", np.array([[[1] * 6], [[0] * 6]], bool))
        seen = p.apply("act.and", [seen, pad], ((2, 6, 6), "i1"))
    y = p.apply("act.select", [seen, x, hidden], x.shape)
    return p.unary("act.softmax", y, f"axis {len(x.shape) - 1}")


op_case("softmax-masked", [(1, 6, 6)], masked_softmax)
op_case("softmax-rows-of-nothing", [(2, 6, 6)], masked_softmax)

# ---- Tokens and losses -------------------------------------------------------------


def embedding(p, table, ids, dtype=np.int32, padding=None):
    ids = p.input("ids", np.array(ids, dtype))
    option = "" if padding is None else f" padding_idx({padding})"
    return p.apply("act.embedding", [table, ids], ids.shape + table.shape[1:], options=option)


IDS = [[4, 0, 4], [2, 4, 6]]
op_case("embedding", [(7, 3)], lambda p, t: embedding(p, t, IDS))
op_case("embedding-i64", [(7, 3)], lambda p, t: embedding(p, t, IDS, np.int64))
op_case("embedding-1d", [(7, 3)], lambda p, t: embedding(p, t, [1, 1, 1, 5]))
op_case("embedding-large", [(40, 33)], lambda p, t: embedding(p, t, np.arange(60) * 7 % 40))


def labels_of(p, shape, classes, kind):
    """All ids, some ignored, or none but ignored."""
    labels = np.random.default_rng(4).integers(0, classes, shape)
    if kind == "ignored":
        labels.flat[::3] = -100
    if kind == "nothing":
        labels[...] = -100
    if kind == "ignore-a-class":
        labels.flat[::3] = 2
    return p.input("labels", labels.astype(np.int32)), 2 if kind == "ignore-a-class" else -100


def cross_entropy(p, x, reduction, kind):
    labels, ignore = labels_of(p, x.shape[:-1], x.shape[-1], kind)
    return p.apply("act.cross_entropy", [x, labels],
                   labels.shape if reduction == "none" else (),
                   options=f"ignore {ignore} reduction {reduction}")


for reduction in ("mean", "sum", "none"):
    for kind in ("all", "ignored", "ignore-a-class"):
        for shape in ((2, 3, 7), (5, 4)):
            op_case(f"cross_entropy-{reduction}-{kind}-{len(shape)}d", [shape],
                    lambda p, x, r=reduction, k=kind: cross_entropy(p, x, r, k), domain=(-3, 3))
op_case("cross_entropy-scalar", [(6,)], lambda p, x: cross_entropy(p, x, "mean", "all"))
op_case("cross_entropy-large", [(20, 300)], lambda p, x: cross_entropy(p, x, "mean", "ignored"))


def weighted_by_label_count(p, x):
    """sum / label_count is mean, written by hand."""
    loss = cross_entropy(p, x, "sum", "ignored")
    labels, ignore = labels_of(p, x.shape[:-1], x.shape[-1], "ignored")
    n = p.op(f"act.label_count {labels} ignore {ignore} : {labels.type} -> tensor<f64>", ())
    return p.apply("act.div", [loss, n], ())


op_case("label_count", [(2, 3, 7)], weighted_by_label_count)


def head(p, x, w, reduction, kind, chunk, bias=None):
    labels, ignore = labels_of(p, x.shape[:-1], w.shape[0], kind)
    with_bias, types = (f" bias({bias})", f"{bias.type}, ") if bias else ("", "")
    shape = labels.shape if reduction == "none" else ()
    result = "".join(f"{n}x" for n in shape)
    return p.op(f"act.linear_cross_entropy {x}, {w}{with_bias}, {labels} ignore {ignore} "
                f"reduction {reduction} chunk {chunk} : ({x.type}, {w.type}, {types}"
                f"{labels.type}) -> tensor<{result}f64>", shape)


for reduction in ("mean", "sum", "none"):
    for kind in ("all", "ignored"):
        # 3 chunks; parts of 5 or 30 would begin in the middle of 64 bytes.
        for chunk in (5, 16, 30, 48, 1024):
            op_case(f"linear_cross_entropy-{reduction}-{kind}-chunk{chunk}", [(2, 24, 5), (7, 5)],
                    lambda p, x, w, r=reduction, k=kind, c=chunk: head(p, x, w, r, k, c))
    # Two chunks of 16, and 5 tokens that are left over.
    op_case(f"linear_cross_entropy-{reduction}-prime", [(37, 5), (7, 5)],
            lambda p, x, w, r=reduction: head(p, x, w, r, "ignored", 16))
    for chunk in (16, 1024):
        op_case(f"linear_cross_entropy-{reduction}-bias-chunk{chunk}", [(37, 5), (7, 5), (7,)],
                lambda p, x, w, b, r=reduction, c=chunk: head(p, x, w, r, "ignored", c, b))
op_case("linear_cross_entropy-2d", [(6, 5), (7, 5)],
        lambda p, x, w: head(p, x, w, "mean", "ignored", 6))
op_case("linear_cross_entropy-large", [(2, 32, 20), (150, 20)],
        lambda p, x, w: head(p, x, w, "mean", "ignored", 16))
