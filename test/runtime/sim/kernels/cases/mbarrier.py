# SPDX-License-Identifier: Apache-2.0
"""mbarrier."""
import numpy as np

from launch import I32, In, Out, case


def words(rng, *shape):
    return rng.integers(0, 2 ** 32, shape, dtype=np.uint64).astype(np.uint32)


@case("mbarrier", block=96, each=[dict(n=0), dict(n=5)])
def tokens(rng, n):
    a = words(rng, 96)
    x = a
    for _ in range(n):
        x = x * np.uint32(3) + np.roll(x, -33)
    return [In(a), Out(x), I32(n)]


@case("mbarrier", block=96, each=[dict(n=0), dict(n=7)])
def stages(rng, n):
    a = words(rng, 7, 32)
    t = np.arange(32, 96)
    total = np.zeros(64, np.uint32)
    for row in a[:n]:
        total = total * np.uint32(7) + row[(t % 32 * 5 + t // 32) % 32]
    return [In(a if n else a[:1, :1]), Out(total), I32(n)]


@case("mbarrier", block=64)
def counts(rng):
    return [Out(np.array([40, 33, 1, 32, 1], np.uint32))]


@case("mbarrier", block=64, only="sm_90a")
def transactions(rng):
    a = words(rng, 3, 64)
    return [In(a), Out(a[:, ::-1] + np.uint32(1))]


@case("mbarrier", block=64, only="sm_90a")
def by_hand(rng):
    return [Out(np.full(64, 42, np.uint32))]
