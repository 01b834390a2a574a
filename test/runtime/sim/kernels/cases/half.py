# SPDX-License-Identifier: Apache-2.0
"""f16 and bf16: exact fractions, rounded once."""
import math

import numpy as np

from floating import add, fma, larger, mul, negative, rounded, smaller, sub, xorsign
from formats import encode, to_bits, to_float
from launch import In, Out, U32, case

N = 128


def operands(rng, name):
    exponent = 6 if name == "f16" else 36
    def one():
        x = rng.standard_normal(N) * 2.0 ** rng.integers(-exponent // 2, exponent // 2, N)
        tiny = rng.random(N) < 0.1
        x[tiny] *= 2.0 ** (-14 if name == "f16" else -120)
        x[:12] = [0.0, -0.0, math.inf, -math.inf, math.nan, 1, -1, 2.0 ** -130, 6e4, -6e4, 3e38, .5]
        return rng.permutation(encode(x, name))
    a, b, c = one(), one(), one()
    b[20:30] = a[20:30] ^ 0x8000
    return a, b, c


def relu(f):
    def g(*xs):
        r = f(*xs)
        return 0.0 if r <= 0 else r  # NaN stays
    return g


def bits_of(functions, name, a, b, c, packed_from):
    """Rows of bits: below packed_from one a function, from there two, the second for the
    neighbour's operands (the upper half of the register)."""
    def row(f, order):
        out = []
        for i in order:
            xs = [float(to_float(v[i], name)) for v in (a, b, c)]
            r = None
            for count in (3, 2, 1):
                try:
                    r = f(*xs[:count])
                    break
                except TypeError:
                    continue
            out.append(r if isinstance(r, int) else to_bits(r, name))
        return out

    neighbour = np.arange(N) ^ 1
    rows = []
    for i, f in enumerate(functions):
        rows.append(row(f, range(N)))
        if i >= packed_from:
            rows.append(row(f, neighbour))
    return np.array(rows, np.uint16)


class AnyNan:
    """Bits equal, or both a NaN of the format."""

    def __init__(self, name):
        self.name = name
        self.why = "a NaN's payload is not defined"

    def wrong(self, got, expected):
        g = to_float(got.astype(np.uint16), self.name)
        e = to_float(expected.astype(np.uint16), self.name)
        return (got != expected) & ~(np.isnan(g) & np.isnan(e))


@case("half", block=N, entry="f16")
def f16(rng):
    name = "f16"
    a, b, c = operands(rng, name)

    def pick(x, y, z):
        return x if x > y else z

    rows = [rounded(name)(add), rounded(name)(sub), rounded(name)(mul), rounded(name)(fma),
            rounded(name, sat=True)(fma), relu(rounded(name)(fma)), rounded(name, ftz=True)(fma),
            smaller, lambda x, y: larger(x, y, nan=True), lambda x: -x, abs,
            rounded(name, sat=True)(add), rounded(name, ftz=True)(mul), pick,
            rounded(name)(add), rounded(name)(sub), rounded(name)(mul), rounded(name)(fma),
            relu(rounded(name)(fma)), larger, lambda x, y: smaller(x, y, nan=True),
            lambda x: -x, abs, lambda x, y: int(x < y)]
    return [In(a), In(b), In(c), Out(bits_of(rows, name, a, b, c, 14), AnyNan(name)), U32(N)]


def bf16_arguments(rng, hopper):
    name = "bf16"
    a, b, c = operands(rng, name)
    packed = [rounded(name)(fma), larger, lambda x, y: smaller(x, y, nan=True), lambda x: -x, abs]
    rows = [rounded(name)(fma), relu(rounded(name)(fma)), smaller,
            lambda x, y: larger(x, y, nan=True), lambda x: -x, abs, *packed]
    expected = bits_of(rows, name, a, b, c, 6)
    if hopper:
        def pick(x, y, z):
            return x if x > y else z
        more = [rounded(name)(add), rounded(name)(sub), rounded(name)(mul), pick,
                rounded(name)(add), rounded(name)(sub), rounded(name)(mul)]
        expected = np.concatenate([expected, bits_of(more, name, a, b, c, 4)])
    return [In(a), In(b), In(c), Out(expected, AnyNan(name)), U32(N)]


@case("half", block=N, only="sm_8?", entry="bf16")
def bf16(rng):
    return bf16_arguments(rng, False)


@case("half", block=N, only="sm_90a", entry="bf16")
def bf16_hopper(rng):
    return bf16_arguments(rng, True)


def xorsign_arguments(rng):
    name = "f16"
    a, b, c = operands(rng, name)

    def larger_nan(x, y):
        if math.isnan(x) or math.isnan(y):
            return math.nan
        r = max(abs(x), abs(y))
        return -r if negative(x) != negative(y) else r

    def larger_any(x, y):
        if math.isnan(x) and math.isnan(y):
            return math.nan
        r = larger(abs(x), abs(y))
        return -r if negative(x) != negative(y) else r

    rows = [xorsign, larger_nan, larger_any]
    return [In(a), In(b), In(c), Out(bits_of(rows, name, a, b, c, 2), AnyNan(name)), U32(N)]


@case("half", block=N, only="sm_86", entry="xorsign")
def xorsign_86(rng):
    return xorsign_arguments(rng)


@case("half", block=N, only="sm_90a", entry="xorsign")
def xorsign_90(rng):
    return xorsign_arguments(rng)
