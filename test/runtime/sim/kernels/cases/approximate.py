# SPDX-License-Identifier: Apache-2.0
"""Approximate functions: float64 numpy, within the bounds that the PTX ISA states. A
result correctly rounded and then moved by the bound may end one rounding further off, so
half a unit in the last place (2⁻²⁴ relative) is added to each."""
import numpy as np

from formats import encode, to_float
from launch import In, Out, U32, Within, case

N = 128
HALF_ULP = 2.0 ** -24


def rows(expected, relative, absolute, why):
    """One tolerance per row, folded into an absolute one."""
    expected = np.stack(expected)
    slack = np.abs(expected) * np.array(relative)[:, None] + np.array(absolute)[:, None]
    return Out(expected, Within(why, absolute=slack), dtype="f32")


@case("approximate", block=N)
def positive(rng):
    a = np.exp(rng.uniform(-80, 80, N)).astype(np.float32)
    a[:40] = rng.uniform(0.5, 2, 40)
    x = a.astype(np.float64)
    near_one = (x > 0.5) & (x < 2)
    expected = [1 / x, 1 / x, np.sqrt(x), np.sqrt(x), x ** -0.5, x ** -0.5, np.log2(x), np.log2(x)]
    ulp = 2.0 ** -23
    relative = [ulp + HALF_ULP] * 2 + [2.0 ** -23 + HALF_ULP] * 2 + [2.0 ** -22.9 + HALF_ULP] * 2 + \
               [2.0 ** -22 + HALF_ULP] * 2
    out = rows(expected, relative, [0] * 8,
               "rcp 1 ulp; sqrt 2⁻²³, rsqrt 2⁻²²·⁹ relative; lg2 2⁻²² absolute in (0.5, 2), else relative")
    out.within.absolute[6:] += np.where(near_one, 2.0 ** -22, 0)
    return [In(a), out, U32(N)]


@case("approximate", block=N)
def moderate(rng):
    a = (rng.standard_normal(N) * 3).astype(np.float32)
    b = np.exp(rng.uniform(-3, 3, N)).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    expected = [2.0 ** x, 2.0 ** x, np.tanh(x), np.sin(x), np.cos(x), x / y, x / y, x / y]
    two = 2 * 2.0 ** -23 + HALF_ULP
    trigonometric = np.where(np.abs(x) <= 2 * np.pi, 2.0 ** -20.5, 2.0 ** -14.7)
    out = rows(expected, [two, two, 2.0 ** -11 + HALF_ULP, HALF_ULP, HALF_ULP, two, two, two], [0] * 8,
               "ex2 and div 2 ulp; tanh 2⁻¹¹ relative; sin, cos 2⁻²⁰·⁵ absolute in ±2π")
    out.within.absolute[3:5] += trigonometric
    return [In(a), In(b), out, U32(N)]


@case("approximate", block=32)
def special(rng):
    inf, nan = np.inf, np.nan
    x = [0.0, -0.0, inf, -inf, nan, 1e-40, -1e-40, -4.0]
    table = [
        [inf, -inf, 0.0, -0.0, nan, inf, -inf, -0.25],
        [inf, -inf, 0.0, nan, nan, inf, -inf, nan],
        [0.0, -0.0, inf, nan, nan, 0.0, -0.0, nan],
        [-inf, -inf, inf, nan, nan, -inf, -inf, nan],
        [1.0, 1.0, inf, 0.0, nan, 1.0, 1.0, 0.0625],
    ]
    a = np.array((x * 4)[:32], np.float32)
    expected = np.tile(np.array(table), 4)
    # −4 goes through the approximation: rcp may be off by one ulp, ex2 by two.
    slack = np.where(np.isfinite(expected) & (np.abs(a) == 4), np.abs(expected) * 2.0 ** -21, 0)
    return [In(a), Out(expected, Within("1 and 2 ulp on the ordinary column", absolute=slack),
                       dtype="f32"), U32(32)]


def half_arguments(rng, hopper):
    a = (rng.standard_normal(N) * 2).astype(np.float16)
    b = encode(rng.standard_normal(N) * 2, "bf16")
    x, y = a.astype(np.float64), to_float(b, "bf16")
    swapped = np.arange(N) ^ 1
    f16 = [2.0 ** x, np.tanh(x), (2.0 ** x)[swapped]]
    slack = [np.abs(f16[0]) * 2.0 ** -9.9, 2.0 ** -10.987, np.abs(f16[2]) * 2.0 ** -9.9]
    half = [np.abs(v) * 2.0 ** -11 + 2.0 ** -25 for v in f16]
    got = np.zeros((6 if hopper else 3, N), np.uint16)
    return a, b, y, swapped, f16, slack, half, got


def mixed(rng, hopper):
    """Rows of f16 bits, then rows of bf16 bits: a Within of its own decodes them."""
    a, b, y, swapped, f16, slack, half, got = half_arguments(rng, hopper)
    expected = list(f16)
    bound = [s + h for s, h in zip(slack, half)]
    if hopper:
        rows_bf16 = [2.0 ** y, np.tanh(y), np.tanh(y)[swapped]]
        expected += rows_bf16
        bound += [np.abs(rows_bf16[0]) * (2.0 ** -7 + 2.0 ** -9)] + \
                 [2.0 ** -8 + np.abs(v) * 2.0 ** -9 for v in rows_bf16[1:]]
    expected, bound = np.stack(expected), np.stack([np.broadcast_to(v, (N,)) for v in bound])

    class Rows(Within):
        def wrong(self, bits, _):
            bits = bits.astype(np.uint16)
            got = np.concatenate([to_float(bits[:3], "f16"), to_float(bits[3:], "bf16")])
            return ~(np.abs(got - expected) <= bound)

    why = ("ex2 2⁻⁹·⁹ relative in f16 and 2⁻⁷ in bf16; tanh 2⁻¹⁰·⁹⁸⁷ and 2⁻⁸ absolute; "
           "half a unit of the last place for the rounding")
    return [In(a.view(np.uint16)), In(b), Out(np.zeros(expected.shape, np.uint16), Rows(why)), U32(N)]


@case("approximate", block=N, only="sm_8?")
def half(rng):
    return mixed(rng, False)


@case("approximate", block=N, only="sm_90a", entry="half")
def half_hopper(rng):
    return mixed(rng, True)
