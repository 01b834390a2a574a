# SPDX-License-Identifier: Apache-2.0
"""wmma: small integers, which every type holds and every order of sums keeps."""
import numpy as np

from formats import encode
from launch import In, Out, case


def integers(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float64)


@case("wmma", block=32)
def half_16x16(rng):
    a, b, c = integers(rng, 16, 16), integers(rng, 16, 16), integers(rng, 16, 16)
    # b is K × N by columns in the first product, by rows in the second; a by columns there.
    first = a @ b.T + c
    second = (a.T @ b + c.T).T
    return [In(a.astype(np.float16)), In(b.astype(np.float16)), In(c.astype(np.float32)),
            Out(np.stack([first, second]).astype(np.float32))]


@case("wmma", block=32)
def half_32x8(rng):
    a, b, c = integers(rng, 32, 16), integers(rng, 16, 8), integers(rng, 32, 8)
    return [In(x.astype(np.float16)) for x in (a, b, c)] + [Out((a @ b + c).astype(np.float16))]


@case("wmma", block=32)
def bf16_8x32(rng):
    a, b, c = integers(rng, 8, 16), integers(rng, 32, 16), integers(rng, 8, 32)
    return [In(encode(a, "bf16")), In(encode(b, "bf16")), In(c.astype(np.float32)),
            Out((a @ b.T + c).astype(np.float32))]


@case("wmma", block=32)
def bytes(rng):
    a, b = rng.integers(-128, 128, (16, 16)), rng.integers(-128, 128, (16, 16))
    c = rng.integers(-2 ** 20, 2 ** 20, (16, 16))
    return [In(a.astype(np.int8)), In(b.astype(np.int8)), In(c.astype(np.int32)),
            Out((a @ b.T + c).astype(np.int32))]


@case("wmma", block=32)
def doubles(rng):
    a, b, c = integers(rng, 8, 4), integers(rng, 8, 4), integers(rng, 8, 8)
    return [In(a), In(b), In(c), Out(a @ b.T + c)]


@case("wmma", block=32)
def tf32(rng):
    a, b, c = integers(rng, 16, 8), integers(rng, 16, 8), integers(rng, 16, 16)
    return [In(x.astype(np.float32)) for x in (a, b, c)] + [Out((a @ b.T + c).astype(np.float32))]
