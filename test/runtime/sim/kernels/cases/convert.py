# SPDX-License-Identifier: Apache-2.0
"""Conversions: fractions rounded by formats.py."""
import math
from fractions import Fraction

import numpy as np

from floating import values
from formats import encode, round_fraction, round_integer, to_bits, to_float
from half import AnyNan
from launch import In, Out, U32, Within, case

N = 128
SINGLE = [65504.0, 65519.9, 65520.0, -65520.0, 1e-8, 6e-8, 3e-8, 448.0, 464.0, 465.0, 57344.0,
          0.0009765625, 2.9802322e-08, 1.00048828125, 1.00146484375, 3.3895e38]


def bits(x, name, mode="rn", relu=False, saturate=False):
    if relu and (x <= 0):
        return 0
    return int(encode([x], name, mode, saturate)[0]) if name != "tf32" else tf32(x, mode)


def tf32(x, mode):
    """The upper 19 bits of an f32; the rest reads as zero."""
    if not math.isfinite(x):
        return to_bits(x, "f32")
    y = round_fraction(Fraction(x), "tf32", mode, math.copysign(1, x) < 0)
    return to_bits(y, "f32")


class Narrow(Within):
    """Rows of one or two numbers of 16 bits, or of tf32, where any NaN is a NaN."""

    def __init__(self):
        super().__init__("a NaN's payload is not defined")

    def wrong(self, got, expected):
        got, expected = got.astype(np.uint32), expected.astype(np.uint32)
        bad = got != expected
        for row in range(len(got)):
            name = "bf16" if 5 <= row <= 8 else "f16"
            if row in (9, 12, 13):
                g, e = got[row].view(np.float32), expected[row].view(np.float32)
                bad[row] &= ~(np.isnan(g) & np.isnan(e))
                continue
            halves = []
            for shift in (0, 16):
                g = got[row] >> np.uint32(shift) & np.uint32(0xFFFF)
                e = expected[row] >> np.uint32(shift) & np.uint32(0xFFFF)
                halves.append(AnyNan(name).wrong(g, e))
            bad[row] = halves[0] | halves[1]
        return bad


def narrow_arguments(rng, hopper):
    a, b = values(rng, np.float32), values(rng, np.float32)
    a[16:32] = SINGLE
    b[16:32] = SINGLE[::-1]

    def pair(name, mode="rn", relu=False):
        return lambda x, y: bits(x, name, mode, relu) << 16 | bits(y, name, mode, relu)

    def single(name, mode="rn", relu=False):
        return lambda x, y: bits(x, name, mode, relu)

    rows = [single("f16"), single("f16", "rz"), single("f16", relu=True), pair("f16"),
            pair("f16", "rz", True), single("bf16"), single("bf16", "rz"), pair("bf16"),
            pair("bf16", relu=True), single("tf32", "rna"), single("f16", "rm"), single("f16", "rp")]
    if hopper:
        rows += [single("tf32"), single("tf32", "rz", True)]
    expected = np.array([[f(float(x), float(y)) for x, y in zip(a, b)] for f in rows], np.uint32)
    return [In(a), In(b), Out(expected, Narrow()), U32(N)]


@case("convert", block=N, only="sm_8?", entry="narrow")
def narrow(rng):
    return narrow_arguments(rng, False)


@case("convert", block=N, only="sm_90a", entry="narrow")
def narrow_hopper(rng):
    return narrow_arguments(rng, True)


def clamp(v, width, is_signed):
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    return max(low, min(high, v))


def to_integer(width, is_signed, mode, double=False):
    def f(x):
        if math.isnan(x):
            if not double and width < 64:
                return 0
            return -(1 << width - 1) if is_signed else 1 << width - 1
        if math.isinf(x):
            return clamp((1 << 70) * (1 if x > 0 else -1), width, is_signed)
        return clamp(round_integer(Fraction(x), mode), width, is_signed)
    return f


@case("convert", block=N)
def float_to_integer(rng):
    a, b = values(rng, np.float32), values(rng, np.float64)
    halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 2147483647.5, 2147483648.0, -2147483648.0,
              -2147483649.0, 4294967295.5, 4294967296.0, 32767.5, 9.3e18, -9.3e18]
    a[30:46] = halves
    b[30:46] = halves
    rows = [[to_integer(w, s, m)(float(x)) for x in a] for w, s, m in
            [(32, True, "rn"), (32, True, "rz"), (32, True, "rm"), (32, True, "rp"),
             (32, False, "rz"), (16, True, "rn"), (64, True, "rm")]]
    rows += [[to_integer(w, s, m, True)(float(x)) for x in b] for w, s, m in
             [(32, True, "rn"), (32, False, "rp"), (64, True, "rz")]]
    return [In(a), In(b), Out(np.array(rows, np.int64)), U32(N)]


@case("convert", block=N)
def integer_to_float(rng):
    x = rng.integers(-2 ** 63, 2 ** 63, N, dtype=np.int64)
    x[:64] >>= rng.integers(20, 63, 64)
    x[:6] = [0, -1, 2 ** 24 + 1, 2 ** 25 + 3, 2 ** 53 + 1, -2 ** 63]
    w = x.astype(np.int32)

    def row(v, name, mode):
        return [round_fraction(Fraction(int(i)), name, mode) for i in v]

    u32, u64 = w.view(np.uint32), x.view(np.uint64)
    single = [row(w, "f32", "rn"), row(u32, "f32", "rz"), row(w, "f32", "rm"), row(w, "f32", "rp"),
              row(w.astype(np.uint8), "f32", "rn"), row(w.astype(np.int8), "f32", "rn"),
              row(x, "f32", "rn"), row(u64, "f32", "rp")]
    double = [row(x, "f64", "rn"), row(u64, "f64", "rz"), row(w, "f64", "rn")]
    half = [row(w, "f16", "rn"), row(w.astype(np.uint16), "f16", "rz")]
    half = np.array([[to_bits(v, "f16") for v in r] for r in half], np.uint16)
    return [In(x), Out(np.array(single, np.float32)), Out(np.array(double)), Out(half), U32(N)]


@case("convert", block=N)
def whole(rng):
    a, b = values(rng, np.float32), values(rng, np.float64)
    a[20:28] = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, -0.2, 8388608.5]
    b[20:28] = a[20:28]
    b[30:34] = [1 + 2.0 ** -24, 1 + 3 * 2.0 ** -24, 3.5e38, 1e-46]

    def integral(mode):
        def f(x):
            if not math.isfinite(x):
                return x
            return math.copysign(float(round_integer(Fraction(x), mode)), x)
        return f

    def saturated(x):
        return 0.0 if math.isnan(x) or x <= 0 else min(x, 1.0)

    def flushed(x):
        return math.copysign(0.0, x) if abs(x) < 2.0 ** -126 else x

    def single(mode):
        def f(x):
            if not math.isfinite(x):
                return x
            return round_fraction(Fraction(x), "f32", mode, math.copysign(1, x) < 0)
        return f

    rows = [[f(float(x)) for x in a] for f in
            (integral("rn"), integral("rz"), integral("rm"), integral("rp"), saturated, flushed)]
    rows += [[single(m)(float(x)) for x in b] for m in ("rn", "rm")]
    double = [[integral("rn")(float(x)) for x in b], a.astype(np.float64)]
    with np.errstate(over="ignore"):
        return [In(a), In(b), Out(np.array(rows, np.float32)), Out(np.array(double)), U32(N)]


@case("convert", grid=512, block=N)
def widen(rng):
    n = 65536
    a = rng.permutation(n).astype(np.uint16)
    f16 = to_float(a, "f16")
    single = np.stack([f16, to_float(a, "bf16")]).astype(np.float32)
    return [In(a), Out(single), Out(f16), U32(n)]


@case("convert", block=N)
def integers(rng):
    x = rng.integers(-2 ** 63, 2 ** 63, N, dtype=np.int64)
    x[::2] >>= rng.integers(20, 60, N // 2)
    w = x.astype(np.int32)
    y = (x >> 32).astype(np.int32)

    def sat(v, width, is_signed):
        return clamp(int(v), width, is_signed)

    def rows_for(i):
        a, b, c = int(w[i]), int(y[i]), int(x[i])
        pack16 = (sat(a, 16, True) & 0xFFFF) << 16 | sat(b, 16, True) & 0xFFFF
        pack8 = (a & 0xFFFF) << 16 | sat(a, 8, False) << 8 | sat(b, 8, False)
        low = c & 0xFFFFFFFF
        return [(a + 128) % 256 - 128, a & 255, sat(a, 8, True), sat(a, 8, False),
                (a + 32768) % 65536 - 32768, sat(a, 16, False), a, a & 0xFFFFFFFF, pack16, pack8,
                low - (low >> 31 << 32), sat(c, 32, True), sat(c, 32, False)]

    expected = np.array([rows_for(i) for i in range(N)], np.int64).T
    return [In(x), Out(np.ascontiguousarray(expected)), U32(N)]


class AnyNan8(AnyNan):
    def wrong(self, got, expected):
        g, e = to_float(got.astype(np.uint8), self.name), to_float(expected.astype(np.uint8), self.name)
        return (got != expected) & ~(np.isnan(g) & np.isnan(e))


@case("fp8", block=N)
def to_fp8(rng):
    a, b = (rng.standard_normal(N) * 10.0 ** rng.integers(-4, 4, N) for _ in range(2))
    a, b = a.astype(np.float32), b.astype(np.float32)
    a[:16] = [0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, -1e9, 2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -10,
              57344, 61440, 70000, 2.0 ** -17]
    b[:16] = a[:16][::-1]
    pairs = (rng.standard_normal((N, 2)) * 10.0 ** rng.integers(-4, 3, (N, 2))).astype(np.float16)
    pairs[:4] = [[np.inf, -np.inf], [np.nan, 65504], [448, -480], [2.0 ** -10, -0.0]]

    def two(high, low, name, relu=False):
        return bits(float(high), name, relu=relu, saturate=True) << 8 | \
            bits(float(low), name, relu=relu, saturate=True)

    rows = [[two(x, y, "e4m3") for x, y in zip(a, b)], [two(x, y, "e4m3", True) for x, y in zip(a, b)],
            [two(x, y, "e5m2") for x, y in zip(a, b)],
            [two(h, l, "e4m3") for l, h in pairs], [two(h, l, "e5m2") for l, h in pairs]]
    names = ["e4m3", "e4m3", "e5m2", "e4m3", "e5m2"]

    class Pairs(Within):
        def wrong(self, got, expected):
            out = []
            for g, e, name in zip(got.astype(np.uint16), expected.astype(np.uint16), names):
                nan = AnyNan8(name)
                out.append(nan.wrong(g & 255, e & 255) | nan.wrong(g >> 8, e >> 8))
            return np.stack(out)

    within = Pairs("a NaN's payload is not defined")
    return [In(a), In(b), In(pairs.view(np.uint32).ravel()), Out(np.array(rows, np.uint16), within), U32(N)]


@case("fp8", grid=512, block=N)
def from_fp8(rng):
    n = 65536
    a = rng.permutation(n).astype(np.uint16)

    def wide(name, relu=False):
        x = np.stack([to_float((a & 255).astype(np.uint8), name), to_float((a >> 8).astype(np.uint8), name)], 1)
        if relu:
            x = np.where(x <= 0, 0.0, x)
        return x

    expected = np.stack([wide("e4m3"), wide("e5m2"), wide("e5m2", True)])

    class Pairs(Within):
        def wrong(self, got, _):
            g = to_float(got.astype(np.uint32).view(np.uint16).reshape(expected.shape), "f16")
            same = (g == expected) & (np.signbit(g) == np.signbit(expected))
            return (~(same | (np.isnan(g) & np.isnan(expected)))).any(-1)

    return [In(a), Out(np.zeros((3, n), np.uint32), Pairs("a NaN's payload is not defined")), U32(n)]
