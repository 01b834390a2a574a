# SPDX-License-Identifier: Apache-2.0
"""f32 and f64 arithmetic: exact fractions, rounded once by formats.py."""
import math
from fractions import Fraction

import numpy as np

from formats import FORMATS, round_fraction
from launch import In, InOut, Out, U32, Within, case

N = 128
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 1e-40, -1e-40, 1.5e-39,
           3.4e38, -3.4e38, 1.17549435e-38, 0.5, 1.0000001, -2.5]


def flush(x, name):
    """Subnormal → zero of the same sign."""
    smallest = 2.0 ** (1 - FORMATS[name].bias)
    return math.copysign(0.0, x) if abs(x) < smallest else x


def rounded(name, mode="rn", ftz=False, sat=False):
    """Turns a function that gives a fraction (finite operands), or a float for special
    results, into one that gives the rounded float."""
    def wrap(function):
        def f(*xs):
            if ftz:
                xs = [flush(x, name) for x in xs]
            r = function(mode, *xs)
            if isinstance(r, tuple):  # fraction and the sign of an exact zero
                r = round_fraction(r[0], name, mode, r[1], ftz)
            if sat:
                r = 0.0 if math.isnan(r) or r <= 0 else min(r, 1.0)
            return r
        return f
    return wrap


def finite(*xs):
    return all(math.isfinite(x) for x in xs)


def negative(x):
    return math.copysign(1, x) < 0


def add(mode, x, y):
    if not finite(x, y):
        return x + y
    zero = negative(x) and negative(y) or (mode == "rm" and (negative(x) or negative(y)))
    if x == 0 and y == 0:
        return -0.0 if zero else 0.0
    total = Fraction(x) + Fraction(y)
    return total, mode == "rm" if total == 0 else False


def sub(mode, x, y):
    return add(mode, x, -y)


def mul(mode, x, y):
    if not finite(x, y):
        return math.nan if 0 in (x, y) else x * y
    return Fraction(x) * Fraction(y), negative(x) != negative(y)


def fma(mode, x, y, z):
    if not finite(x, y, z):
        if math.isnan(x) or math.isnan(y) or math.isnan(z):
            return math.nan
        if not finite(x, y):
            product = math.nan if 0 in (x, y) else x * y
            return product + z
        return z
    product = Fraction(x) * Fraction(y)
    sign = negative(x) != negative(y)
    if product == 0 and z == 0:
        both = sign and negative(z) or (mode == "rm" and (sign or negative(z)))
        return -0.0 if both else 0.0
    total = product + Fraction(z)
    return total, mode == "rm" if total == 0 else False


def div(mode, x, y):
    sign = negative(x) != negative(y)
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return math.nan
    if y == 0 or math.isinf(x):
        return -math.inf if sign else math.inf
    if math.isinf(y):
        return -0.0 if sign else 0.0
    return Fraction(x) / Fraction(y), sign


def rcp(mode, x):
    return div(mode, 1.0, x)


def root(name, mode, ftz=False):
    """Square root: the integer root of the scaled fraction with 80 digits to spare, a
    sticky digit for what is left."""
    def f(x):
        if ftz:
            x = flush(x, name)
        if math.isnan(x) or x < 0:
            return math.nan
        if x == 0 or math.isinf(x):
            return x
        scaled = Fraction(x) * Fraction(4) ** 700
        whole = math.isqrt(scaled.numerator // scaled.denominator)
        sticky = Fraction(0) if Fraction(whole) ** 2 == scaled else Fraction(1, 2)
        return round_fraction((whole + sticky) / Fraction(2) ** 700, name, mode)
    return f


def smaller(x, y, *, nan=False):
    if math.isnan(x) or math.isnan(y):
        if nan or (math.isnan(x) and math.isnan(y)):
            return math.nan
        return y if math.isnan(x) else x
    if x == y == 0:
        return x if negative(x) else y
    return x if x < y else y


def larger(x, y, *, nan=False):
    return -smaller(-x, -y, nan=nan)


def xorsign(x, y):
    if math.isnan(x) and math.isnan(y):
        return math.nan
    r = smaller(abs(x), abs(y))
    return -r if negative(x) != negative(y) else r


def table(functions, dtype, *inputs):
    with np.errstate(over="ignore"):
        return np.array([[f(*(float(v) for v in xs)) for xs in zip(*inputs)] for f in functions],
                        dtype)


def values(rng, dtype, n=N):
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
    x = x.astype(dtype)
    wild = rng.random(n) < 0.15
    x[wild] = (10.0 ** rng.uniform(-44, 38, wild.sum()) * rng.choice([-1, 1], wild.sum())).astype(dtype)
    x[:16] = np.array(SPECIAL, dtype)
    return x


def operands(rng, dtype):
    a, b, c = (values(rng, dtype) for _ in range(3))
    b[:16] = np.roll(b[:16], 5)
    c[:16] = np.roll(c[:16], 9)
    b[16:32], a[16:32] = a[:16], a[32:48]  # specials against ordinary numbers
    b[40:48] = -a[40:48]  # exact cancellation
    c[48:56] = -(a[48:56].astype(np.float64) * b[48:56]).astype(dtype)  # fma's last digits
    return a, b, c


@case("floating", block=N)
def arithmetic32(rng):
    a, b, c = operands(rng, np.float32)
    f = "f32"
    rows = [rounded(f, m)(add) for m in ("rn", "rz", "rm", "rp")]
    rows += [rounded(f, ftz=True)(add), rounded(f, sat=True)(add), rounded(f)(sub),
             rounded(f, "rp")(sub)]
    rows += [rounded(f, m)(mul) for m in ("rn", "rz", "rm", "rp")]
    rows += [rounded(f, ftz=True)(mul), rounded(f, ftz=True, sat=True)(mul)]
    rows += [rounded(f, m)(fma) for m in ("rn", "rz", "rm", "rp")]
    rows += [rounded(f, ftz=True)(fma), rounded(f, sat=True)(fma)]
    rows += [rounded(f)(div), rounded(f, "rz")(div), rounded(f, "rp")(div),
             rounded(f, ftz=True)(div)]
    return [In(a), In(b), In(c), Out(rows_of(rows, np.float32, a, b, c)), U32(N)]


def rows_of(functions, dtype, *inputs):
    """As table, for functions of different numbers of operands."""
    out = []
    for f in functions:
        def call(xs, f=f):
            for count in (len(xs), 2, 1):
                try:
                    return f(*xs[:count])
                except TypeError:
                    continue
            raise TypeError(f)
        out.append([call([float(v) for v in xs]) for xs in zip(*inputs)])
    with np.errstate(over="ignore"):
        return np.array(out, dtype)


def select_rows(newer):
    f = "f32"
    rows = [smaller, larger, lambda x, y: smaller(x, y, nan=True), lambda x, y: larger(x, y, nan=True)]
    rows += [xorsign if newer else (lambda x, y: 0.0)]
    rows += [lambda x, y: larger(flush(x, f), flush(y, f)),
             # d = |b| with the sign of a
             lambda x, y: math.copysign(y, x) if not math.isnan(y) else math.nan,
             lambda x: -x, abs, lambda x: -flush(x, f), lambda x: abs(flush(x, f)),
             lambda x, y, z: x if z >= 0 else y,
             root(f, "rn"), root(f, "rm"), rounded(f)(rcp), rounded(f, "rz", ftz=True)(rcp)]
    return rows


def select_arguments(rng, newer):
    a, b, c = operands(rng, np.float32)
    expected = rows_of(select_rows(newer), np.float32, a, b, c)
    if newer:
        return [In(a), In(b), In(c), Out(expected), U32(N)]
    # Row 4 is min.xorsign.abs, which sm_80 lacks: the kernel leaves it alone.
    kept = np.zeros_like(expected)
    return [In(a), In(b), In(c), InOut(expected, value=kept), U32(N)]


@case("floating", block=N, only="sm_80", entry="select32")
def select32_ampere(rng):
    return select_arguments(rng, False)


@case("floating", block=N, only="sm_86")
def select32(rng):
    return select_arguments(rng, True)


@case("floating", block=N, only="sm_90a", entry="select32")
def select32_hopper(rng):
    return select_arguments(rng, True)


@case("floating", block=N)
def arithmetic64(rng):
    a, b, c = operands(rng, np.float64)
    f = "f64"
    rows = [rounded(f)(add), rounded(f, "rm")(add), rounded(f, "rz")(sub), rounded(f)(mul),
            rounded(f, "rp")(mul), rounded(f)(fma), rounded(f, "rz")(fma), rounded(f)(div),
            rounded(f, "rm")(div), root(f, "rn"), rounded(f)(rcp), smaller, larger,
            lambda x: -x, abs,
            lambda x, y: math.copysign(y, x) if not math.isnan(y) else math.nan]
    return [In(a), In(b), In(c), Out(rows_of(rows, np.float64, a, b, c)), U32(N)]


@case("floating", block=N)
def compare32(rng):
    a, b, _ = operands(rng, np.float32)
    b[60:70] = a[60:70]
    a[70], b[70] = 1e-40, -2e-40

    def bits(x, y):
        u = math.isnan(x) or math.isnan(y)
        tests = [x == y, x != y and not u, x < y, x <= y, x > y, x >= y]
        tests += [x == y or u, x != y or u, x < y or u, x <= y or u, x > y or u, x >= y or u]
        tests += [not u, u, flush(x, "f32") == flush(y, "f32"), False]
        zero = x == 0
        subnormal = not zero and abs(x) < 2.0 ** -126
        tests += [math.isfinite(x), math.isinf(x), not math.isnan(x), math.isnan(x),
                  math.isfinite(x) and not subnormal, subnormal]  # a zero counts as normal
        return sum(int(v) << i for i, v in enumerate(tests))

    return [In(a), In(b), Out(table([bits], np.uint32, a, b)[0]), U32(N)]


@case("library", block=N, each=[dict(wide=True), dict(wide=False)])
def library(rng, wide):
    a = (rng.standard_normal(N) * 3).astype(np.float32)
    d = rng.standard_normal(N)
    if wide:  # all magnitudes, and what is no number
        a = (a * 2.0 ** rng.integers(-130, 126, N)).astype(np.float32)
        d = d * 2.0 ** rng.integers(-300, 1000, N)
        a[:8] = d[:8] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3]
        d[8:24] = [*np.linspace(700, 715, 8), *np.linspace(-750, -700, 8)]
    x = a.astype(np.float64)
    erf = np.vectorize(math.erf)
    with np.errstate(all="ignore"):
        single = np.stack([np.exp(x), np.log(np.abs(x) + 1e-3), np.sin(x), np.tanh(x),
                           np.abs(x) ** float(np.float32(1.7)), erf(x)]).astype(np.float32)
        double = np.stack([np.exp(d), np.sin(d * 1e6), np.log1p(np.abs(d))])
    return [In(a), In(d),
            Out(single, Within("CUDA's table of the mathematical library: at most 4 ulp in f32, "
                               "and 1 ulp of the rounded argument of the logarithm",
                               relative=4 * 2.0 ** -23, absolute=3e-7), dtype="f32"),
            Out(double, Within("at most 2 ulp in f64; d·10⁶ is rounded once, 1 ulp of at most "
                               "4·10⁶ moves the sine by 2⁻³²", relative=2 ** -51, absolute=2.0 ** -31)),
            U32(N)]
