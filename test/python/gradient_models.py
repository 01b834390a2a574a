# SPDX-License-Identifier: Apache-2.0
"""The cases of gradients.py that are more than one op: repeated layers with what they
share, parameters used in several places, and small models."""
import numpy as np

from central_differences import Program
from gradient_attention import ALIBI, attention
from gradient_ops import cross_entropy, dropout, embedding, head, linear, norm, rope

CASES = {}
REFUSED = {}  # name -> function that writes the module, message


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


class Layer(Program):
    """The function of a layer, written with a Program's ops: its parameters and inputs
    are declared in `outer`."""

    def __init__(self, outer, name, carried, shared=(), index=False):
        super().__init__(1)
        self.outer, self.name, self.index = outer, name, index
        self.operands = list(carried) + list(shared)
        self.carried = len(carried)
        self.count = 1000 * (1 + len(outer.functions))
        self.values = [type(v)(f"%a{i}", v.shape, v.dtype) for i, v in enumerate(self.operands)]
        self.generator_arguments = False

    def declare(self, *arguments, **named):
        return self.outer.declare(*arguments, **named)

    def layered(self, name, layers, shape, low=-1.0, high=1.0):
        self.outer.declare(name, shape, self.outer.random((layers,) + shape, low, high),
                           layers=layers)
        return self.read(name, shape)

    def generator(self, site=5):
        self.generator_arguments = True
        layer = " layer(%l)" if self.index else ""
        self.count += 1
        self.body.append(f"%site{self.count} = act.site {site}{layer} : i64")
        return f"%seed, %step, %site{self.count}"

    def repeat(self, results, count, options="", letter="L"):
        """Ends the function and calls it `count` times."""
        extra = ["seed", "step"] if self.generator_arguments else []
        arguments = ["%l: i64"] * self.index + [f"{v}: {v.type}" for v in self.values] \
            + [f"%{e}: i64" for e in extra]
        types = ", ".join(r.type for r in results)
        self.outer.functions += [
            f"func.func @{self.name}({', '.join(arguments)}) -> ({types}) {{",
            *("  " + line for line in self.body),
            f"  return {', '.join(map(str, results))} : {types}", "}"]
        if extra:
            self.outer.generator()
        shared = [str(v) for v in self.operands[self.carried:]] + [f"%{e}" for e in extra]
        text = f"act.repeat @{self.name} count({letter} = {count}) {options} " \
            f"carry({', '.join(map(str, self.operands[:self.carried]))})"
        text += f" shared({', '.join(shared)})" if shared else ""
        inputs = ", ".join([v.type for v in self.operands] + ["i64"] * len(extra))
        return self.outer.op(f"{text} : ({inputs}) -> ({types})", *[r.shape for r in results])


@case
def repeat_carried(p):
    """Parameters of layers, and one that all layers use."""
    x = p.param("x", (2, 5))
    f = Layer(p, "layer", [x])
    (a,) = f.values
    y = linear(f, a, f.layered("w", 3, (5, 5)))
    y = f.apply("act.mul", [f.unary("act.tanh", y), f.param("scale", (5,))], (2, 5))
    y = f.repeat([f.apply("act.add", [a, y], (2, 5))], 3)
    p.add_loss(y)
    p.add_loss(x)


@case
def repeat_two_carried(p):
    """The carried values change places."""
    x, z = p.param("x", (2, 5)), p.param("z", (2, 5))
    f = Layer(p, "layer", [x, z])
    a, b = f.values
    y = f.apply("act.mul", [f.unary("act.silu", a), b], (2, 5))
    y = linear(f, y, f.layered("w", 3, (5, 5)))
    out = f.repeat([f.apply("act.add", [b, y], (2, 5)), a], 3)
    for y in out:
        p.add_loss(y)


@case
def repeat_one_result_unused(p):
    x, z = p.param("x", (2, 5)), p.param("z", (2, 5))
    f = Layer(p, "layer", [x, z])
    a, b = f.values
    y = f.apply("act.mul", [f.unary("act.silu", a), b], (2, 5))
    out = f.repeat([linear(f, y, f.layered("w", 3, (5, 5))), f.unary("act.tanh", b)], 3)
    p.add_loss(out[0])


@case
def repeat_shared_with_gradient(p):
    """A shared value that is computed from parameters, used elsewhere too, beside one
    that has no gradient."""
    x, s = p.param("x", (2, 5)), p.param("s", (5,))
    t = p.unary("act.tanh", s)
    f = Layer(p, "layer", [x], [t, p.constant(p.random((2, 5)))])
    a, b, c = f.values
    y = f.apply("act.mul", [linear(f, a, f.layered("w", 3, (5, 5))), b], (2, 5))
    y = f.apply("act.add", [f.unary("act.gelu", y), c], (2, 5))
    p.add_loss(f.repeat([y], 3))
    p.add_loss(t)


@case
def repeat_shared_parameter(p):
    """A parameter is passed as shared value and used outside."""
    x, s = p.param("x", (2, 5)), p.param("s", (5,))
    f = Layer(p, "layer", [x], [s])
    a, b = f.values
    y = f.unary("act.silu", f.apply("act.mul", [a, b], (2, 5)))
    p.add_loss(f.repeat([f.apply("act.add", [a, y], (2, 5))], 4))
    p.add_loss(p.unary("act.tanh", s))


@case
def repeat_layer_index(p):
    """Dropout that differs from layer to layer."""
    x = p.param("x", (3, 7))
    f = Layer(p, "layer", [x], index=True)
    (a,) = f.values
    y = dropout(f, linear(f, a, f.layered("w", 3, (7, 7))), 0.3)
    p.add_loss(f.repeat([f.apply("act.add", [f.unary("act.tanh", a), y], (3, 7))], 3))


def part(p, x, name, start, count, letter, options=""):
    f = Layer(p, name, [x])
    (a,) = f.values
    y = linear(f, a, f.read("w", (5, 5)))
    y = f.unary("act.tanh", f.apply("act.mul", [y, f.param(f"{name}_s", (5,))], (2, 5)))
    return f.repeat([f.apply("act.add", [a, y], (2, 5))], count,
                    (f"from({start}) " if start else "") + options, letter)


@case
def repeat_two_ranges(p):
    """Layers 0 and 1 by one function, 2 to 4 by another, 2 to 4 again by a third."""
    x = p.param("x", (2, 5))
    p.declare("w", (5, 5), p.random((5, 5, 5)), layers=5)
    y = part(p, x, "first", 0, 2, "A")
    y = part(p, y, "second", 2, 3, "B")
    p.add_loss(part(p, y, "third", 2, 3, "B"))


@case
def repeat_reverse(p):
    p.layers = 1  # cannot be cut into segments
    x = p.param("x", (2, 5))
    p.declare("w", (5, 5), p.random((3, 5, 5)), layers=3)
    p.add_loss(part(p, x, "layer", 0, 3, "L", "reverse"))


@case
def repeat_same_function_twice(p):
    """One function called by two repeats: its parameters have both gradients."""
    x = p.param("x", (2, 5))
    f = Layer(p, "layer", [x])
    (a,) = f.values
    y = f.repeat([f.unary("act.tanh", linear(f, a, f.layered("w", 2, (5, 5))))], 2)
    y = p.op(f"act.repeat @layer count(L = 2) carry({y}) : ({y.type}) -> {y.type}", y.shape)
    p.add_loss(y)


@case
def repeat_once(p):
    p.layers = 1
    x = p.param("x", (2, 5))
    f = Layer(p, "layer", [x])
    (a,) = f.values
    p.add_loss(f.repeat([f.unary("act.tanh", linear(f, a, f.layered("w", 1, (5, 5))))], 1))


def transformer(p, *, packed=False, tied=True, fused=False, rate=None, norm_of=norm, heads=4,
                kv=2, layers=3, parallel=False):
    """Embedding, `layers` of attention and mlp, head. `fused`: the head's loss is one
    op; `parallel`: attention and mlp read the same norm."""
    b, s, h, d, v = 2, 16, 8, 6, 11
    p.step_size, p.elements = 2e-5, 5
    table = p.param("embed", (v, h), -1, 1)
    ids = p.rng.integers(0, v, (b, s))
    x = embedding(p, table, ids)
    angle = p.random((s, d // 2), -3, 3)
    cos, sin = p.constant(np.cos(angle)), p.constant(np.sin(angle))
    f = Layer(p, "layer", [x], [cos, sin], index=rate is not None)
    a, c, t = f.values

    def project(x, name, n):
        return linear(f, x, f.layered(name, layers, (n, x.shape[-1])))

    def turned(x, n):
        x = f.op(f"act.reshape {x} : {x.type} -> tensor<{b}x{s}x{n}x{d}xf64>", (b, s, n, d))
        return f.op(f"act.rope {x}, {c}, {t} : {x.type}, {c.type}", x.shape)

    n1 = norm(f, a, f.layered("n1", layers, (h,), 0.5, 1.5))
    q, k, w = project(n1, "q", heads * d), project(n1, "k", kv * d), project(n1, "v", kv * d)
    w = f.op(f"act.reshape {w} : {w.type} -> tensor<{b}x{s}x{kv}x{d}xf64>", (b, s, kv, d))
    o = attention(f, turned(q, heads), turned(k, kv), w, causal=True, dropout=rate)
    o = f.op(f"act.reshape {o} : {o.type} -> tensor<{b}x{s}x{heads * d}xf64>", (b, s, heads * d))
    o = project(o, "o", h)
    if rate is not None:
        o = dropout(f, o, rate)
    x1 = f.apply("act.add", [a, o], (b, s, h))
    n2 = n1 if parallel else norm(f, x1, f.layered("n2", layers, (h,), 0.5, 1.5))
    g, u = project(n2, "gate", 10), project(n2, "up", 10)
    m = f.op(f"act.swiglu {g}, {u} : {g.type}", g.shape)
    y = f.repeat([f.apply("act.add", [x1, project(m, "down", h)], (b, s, h))], layers)
    y = norm(p, y, p.param("norm", (h,), 0.5, 1.5))
    weight = table if tied else p.param("head", (v, h))
    if fused:
        p.add_scalar(head(p, y, weight, "mean", "ignored", 16))
    else:
        p.add_scalar(cross_entropy(p, linear(p, y, weight), "mean", "ignored"))


for options in (dict(), dict(tied=False), dict(fused=True), dict(fused=True, tied=False),
                dict(rate=0.2), dict(rate=0.2, fused=True), dict(parallel=True), dict(layers=5)):
    tag = "".join(f"-{k}" if v is True else f"-{k}-{v}" if v else f"-not-{k}"
                  for k, v in options.items())
    CASES[f"transformer{tag}"] = lambda p, o=options: transformer(p, **o)


@case
def tied_everywhere(p):
    """One matrix as table, projection both ways and fused head."""
    w = p.param("w", (7, 5))
    x = embedding(p, w, np.arange(48).reshape(2, 24) * 5 % 7)
    y = p.unary("act.tanh", linear(p, x, w))
    y = linear(p, y, w, in_out=True)
    p.add_scalar(head(p, p.apply("act.add", [x, y], y.shape), w, "mean", "ignored", 16))
    p.add_loss(w)


@case
def parameter_read_several_times(p):
    p.declare("w", (3, 4), p.random((3, 4)))
    reads = [p.read("w", (3, 4)) for _ in range(3)]
    y = p.apply("act.mul", [p.unary("act.tanh", reads[0]), reads[1]], (3, 4))
    p.add_loss(p.apply("act.add", [y, reads[2]], (3, 4)))


@case
def frozen_base_with_lora(p):
    x = p.param("x", (4, 6), frozen=True)
    w, b = p.param("w", (5, 6), frozen=True), p.param("b", (5,), frozen=True)
    y = linear(p, x, w, b, p.param("A", (2, 6)), p.param("B", (5, 2)), bias=True, lora=True)
    p.add_loss(p.unary("act.silu", y))


@case
def head_of_a_computed_weight(p):
    """The fused loss's weight is a value: product of two parameters, used elsewhere."""
    x, a, b = p.param("x", (2, 16, 5)), p.param("a", (7, 3)), p.param("b", (3, 5))
    w = p.apply("act.matmul", [a, b], (7, 5))
    p.add_scalar(head(p, p.unary("act.tanh", x), w, "sum", "ignored", 16))
    p.add_loss(w)


@case
def head_of_a_frozen_weight(p):
    x, w = p.param("x", (2, 16, 5)), p.param("w", (7, 5), frozen=True)
    p.add_scalar(head(p, x, w, "mean", "ignored", 16))


@case
def head_of_a_frozen_input(p):
    x, w = p.param("x", (2, 16, 5), frozen=True), p.param("w", (7, 5))
    p.add_scalar(head(p, x, w, "mean", "ignored", 16))


@case
def attention_in_primitives(p):
    """softmax(scale Q K^T + mask) V, as the importer writes it."""
    b, n, s, d = 2, 2, 5, 3
    q, k, v = (p.param(x, (b, n, s, d)) for x in "qkv")
    scores = p.apply("act.matmul", [q, k], (b, n, s, s), options="transpose_rhs")
    scores = p.unary("act.scale", scores, "by 0.6")
    seen = p.op("act.causal_mask", ((s, s), "i1"), suffix=True)
    hidden = p.op("act.constant dense<0xFFF0000000000000> : tensor<f64>", ())
    scores = p.apply("act.select", [seen, scores, hidden], scores.shape)
    p.add_loss(p.apply("act.matmul", [p.unary("act.softmax", scores, "axis 3"), v], q.shape))


@case
def attention_of_one_value(p):
    """q, k and v are the same value, which is used elsewhere."""
    x = p.unary("act.tanh", p.param("x", (2, 5, 3, 4)))
    y = attention(p, x, x, x, causal=True, score=ALIBI)
    p.add_loss(p.apply("act.mul", [y, x], x.shape))


@case
def values_that_lead_nowhere(p):
    """Parts without a gradient stay zero and disturb nothing."""
    x, y = p.param("x", (3, 4)), p.param("unused", (3, 4))
    p.zero = {"unused"}
    p.unary("act.tanh", y)
    p.add_loss(p.unary("act.silu", x))


# ---- What has no gradient is refused, not left out -----------------------------------


def refused(message):
    def add(function):
        REFUSED[function.__name__.replace("_", "-")] = function, message
        return function
    return add


@refused("'act.rope' op has no gradient for its tables")
def rope_of_trained_tables(p):
    x, c, s = p.param("x", (1, 3, 2, 4)), p.param("cos", (3, 2)), p.param("sin", (3, 2))
    p.add_loss(p.op(f"act.rope {x}, {c}, {s} : {x.type}, {c.type}", x.shape))


@refused("'act.cross_entropy' op has no gradient for its log-sum-exp")
def log_sum_exp_of_cross_entropy(p):
    x, labels = p.param("x", (3, 4)), p.input("labels", np.array([0, 3, 1], np.int32))
    loss, lse = p.apply("act.cross_entropy", [x, labels], (), (3,),
                        options="ignore -100 reduction mean")
    p.add_scalar(loss)
    p.add_loss(lse)


@refused("'act.linear_cross_entropy' op has no gradient for its log-sum-exp")
def log_sum_exp_of_a_head(p):
    x, w = p.param("x", (3, 5)), p.param("w", (4, 5))
    labels = p.input("labels", np.array([0, 3, 1], np.int32))
    loss, lse = p.apply("act.linear_cross_entropy", [x, w, labels], (), (3,),
                        options="ignore -100 reduction mean chunk 3")
    p.add_scalar(loss)
    p.add_loss(lse)


@refused("'act.attention' op has no gradient for its log-sum-exp")
def log_sum_exp_of_attention(p):
    q, k, v = (p.param(n, (1, 3, 2, 4)) for n in "qkv")
    y, lse = p.apply("act.attention", [q, k, v], q.shape, (1, 2, 3), options="scale 0.5")
    p.add_loss(y)
    p.add_loss(lse)


@refused("'act.rms_norm' op has no gradient for its rstd")
def statistics_of_rms_norm(p):
    x, w = p.param("x", (3, 4)), p.param("w", (4,))
    y, rstd = p.apply("act.rms_norm", [x, w], x.shape, (3,), options="eps 0.1")
    p.add_loss(y)
    p.add_loss(rstd)


@refused("'act.layer_norm' op has no gradient for its mean and rstd")
def statistics_of_layer_norm(p):
    x, w, b = p.param("x", (3, 4)), p.param("w", (4,)), p.param("b", (4,))
    y, mean, _ = p.apply("act.layer_norm", [x, w, b], x.shape, (3,), (3,), options="eps 0.1")
    p.add_loss(y)
    p.add_loss(mean)


@refused("the loss depends on no parameter that is trained")
def nothing_trained(p):
    p.add_loss(p.unary("act.tanh", p.constant(p.random((3, 4)))))
