# SPDX-License-Identifier: Apache-2.0
"""Clusters and bulk copies."""
import numpy as np

from launch import I32, In, InOut, Out, case


def words(rng, *shape, high=2 ** 32):
    return rng.integers(0, high, shape, dtype=np.uint64).astype(np.uint32)


@case("cluster", grid=8, block=64, cluster=4, only="sm_90a")
def ring(rng):
    a = words(rng, 2, 4, 64)
    seen = np.roll(a, -1, 1)[..., ::-1]
    total = np.broadcast_to(seen.sum((1, 2), dtype=np.uint32)[:, None], (2, 4))
    return [In(a), Out(np.concatenate([seen, total[..., None]], -1))]


@case("cluster", grid=2, block=32, cluster=2, only="sm_90a", each=[dict(n=0), dict(n=5)])
def remote_arrive(rng, n):
    a = words(rng, 5, 2, 32)
    total = np.zeros((2, 32), np.uint32)
    for row in a[:n]:
        total = total * np.uint32(3) + row[::-1, ::-1]
    return [In(a), Out(total), I32(n)]


@case("cluster", grid=4, block=64, cluster=2, only="sm_90a")
def bulk(rng):
    a = rng.integers(-8, 9, (2, 2, 64)).astype(np.float32)
    return [In(a), Out(a[:, ::-1] * 2 + 1), InOut((a * 2).sum((0, 1)), value=np.zeros(64, np.float32))]


@case("cluster", grid=3, block=32, only="sm_90a")
def bulk_reduce(rng):
    a, start = words(rng, 3, 32), words(rng, 8, 32)
    start[7] = rng.integers(0, 3, 32)
    a[:, ::4] |= 0x80000000  # some far above, so that every order of the blocks increments
    a[:, 1::2] = 0  # and some that always wrap to zero
    a[:, 2::4] |= 64
    out = start.copy()
    for row in a:
        out[0] += row
        out[1] = np.minimum(out[1].view(np.int32), row.view(np.int32)).view(np.uint32)
        out[2] = np.maximum(out[2], row)
        out[3] &= row
        out[4] |= row
        out[5] ^= row
        out[6] = (out[6].view(np.uint64) + row.view(np.uint64)).view(np.uint32)
        out[7] = np.where(out[7] >= row, 0, out[7] + np.uint32(1))
    return [In(a), InOut(out, value=start)]


@case("cluster", grid=(4, 2), block=1, cluster=(2, 2), only="sm_90a")
def registers(rng):
    out = []
    for y, x in np.ndindex(2, 4):
        out.append([x // 2, y // 2, 2, x % 2, y % 2, 2, x % 2 + 2 * (y % 2), 1 + 3 * 16])
    return [Out(np.array(out, np.uint32))]


@case("cluster", block=256, only="sm_90a", each=[dict(n=0), dict(n=6)])
def roles(rng, n):
    a = words(rng, 6, 128)
    total = np.zeros(128, np.uint32)
    t = np.arange(128, 256)
    for row in a[:n]:
        total = total * np.uint32(5) + row[t * 3 % 128]
    return [In(a), Out(total), I32(n)]


@case("cluster", grid=8, block=32, cluster=4, only="sm_90a", each=[dict(n=0), dict(n=1), dict(n=3)])
def send_parts(rng, n):
    rounds = max(n, 1)  # of none, nothing is written
    a = rng.integers(0, 99, (2, 4, rounds, 32, 4)).astype(np.float32)
    sums = np.broadcast_to(a.sum(1, keepdims=True), a.shape)
    first = a[:, :, :, 0, 0].view(np.uint32)
    others = np.stack([np.delete(first, r, 1).max(1) for r in range(4)], 1)
    # A buffer's largest stays for the next round that takes it.
    most = np.stack([others[:, :, i % 2:i + 1:2].max(2) for i in range(rounds)], 2)
    results = [np.where(n > 0, r, 0).astype(r.dtype) for r in (sums, most)]
    return [In(a), *(InOut(r, value=np.zeros_like(r)) for r in results), I32(n)]
