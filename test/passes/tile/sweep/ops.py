# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops on Refs: text of the op, and what it means."""
import numpy as np

from reference import FLOATS, FLOATS8, INTS, Ref, is_float, quantize, rounded, unknown, unsigned, wrap


def _float(f):
    def op(t, *refs):
        with np.errstate(all="ignore"):
            value, err = f(*[x for r in refs for x in (r.val, r.err)])
        return rounded(value, np.where(np.isnan(err), np.inf, err), t)
    return op


def _either(pick):
    def f(a, ea, b, eb):
        return pick(a, b), np.maximum(ea, eb)
    return f


def _div(a, ea, b, eb):
    q = a / b
    return q, np.where(np.abs(b) > eb, (ea + np.abs(q) * eb) / (np.abs(b) - eb), np.inf)


def _function(f, slope, ulps=4):
    """slope(x, e): the largest derivative within e of x. Device functions are good to
    a few units of f32."""
    def op(x, e):
        y = f(x)
        return y, e * slope(x, e) + np.abs(y) * ulps * 2.0 ** -22 + 2.0 ** -22 * ulps
    return op


FLOAT_BINARY = {
    "arith.addf": _float(lambda a, ea, b, eb: (a + b, ea + eb)),
    "arith.subf": _float(lambda a, ea, b, eb: (a - b, ea + eb)),
    "arith.mulf": _float(lambda a, ea, b, eb: (a * b, abs(a) * eb + abs(b) * ea + ea * eb)),
    "arith.divf": _float(_div),
    "arith.maximumf": _float(_either(np.maximum)), "arith.minimumf": _float(_either(np.minimum)),
    "arith.maxnumf": _float(_either(np.maximum)), "arith.minnumf": _float(_either(np.minimum)),
}
FLOAT_UNARY = {
    "arith.negf": _float(lambda x, e: (-x, e)),
    "math.absf": _float(lambda x, e: (abs(x), e)),
    "math.exp": _float(_function(np.exp, lambda x, e: np.exp(x + e), 16)),
    "math.exp2": _float(_function(np.exp2, lambda x, e: np.exp2(x + e), 16)),
    "math.log": _float(_function(np.log, lambda x, e: np.where(x > e, 1 / (x - e), np.inf))),
    "math.log2": _float(_function(np.log2, lambda x, e: np.where(x > e, 2 / (x - e), np.inf))),
    "math.sqrt": _float(_function(np.sqrt, lambda x, e: np.where(x > e, 1 / np.sqrt(x - e), np.inf))),
    "math.rsqrt": _float(_function(lambda x: 1 / np.sqrt(x),
                                   lambda x, e: np.where(x > e, (x - e) ** -1.5, np.inf))),
    "math.tanh": _float(_function(np.tanh, lambda x, e: 1.0, 32)),
    "math.sin": _float(_function(np.sin, lambda x, e: 1.0, 32)),
    "math.cos": _float(_function(np.cos, lambda x, e: 1.0, 32)),
}
FLOAT_ROUNDING = {"math.floor": np.floor, "math.ceil": np.ceil}
NEEDS_POSITIVE = {"math.log", "math.log2", "math.sqrt", "math.rsqrt"}


def float_rounding(name, t, r):
    f = FLOAT_ROUNDING[name]
    with np.errstate(invalid="ignore"):
        sure = f(r.val - r.err) == f(r.val + r.err)
    return Ref(f(r.val), np.where(sure, 0.0, np.inf))


fma = _float(lambda a, ea, b, eb, c, ec: (
    a * b + c, abs(a) * eb + abs(b) * ea + ea * eb + ec))


def _shift(f):
    return lambda t, a, b: f(t, a, np.clip(b, 0, INTS[t] - 1))


def _quotient(a, b):
    q = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.where((a < 0) != (b < 0), -q, q)


INT_BINARY = {
    "arith.addi": lambda t, a, b: a + b,
    "arith.subi": lambda t, a, b: a - b,
    "arith.muli": lambda t, a, b: a * b,
    "arith.andi": lambda t, a, b: a & b,
    "arith.ori": lambda t, a, b: a | b,
    "arith.xori": lambda t, a, b: a ^ b,
    "arith.maxsi": lambda t, a, b: np.maximum(a, b) if t != "i1" else a & b,
    "arith.minsi": lambda t, a, b: np.minimum(a, b) if t != "i1" else a | b,
    "arith.maxui": lambda t, a, b: np.where(unsigned(a, t) > unsigned(b, t), a, b),
    "arith.minui": lambda t, a, b: np.where(unsigned(a, t) < unsigned(b, t), a, b),
}
# The second operand is a constant within bounds.
INT_BY_CONSTANT = {
    "arith.shli": lambda t, a, b: a << b,
    "arith.shrsi": lambda t, a, b: a >> b,
    "arith.shrui": lambda t, a, b: (unsigned(a, t) >> b.astype(np.uint64)).astype(np.int64),
    "arith.divsi": lambda t, a, b: _quotient(a, b),
    "arith.remsi": lambda t, a, b: a - _quotient(a, b) * b,
    "arith.divui": lambda t, a, b: (unsigned(a, t) // unsigned(b, t)).astype(np.int64),
    "arith.remui": lambda t, a, b: (unsigned(a, t) % unsigned(b, t)).astype(np.int64),
}


def int_binary(name, t, a, b):
    f = INT_BINARY.get(name) or INT_BY_CONSTANT[name]
    with np.errstate(over="ignore"):
        return Ref(wrap(f(t, a.val, b.val), t), unknown(a, b))


COMPARISONS_F = {"oeq": np.equal, "one": np.not_equal, "olt": np.less, "ole": np.less_equal,
                 "ogt": np.greater, "oge": np.greater_equal, "une": np.not_equal}
COMPARISONS_S = {"eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal,
                 "sgt": np.greater, "sge": np.greater_equal}
COMPARISONS_U = {"ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal}


def compare(pred, t, a, b):
    if is_float(t):
        e = a.err + b.err
        with np.errstate(invalid="ignore"):
            sure = (e == 0) | (np.abs(a.val - b.val) > e)
        return Ref(COMPARISONS_F[pred](a.val, b.val).astype(np.int64), np.where(sure, 0, np.inf))
    if pred in COMPARISONS_U:
        r = COMPARISONS_U[pred](unsigned(a.val, t), unsigned(b.val, t))
    elif t == "i1":  # true is -1
        r = COMPARISONS_S[pred](-a.val, -b.val)
    else:
        r = COMPARISONS_S[pred](a.val, b.val)
    return Ref(r.astype(np.int64), unknown(a, b))


def select(c, a, b):
    v = np.where(c.val, a.val, b.val)
    return Ref(v, np.where(c.err > 0, np.inf, np.where(c.val, a.err, b.err)))


def cast_names(a, b):
    """Ops that make a number of type b of one of type a."""
    if is_float(a) and is_float(b):
        pa, pb = FLOATS[a][0], FLOATS[b][0]
        if {a, b} == {"f16", "bf16"} or a == b:
            return []
        return ["arith.truncf"] if pb < pa else ["arith.extf"]
    if is_float(a):
        return ["arith.fptosi"] if b not in ("i1", "i8") else []
    if is_float(b):
        return ["arith.uitofp"] + (["arith.sitofp"] if a != "i1" else [])
    if INTS[b] < INTS[a]:
        return ["arith.trunci"]
    return ["arith.extsi", "arith.extui"] if INTS[b] > INTS[a] else []


def cast(name, a, b, r):
    if name in ("arith.truncf", "arith.extf"):
        out = rounded(r.val, r.err, b)
        if b not in FLOATS8:
            return out
        return Ref(np.where(r.err == 0, quantize(r.val, b), out.val), np.where(r.err == 0, 0, out.err))
    if name == "arith.fptosi":
        whole = np.trunc(r.val)
        half = 2.0 ** (INTS[b] - 1)
        with np.errstate(invalid="ignore"):
            sure = (np.trunc(r.val - r.err) == np.trunc(r.val + r.err)) & (np.abs(whole) < half)
        return Ref(np.where(sure, whole, 0).astype(np.int64), np.where(sure, 0, np.inf))
    if name == "arith.sitofp":
        return rounded(r.val.astype(np.float64), unknown(r), b)
    if name == "arith.uitofp":
        return rounded(unsigned(r.val, a).astype(np.float64), unknown(r), b)
    if name == "arith.extui":
        return Ref(wrap(unsigned(r.val, a).astype(np.int64), b), unknown(r))
    if name == "arith.extsi" and a == "i1":
        return Ref(-r.val, unknown(r))
    return Ref(wrap(r.val, b), unknown(r))


def constant(t, x):
    """A number as MLIR writes it, and itself."""
    if is_float(t):
        x = float(quantize(x, t))
        return repr(x), x
    if t == "i1":
        return ("true" if x else "false"), int(x)
    return str(int(x)), int(x)
