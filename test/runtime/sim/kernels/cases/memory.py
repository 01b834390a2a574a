# SPDX-License-Identifier: Apache-2.0
"""Loads and stores."""
import numpy as np

from launch import I32, In, Out, U32, case

N = 64


@case("memory", block=N)
def widths(rng):
    a = rng.integers(0, 256, N * 16).astype(np.uint8)
    rows = a.reshape(N, 16)

    def as_(dtype, at):
        return rows.view(dtype)[:, at].astype(np.int64)

    mixed = as_(np.int8, 0) + as_(np.int8, 1) * 3 + as_(np.int8, 2) * 5 + as_(np.int8, 3) * 7 + \
        as_(np.int16, 2) * 11 + as_(np.int16, 3)
    expected = np.stack([as_(np.int8, 0), as_(np.uint8, 1), as_(np.int16, 1), as_(np.uint16, 2),
                         as_(np.int32, 2), as_(np.uint32, 3), as_(np.int64, 1), mixed,
                         as_(np.int64, 0) ^ as_(np.int64, 1)])
    return [In(a.view(np.int8)), Out(expected), U32(N)]


@case("memory", block=N)
def hints(rng):
    a = rng.integers(0, 2 ** 32, (N, 4), dtype=np.uint64).astype(np.uint32)
    expected = np.concatenate([np.tile(a, (10, 1)), np.tile(a[:1], (N, 1))])
    return [In(a), Out(expected), U32(N)]


@case("memory", block=32, smem=128)
def spaces(rng):
    a = rng.standard_normal(32).astype(np.float32)
    factors = np.array([1, -2, .5, 4, 8, -.25, 3, 7], np.float32)
    counters = [10, 20, 30, 40]
    out, where = [], []
    for t in range(32):
        local = [a[(t + i) & 31] for i in range(8)]
        p = [a, a * np.float32(2), local, factors][t % 4]
        out.append((p[t & 7] + a[31 - t] * np.float32(3)) + factors[t & 7])
        where.append([1, 2, 4, 2][t % 4] + 16 * counters[t & 3] + 1024 * 30)
    return [In(a), Out(np.array(out, np.float32)), Out(np.array(where, np.int32))]


@case("memory", grid=(3, 2), block=(32, 8), each=[dict(rows=33), dict(rows=50)])
def transpose(rng, rows):
    a = rng.standard_normal((rows, 70)).astype(np.float32)
    return [In(a), Out(np.ascontiguousarray(a.T)), I32(rows), I32(70)]
