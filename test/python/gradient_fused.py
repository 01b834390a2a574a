# SPDX-License-Identifier: Apache-2.0
"""Attention in the spellings of well-known programs, written by hand in f64.

FUSES holds what --fuse-attention has to make act.attention of, ALONE what looks like
attention and has to stay. gradients.py compiles every one with and without the pass:
the loss and all gradients must agree, fused or not."""
import numpy as np

from gradient_ops import dropout

FUSES, ALONE = {}, {}
B, S, HEADS, KV, D, DV = 2, 6, 4, 2, 4, 3
LOWEST = "-3.40282347E+38"
# The first key is always there: a query that sees nothing gives zeros or a mean, by
# spelling.
PADDING = np.array([[1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 0]], bool)


def spelling(cases, heads=HEADS, kv=HEADS, dv=D, tokens_first=False):
    """Calls the function with q, k and v: [b, heads, s, d], or [b, s, heads, d]."""
    def add(function):
        def write(p):
            def operand(name, n, d):
                return p.param(name, (B, S, n, d) if tokens_first else (B, n, S, d), -1.5, 1.5)
            p.add_loss(function(p, operand("q", heads, D), operand("k", kv, D),
                                operand("v", kv, dv)))
        cases[function.__name__.replace("_", "-")] = write
        return function
    return add


# ---- Words --------------------------------------------------------------------

def binary(p, op, x, y):
    return p.apply(f"act.{op}", [x, y], np.broadcast_shapes(x.shape, y.shape))


def number(p, value, shape=(), dtype="f64"):
    out = p.op(f"act.constant dense<{value}>", (shape, dtype), suffix=True)
    return out


def view(p, op, x, shape, options=""):
    target = type(x)("", shape, x.dtype).type
    return p.op(f"act.{op} {x} {options} : {x.type} -> {target}", (shape, x.dtype))


def transpose(p, x, order):
    return view(p, "transpose", x, tuple(x.shape[i] for i in order), str(list(order)))


def reshape(p, x, *shape):
    return view(p, "reshape", x, shape)


def expand(p, x, *shape):
    return view(p, "expand", x, shape)


def cast(p, x, dtype):
    return p.op(f"act.cast {x} : {x.type} to {type(x)('', x.shape, dtype).type}", (x.shape, dtype))


def scale(p, x, factor):
    return p.unary("act.scale", x, f"by {factor}")


def matmul(p, x, y, flags=""):
    m = x.shape[-1 if "transpose_lhs" in flags else -2]
    n = y.shape[-2 if "transpose_rhs" in flags else -1]
    return p.apply("act.matmul", [x, y], x.shape[:-2] + (m, n), options=flags)


def softmax(p, x, axis=None):
    return p.op(f"act.softmax {x} axis {len(x.shape) - 1 if axis is None else axis} : {x.type}",
                (x.shape, x.dtype))


def causal(p, window=None, rows=S):
    return p.op(f"act.causal_mask{f' window({window})' if window else ''}", ((rows, S), "i1"),
                suffix=True)


def padding(p, *shape):
    return reshape(p, p.input("mask", PADDING), *shape)


def both(p, x, y):
    shape = np.broadcast_shapes(x.shape, y.shape)
    return p.apply("act.and", [x, y], (shape, "i1"))


def where(p, mask, x, y):
    return p.apply("act.select", [mask, x, y], np.broadcast_shapes(mask.shape, x.shape, y.shape))


def scores_of(p, q, k):
    return matmul(p, q, k, "transpose_rhs")


def heads_last(p, o):
    o = transpose(p, o, (0, 2, 1, 3))
    return reshape(p, o, B, S, o.shape[2] * o.shape[3])


def repeat_kv(p, x, n=HEADS // KV):
    b, kv, s, d = x.shape
    x = reshape(p, x, b, kv, 1, s, d)
    return reshape(p, expand(p, x, b, kv, n, s, d), b, kv * n, s, d)


# ---- Programs -----------------------------------------------------------------

@spelling(FUSES)
def torch_sdpa_math(p, q, k, v):
    """Both sides scaled by a root, a mask made into a bias, dropout."""
    q, k = scale(p, q, 0.7), scale(p, transpose(p, k, (0, 1, 3, 2)), 0.7)
    bias = where(p, causal(p), number(p, "0.0", (S, S)), number(p, "0xFFF0000000000000", (S, S)))
    weights = softmax(p, binary(p, "add", matmul(p, q, k), bias))
    return matmul(p, dropout(p, weights, 0.25), v)


@spelling(FUSES, kv=KV, dv=DV)
def hugging_face_eager(p, q, k, v):
    """Repeated heads, an additive mask of the lowest number, dropout, value heads of
    another size."""
    k, v = repeat_kv(p, k), repeat_kv(p, v)
    scores = scale(p, matmul(p, q, transpose(p, k, (0, 1, 3, 2))), 0.5)
    allowed = both(p, reshape(p, causal(p), 1, 1, S, S), padding(p, B, 1, 1, S))
    bias = where(p, allowed, number(p, "0.0", (B, 1, S, S)), number(p, LOWEST, (B, 1, S, S)))
    weights = softmax(p, binary(p, "add", scores, bias))
    return heads_last(p, matmul(p, dropout(p, weights, 0.25), v))


@spelling(FUSES)
def gpt2(p, q, k, v):
    """A division by a tensor, a choice between scores and a filled scalar."""
    scores = binary(p, "div", scores_of(p, q, k), number(p, "2.0", (B, HEADS, S, S)))
    scores = where(p, reshape(p, causal(p), 1, 1, S, S), scores, number(p, LOWEST))
    return heads_last(p, matmul(p, softmax(p, scores), v))


@spelling(FUSES)
def early_gpt2(p, q, k, v):
    """scores * mask - 1e9 * (1 - mask)."""
    mask = cast(p, reshape(p, causal(p), 1, 1, S, S), "f64")
    scores = scale(p, scores_of(p, q, k), 0.5)
    kept = binary(p, "mul", scores, mask)
    bias = scale(p, binary(p, "sub", number(p, "1.0"), mask), "1.0e9")
    return matmul(p, softmax(p, binary(p, "sub", kept, bias)), v)


@spelling(FUSES)
def bert(p, q, k, v):
    mask = cast(p, padding(p, B, 1, 1, S), "f64")
    bias = binary(p, "mul", binary(p, "sub", number(p, "1.0"), mask), number(p, LOWEST))
    scores = binary(p, "div", scores_of(p, q, k), number(p, "2.0"))
    return heads_last(p, matmul(p, softmax(p, binary(p, "add", scores, bias)), v))


@spelling(FUSES)
def bert_decoder(p, q, k, v):
    """The product of two masks as numbers."""
    square = reshape(p, causal(p), 1, 1, S, S)
    mask = binary(p, "mul", cast(p, square, "f64"), cast(p, padding(p, B, 1, 1, S), "f64"))
    bias = scale(p, binary(p, "sub", number(p, "1.0"), mask), LOWEST)
    scores = scale(p, scores_of(p, q, k), 0.5)
    return matmul(p, softmax(p, binary(p, "add", scores, bias)), v)


@spelling(FUSES, tokens_first=True)
def opt(p, q, k, v):
    """Batch and heads in one dimension, but where the mask is added."""
    def flat(x):
        return reshape(p, transpose(p, x, (0, 2, 1, 3)), B * HEADS, S, D)
    scores = scores_of(p, flat(scale(p, q, 0.5)), flat(k))
    scores = reshape(p, scores, B, HEADS, S, S)
    allowed = both(p, reshape(p, causal(p), 1, 1, S, S), padding(p, B, 1, 1, S))
    zero = number(p, "0.0", (B, 1, S, S))
    scores = binary(p, "add", where(p, allowed, zero, number(p, LOWEST)), scores)
    weights = dropout(p, softmax(p, reshape(p, scores, B * HEADS, S, S)), 0.25)
    o = reshape(p, matmul(p, weights, flat(v)), B, HEADS, S, D)
    return heads_last(p, o)


@spelling(FUSES, kv=KV)
def gemma2(p, q, k, v):
    """A softcap, a window, repeated heads."""
    scores = scale(p, scores_of(p, q, repeat_kv(p, k)), 0.5)
    scores = scale(p, p.unary("act.tanh", binary(p, "div", scores, number(p, "1.5"))), 1.5)
    bias = where(p, causal(p, 3), number(p, "0.0"), number(p, LOWEST))
    return matmul(p, softmax(p, binary(p, "add", scores, bias)), repeat_kv(p, v))


@spelling(FUSES, kv=1)
def multi_query(p, q, k, v):
    """One key for all heads, whose queries stand in one dimension."""
    k, v = reshape(p, k, B, S, D), reshape(p, v, B, S, D)
    scores = scores_of(p, reshape(p, q, B, HEADS * S, D), scale(p, k, 0.5))
    scores = reshape(p, scores, B, HEADS, S, S)
    scores = where(p, causal(p), scores, number(p, LOWEST))
    weights = reshape(p, softmax(p, scores), B, HEADS * S, S)
    return reshape(p, matmul(p, weights, v), B, HEADS, S, D)


@spelling(FUSES, kv=1, tokens_first=True)
def gpt_bigcode(p, q, k, v):
    """The same with the tokens of all heads together."""
    k, v = reshape(p, k, B, S, D), reshape(p, v, B, S, D)
    scores = scores_of(p, reshape(p, q, B, S * HEADS, D), k)
    scores = reshape(p, scale(p, scores, 0.5), B, S, HEADS, S)
    allowed = both(p, reshape(p, causal(p), 1, S, 1, S), padding(p, B, 1, 1, S))
    weights = softmax(p, where(p, allowed, scores, number(p, LOWEST)))
    return reshape(p, matmul(p, reshape(p, weights, B, S * HEADS, S), v), B, S, HEADS * D)


@spelling(FUSES, dv=DV)
def keys_times_queries(p, q, k, v):
    """The transpose of everything: softmax over columns."""
    scores = matmul(p, scale(p, k, -0.5), q, "transpose_rhs")
    weights = softmax(p, scores, axis=2)
    return matmul(p, v, weights, "transpose_lhs")


@spelling(FUSES, kv=KV)
def grouped(p, q, k, v):
    """Heads that share a key in a dimension of their own, both kinds of mask."""
    n = HEADS // KV
    q = reshape(p, q, B, KV, n, S, D)
    k, v = (expand(p, reshape(p, x, B, KV, 1, S, D), B, KV, n, S, D) for x in (k, v))
    scores = binary(p, "mul", number(p, "0.5"), scores_of(p, q, k))
    mask = cast(p, padding(p, B, 1, 1, 1, S), "f64")
    bias = scale(p, binary(p, "sub", mask, number(p, "1.0")), "1.0e30")
    scores = binary(p, "add", bias, scores)
    scores = where(p, causal(p, 4), scores, number(p, "0xFFF0000000000000"))
    return reshape(p, matmul(p, softmax(p, scores), v), B, HEADS, S, D)


@spelling(FUSES)
def nested_choices(p, q, k, v):
    scores = scale(p, scores_of(p, q, k), 0.5)
    scores = where(p, padding(p, B, 1, 1, S), scores, number(p, "-1.0e30"))
    scores = where(p, causal(p), scores, number(p, "-1.0e30"))
    return matmul(p, softmax(p, scores), v)


@spelling(FUSES)
def upcast(p, q, k, v):
    """Softmax in another type."""
    scores = scale(p, scores_of(p, q, k), 0.5)
    scores = where(p, causal(p), scores, number(p, "0xFFF0000000000000"))
    p.fused_tolerance = 1e-5
    return matmul(p, cast(p, softmax(p, cast(p, scores, "f32")), "f64"), v)


def not_(p, mask):
    return p.op(f"act.not {mask} : {mask.type}", (mask.shape, "i1"))


@spelling(FUSES)
def masked_fill(p, q, k, v):
    """torch's scores.masked_fill(hide, -inf)."""
    scores = where(p, not_(p, padding(p, B, 1, 1, S)), number(p, LOWEST), scores_of(p, q, k))
    return matmul(p, softmax(p, where(p, causal(p), scores, number(p, LOWEST))), v)


@spelling(FUSES)
def masked_fill_of_pairs(p, q, k, v):
    """A mask for every query and key."""
    hidden = np.random.default_rng(5).random((B, 1, S, S)) < 0.4
    hidden[..., 0] = False
    scores = where(p, p.input("hide", hidden), number(p, LOWEST), scores_of(p, q, k))
    scores = where(p, padding(p, B, 1, 1, S), scores, number(p, LOWEST))
    return matmul(p, softmax(p, scores), v)


@spelling(FUSES)
def mask_of_pairs_for_all(p, q, k, v):
    """[q, k], the same for every row and head of the batch."""
    seen = np.random.default_rng(6).random((S, S)) < 0.6
    seen[:, 0] = True
    scores = where(p, p.input("seen", seen), scale(p, scores_of(p, q, k), 0.5), number(p, LOWEST))
    return matmul(p, softmax(p, scores), v)


@spelling(FUSES)
def t5(p, q, k, v):
    """A bias that is trained."""
    bias = p.param("bias", (1, HEADS, S, S))
    return matmul(p, softmax(p, binary(p, "add", scores_of(p, q, k), bias)), v)


@spelling(FUSES)
def alibi(p, q, k, v):
    """A bias that is a constant tensor."""
    bias = p.constant(-np.arange(1, HEADS + 1)[:, None, None] * np.arange(S) / 8)
    scores = where(p, causal(p), scores_of(p, q, k), number(p, LOWEST))
    return matmul(p, softmax(p, binary(p, "add", scores, bias)), v)


@spelling(FUSES)
def weak_mask(p, q, k, v):
    """-5 is not enough to hide a key: a bias, taken away."""
    mask = cast(p, reshape(p, causal(p), 1, 1, S, S), "f64")
    bias = scale(p, binary(p, "sub", number(p, "1.0"), mask), 5.0)
    scores = scale(p, binary(p, "sub", scores_of(p, q, k), bias), 0.5)
    return matmul(p, softmax(p, scores), v)


@spelling(FUSES)
def sum_of_masks(p, q, k, v):
    """1 - (mask1 + mask2) is no mask, and a bias all the same."""
    square = reshape(p, causal(p), 1, 1, S, S)
    mask = binary(p, "add", cast(p, square, "f64"), cast(p, padding(p, B, 1, 1, S), "f64"))
    bias = scale(p, binary(p, "sub", number(p, "1.0"), mask), -20.0)
    return matmul(p, softmax(p, binary(p, "add", scores_of(p, q, k), bias)), v)


@spelling(FUSES, kv=KV)
def swin(p, q, k, v):
    """A trained bias for all heads of a key, and a mask, under a factor."""
    bias = p.param("bias", (1, KV, 1, S, 1))
    n = HEADS // KV
    q = reshape(p, q, B, KV, n, S, D)
    k, v = (expand(p, reshape(p, x, B, KV, 1, S, D), B, KV, n, S, D) for x in (k, v))
    other = p.param("other", (B, 1, 1, 1, S))
    scores = binary(p, "add", binary(p, "mul", bias, other), scores_of(p, q, k))
    scores = where(p, causal(p, 4), scale(p, scores, 0.5), number(p, "0xFFF0000000000000"))
    return reshape(p, matmul(p, softmax(p, scores), v), B, HEADS, S, D)


# ---- Not attention, or not without what nobody may see ---------------------------

@spelling(ALONE)
def two_biases(p, q, k, v):
    scores = binary(p, "add", scores_of(p, q, k), p.param("bias", (1, HEADS, S, S)))
    scores = scale(p, scores, 0.5)
    return matmul(p, softmax(p, binary(p, "add", p.param("other", (S, S)), scores)), v)


@spelling(ALONE)
def bias_in_a_softcap(p, q, k, v):
    scores = binary(p, "add", scores_of(p, q, k), p.param("bias", (1, HEADS, S, S)))
    return matmul(p, softmax(p, p.unary("act.tanh", scores)), v)


@spelling(ALONE)
def masked_product_of_another_mask(p, q, k, v):
    """scores * mask1 - 1e9 * (1 - mask2)."""
    first, second = (cast(p, reshape(p, causal(p, w), 1, 1, S, S), "f64") for w in (2, None))
    kept = binary(p, "mul", scores_of(p, q, k), first)
    bias = scale(p, binary(p, "sub", number(p, "1.0"), second), "1.0e9")
    return matmul(p, softmax(p, binary(p, "sub", kept, bias)), v)


@spelling(ALONE)
def mask_after_softmax(p, q, k, v):
    weights = softmax(p, scores_of(p, q, k))
    return matmul(p, where(p, causal(p), weights, number(p, "0.0")), v)


@spelling(ALONE)
def mask_of_queries(p, q, k, v):
    scores = where(p, padding(p, B, 1, S, 1), scores_of(p, q, k), number(p, LOWEST))
    return matmul(p, softmax(p, scores), v)


@spelling(ALONE)
def dropout_before_softmax(p, q, k, v):
    return matmul(p, softmax(p, dropout(p, scores_of(p, q, k), 0.25)), v)


@spelling(ALONE)
def mask_below_the_softcap(p, q, k, v):
    scores = where(p, causal(p), scores_of(p, q, k), number(p, LOWEST))
    return matmul(p, softmax(p, scale(p, p.unary("act.tanh", scores), 2.0)), v)


@spelling(ALONE)
def probabilities_returned(p, q, k, v):
    weights = softmax(p, scores_of(p, q, k))
    p.add_loss(weights)
    return matmul(p, weights, v)
