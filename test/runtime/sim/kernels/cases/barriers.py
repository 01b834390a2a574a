# SPDX-License-Identifier: Apache-2.0
"""Barriers of a thread block."""
import numpy as np

from launch import I32, In, Out, case


def words(rng, n, high=2 ** 32):
    return rng.integers(0, high, n, dtype=np.uint64).astype(np.uint32)


@case("barriers", block=96)
def whole(rng):
    a = words(rng, 96)
    x = a
    for i in range(5):
        x = np.roll(x, -37) * np.uint32(3) + np.uint32(i)
    return [In(a), Out(x)]


@case("barriers", block=128)
def named(rng):
    a = words(rng, 128)
    x = a.reshape(2, 64).copy()
    for group in range(2):
        for _ in range(3 + group):
            x[group] += np.roll(x[group], -1)
    return [In(a), Out(x.ravel())]


@case("barriers", block=128, each=[dict(n=0), dict(n=7)])
def producer(rng, n):
    a = words(rng, 7 * 32)
    total = np.zeros(96, np.uint32)
    t = np.arange(32, 128)
    for row in a.reshape(7, 32)[:n]:
        total = total * np.uint32(5) + row[(t + t // 32) % 32]
    return [In(a if n else a[:1]), Out(total), I32(n)]


@case("barriers", block=64)
def reducing(rng):
    a = words(rng, 64, 100)
    a[a == 7] = 8
    # True is 1 here: what CUDA's functions call any non-zero, the compiler makes so.
    expected = np.stack([np.full(64, (a > 50).sum()), np.ones(64), np.zeros(64), np.full(64, (a > 20).sum())])
    return [In(a), Out(expected.astype(np.uint32))]


@case("barriers", block=64)
def divergent(rng):
    a = words(rng, 64)
    t = np.arange(64)
    return [In(a), Out(a[::-1] + np.where(t % 3 == 0, 1, 2).astype(np.uint32))]


@case("barriers", block=64)
def warp_wide(rng):
    a = words(rng, 64, 1000)
    x = np.cumsum(a.reshape(2, 32), 1)
    x[:, :16] = x[:, :16][:, ::-1]
    return [In(a), Out(x.astype(np.uint32).ravel())]
