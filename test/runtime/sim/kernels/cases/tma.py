# SPDX-License-Identifier: Apache-2.0
"""Tensor copies. A tile lies in shared memory as it is, its innermost dimension first,
and the swizzle moves its chunks of 16 bytes (layouts/tables.py)."""
import pathlib
import sys

import numpy as np

from formats import random_bits
from launch import I32, In, InOut, Out, Tma, U32, case

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "layouts"))
from tables import swizzled  # noqa: E402


def tile(a, box, start):
    """The box of `a` that begins at `start` (both outermost first), zero outside."""
    out = np.zeros(box, a.dtype)
    inside = [slice(max(s, 0), max(min(s + b, n), 0)) for s, b, n in zip(start, box, a.shape)]
    to = [slice(i.start - s, i.stop - s) for i, s in zip(inside, start)]
    if all(i.stop > i.start for i in inside):
        out[tuple(to)] = a[tuple(inside)]
    return out


def in_shared(values, swizzle):
    raw = np.frombuffer(values.tobytes(), np.uint8)
    out = np.zeros_like(raw)
    for at in range(0, len(raw), 16):
        to = swizzled(at, swizzle)
        out[to:to + 16] = raw[at:at + 16]
    return out


def random(rng, shape, dtype):
    if dtype in ("bf16", "f16", "f32", "f64"):
        return random_bits(rng, shape, dtype)
    return rng.integers(0, 100, shape).astype({"u8": np.uint8, "i32": np.int32, "u16": np.uint16,
                                               "i64": np.int64}[dtype])


def load(rng, shape, box, start, dtype, swizzle):
    a = random(rng, shape, dtype)
    image = in_shared(tile(a, box, start), swizzle)
    coordinates = [int(v) for v in reversed(start)] + [0] * (5 - len(start))
    return [Tma(a, box, swizzle, dtype), Out(image.view(np.uint32)), U32(len(image)),
            *(I32(v) for v in coordinates)]


LOAD = dict(block=64, smem=16384, only="sm_90a")


# With more threads than the tile has words, and with fewer.
@case("tma", block=lambda threads, **_: threads, smem=16384, only="sm_90a", each=[
    dict(start=0, threads=64), dict(start=90, threads=16), dict(start=-5, threads=64)])
def load1(rng, start, threads):
    return load(rng, (100,), (32,), (start,), "f32", 0)


SWIZZLES = [dict(dtype=d, swizzle=s, at=at) for d, s, at in [
    ("f32", 0, (3, 8)), ("f32", 32, (0, 0)), ("f32", 64, (5, 4)), ("f32", 128, (1, 32)),
    ("bf16", 0, (-2, 8)), ("bf16", 32, (2, 16)), ("bf16", 64, (40, 8)), ("bf16", 128, (30, 56)),
    ("f16", 128, (0, 0)), ("u8", 128, (4, -16)), ("u8", 32, (7, 80)), ("u16", 64, (0, 64)),
    ("i32", 128, (-3, -4)), ("f64", 64, (10, 6)), ("i64", 128, (8, 12))]]


@case("tma", each=SWIZZLES, **LOAD)
def load2(rng, dtype, swizzle, at):
    bytes_ = {"f32": 4, "bf16": 2, "f16": 2, "u8": 1, "u16": 2, "i32": 4, "f64": 8, "i64": 8}[dtype]
    inner = (swizzle or 64) // bytes_
    return load(rng, (48, 128), (16, inner), at, dtype, swizzle)


@case("tma", each=[dict(swizzle=0), dict(swizzle=128)], **LOAD)
def load3(rng, swizzle):
    return load(rng, (5, 10, 64), (2, 4, 32), (4, 3, 32), "f32", swizzle)


@case("tma", each=[dict(swizzle=0), dict(swizzle=64)], **LOAD)
def load4(rng, swizzle):
    return load(rng, (3, 4, 6, 64), (2, 2, 4, 32), (1, 3, -1, 16), "bf16", swizzle)


@case("tma", each=[dict(swizzle=0), dict(swizzle=32)], **LOAD)
def load5(rng, swizzle):
    return load(rng, (2, 3, 4, 5, 32), (2, 2, 2, 2, 16), (0, 2, 1, 4, 8), "f16", swizzle)


@case("tma", block=32, smem=4096, only="sm_90a", each=[dict(tiles=0), dict(tiles=1), dict(tiles=5)])
def ring(rng, tiles):
    a = rng.integers(-9, 10, (16 * max(tiles, 1), 32)).astype(np.float32)
    weight = np.tile(np.arange(1, 17) * (tiles > 0), max(tiles, 1))[:, None]
    return [Tma(a, (16, 32)), Out((a * weight).sum(0).astype(np.float32)), I32(tiles)]


def store_arguments(rng, dtype, swizzle, at, combine):
    a = random(rng, (40, 64), dtype)
    values = random(rng, (8, 32), dtype)
    if dtype == "f32":  # sums that no order changes
        a, values = np.round(a * 8), np.round(values * 8)
    expected = a.copy()
    for r, c in np.ndindex(8, 32):
        y, x = at[0] + r, at[1] + c
        if 0 <= y < 40 and 0 <= x < 64:
            expected[y, x] = combine(a[y, x], values[r, c])
    image = in_shared(values, swizzle)
    return [In(image.view(np.uint32)), Tma(None, (8, 32), swizzle, dtype, over="result"),
            InOut(expected, value=a, name="result"), U32(len(image)), I32(at[1]), I32(at[0])]


STORE = dict(block=lambda threads, **_: threads, smem=4096, only="sm_90a")


@case("tma", each=[
    dict(dtype="f32", swizzle=0, at=(3, 4), threads=320), dict(dtype="f32", swizzle=128, at=(36, 48), threads=64),
    dict(dtype="bf16", swizzle=64, at=(-2, -8), threads=64)], **STORE)
def store(rng, dtype, swizzle, at, threads):
    return store_arguments(rng, dtype, swizzle, at, lambda old, new: new)


@case("tma", each=[dict(dtype="f32", swizzle=128, at=(34, 40), threads=320),
                   dict(dtype="i32", swizzle=0, at=(0, 0), threads=64)], **STORE)
def reduce_add(rng, dtype, swizzle, at, threads):
    return store_arguments(rng, dtype, swizzle, at, lambda old, new: old + new)


@case("tma", each=[dict(dtype="i32", swizzle=128, at=(2, 8), threads=n) for n in (320, 64)], **STORE)
def reduce_max(rng, dtype, swizzle, at, threads):
    return store_arguments(rng, dtype, swizzle, at, max)


@case("tma", grid=4, block=64, cluster=2, smem=4096, only="sm_90a")
def multicast(rng):
    a = rng.standard_normal((32, 32)).astype(np.float32)
    return [Tma(a, (16, 32), 128), Out(np.tile(np.concatenate([in_shared(a[:16], 128), in_shared(a[16:], 128)])
                                               .view(np.uint32), 4))]


# Of the map that it begins with nothing stays: rank, box, type, steps, swizzle, what fills.
@case("tma", block=lambda threads: threads, smem=1024, only="sm_90a", each=[dict(threads=160), dict(threads=64)])
def replace(rng, threads):
    a = rng.standard_normal((8, 16)).astype(np.float32)
    out = rng.standard_normal((9, 20)).astype(np.float32)
    expected = out.copy()
    expected[3:9, 8:20] = a[:6, :12]
    other = np.zeros((8, 64, 64), np.uint16)
    scratch = np.zeros(128, np.uint8)
    return [Tma(other, (2, 4, 8), 32, "bf16", words="step=2x2x2:interleave=32:fill=nan"), In(a), InOut(expected, value=out),
            InOut(None, value=scratch), U32(20), U32(9)]
