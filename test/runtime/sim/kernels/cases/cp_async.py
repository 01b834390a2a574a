# SPDX-License-Identifier: Apache-2.0
"""cp.async."""
import numpy as np

from launch import I32, In, Out, Within, case


def words(rng, *shape):
    return rng.integers(0, 2 ** 32, shape, dtype=np.uint64).astype(np.uint32)


@case("cp_async", block=32)
def sizes(rng):
    a = words(rng, 32, 4)
    out = np.full((4, 32, 4), 0xEEEEEEEE, np.uint32)
    out[0, :, :1], out[1, :, :2], out[2] = a[:, :1], a[:, :2], a
    for t in range(32):
        out[3, t] = np.where(np.arange(4) < t % 5, a[t], 0)
    return [In(a), Out(out[:, np.arange(32) ^ 1])]


@case("cp_async", block=64, each=[dict(n=0), dict(n=1), dict(n=2), dict(n=6)])
def ring(rng, n):
    a = rng.standard_normal((max(n, 1), 64, 4)).astype(np.float32)
    expected = np.zeros(64) if n == 0 else (np.roll(a.astype(np.float64), -1, 1) * [1, 2, 3, 4]).sum((0, 2))
    a = a if n else a[:1, :1, :1]  # nothing is there to be read
    return [In(a), Out(expected, Within("4n fused steps on sums below 2⁷", absolute=4 * n * 2.0 ** -18), "f32"),
            I32(n)]


@case("cp_async", block=32)
def groups(rng):
    a = words(rng, 3, 32)
    return [In(a), Out(a[0] * np.uint32(3) + a[1] * np.uint32(5) + a[2] * np.uint32(7))]


@case("cp_async", block=64, each=[dict(n=0), dict(n=5)])
def arrive(rng, n):
    a = words(rng, 5, 64)
    total = np.zeros(64, np.uint32)
    t = np.arange(64)
    for row in a[:n]:
        total = total * np.uint32(3) + row[63 - t] + row[(63 - t) ^ 2] * np.uint32(2)
    return [In(a), Out(total), I32(n)]
