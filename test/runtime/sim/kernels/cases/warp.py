# SPDX-License-Identifier: Apache-2.0
"""Shuffles, votes, matches and reductions over a warp."""
import numpy as np

from launch import In, Out, U32, case

N = 64


def per_warp(a, function):
    """function(values of a warp, lane) for every thread."""
    return [function([int(v) for v in a[t // 32 * 32:t // 32 * 32 + 32]], t % 32) for t in range(len(a))]


@case("warp", block=N)
def shuffle(rng):
    a = rng.integers(-2 ** 31, 2 ** 31, N).astype(np.int32)
    lanes = rng.integers(0, 32, N).astype(np.int32)

    def indexed(width):
        def f(t):
            base = t // width * width
            return int(a[base + int(lanes[t]) % width])
        return [f(t) for t in range(N)]

    def up(delta, width):
        return [int(a[t - delta]) if t % width >= delta else int(a[t]) for t in range(N)]

    def down(delta, width):
        return [int(a[t + delta]) if t % width + delta < width else int(a[t]) for t in range(N)]

    def xor(mask, width):
        # A lane outside its segment (above its end) gives the thread its own value.
        out = []
        for t in range(N):
            source = (t % 32) ^ mask
            limit = t % 32 // width * width + width - 1
            out.append(int(a[t // 32 * 32 + source]) if source <= limit else int(a[t]))
        return out

    # shfl.up with c = 0x0800: the lowest source of a lane is lane & 8.
    segment = []
    for t in range(N):
        lane = t % 32
        lowest = lane & 0x08
        source = lane - 4
        inside = source >= lowest
        value = int(a[t - 4]) if inside else int(a[t])
        segment.append((value * 2 + inside + 2 ** 31) % 2 ** 32 - 2 ** 31)
    masked = [int(a[t // 32 * 32 + 4]) if t % 32 % 3 == 1 else int(a[t]) for t in range(N)]
    rows = [indexed(32), indexed(8), up(3, 32), up(1, 16), down(5, 32), down(2, 4),
            xor(21, 32), xor(3, 8), segment, masked]
    return [In(a), In(lanes), Out(np.array(rows, np.int64).astype(np.int32)), U32(N)]


@case("warp", block=N)
def vote(rng):
    a = rng.integers(0, 1000, N).astype(np.uint32)
    a[32:] = rng.integers(501, 900, 32)

    def ballot(bits):
        return sum(int(bool(b)) << i for i, b in enumerate(bits))

    def partial(w, l):
        if not 8 <= l < 24:
            return 0
        return sum(w[8:24]) + ballot([w[i] & 2 if 8 <= i < 24 else 0 for i in range(32)])

    def bit(b):
        return 1 if b else 0

    def lanemasks(w, l):
        m = 0xFFFFFFFF
        lt, le = (1 << l) - 1, (2 << l) - 1
        gt, ge, eq = m & ~le, m & ~lt, 1 << l
        return (lt ^ le << 1 & m ^ gt >> 1 ^ ge ^ eq * 3 & m) & m

    def xor_all(w):
        r = 0
        for v in w:
            r ^= v
        return r

    rows = [
        lambda w, l: ballot([v & 1 for v in w]), lambda w, l: bit(all(v < 1000 for v in w)),
        lambda w, l: bit(any(v > 990 for v in w)),
        lambda w, l: bit(len({v > 500 for v in w}) == 1),
        lambda w, l: ballot([v % 7 == w[l] % 7 for v in w]),
        lambda w, l: 0xFFFFFFFF, lambda w, l: 1,
        lambda w, l: ballot([v % 3 == w[l] % 3 for v in w]),
        lambda w, l: sum(w), lambda w, l: min(w), lambda w, l: max(w) - 500,
        lambda w, l: int(np.bitwise_and.reduce(w)), lambda w, l: int(np.bitwise_or.reduce(w)),
        lambda w, l: xor_all(w), partial, lanemasks, lambda w, l: l * 64 + 1,
    ]

    def words(f):
        return [v & 0xFFFFFFFF for v in per_warp(a, f)]

    return [In(a), Out(np.array([words(f) for f in rows], np.uint32)), U32(N)]


@case("warp", block=N, only="sm_90a")
def elect(rng):
    return [Out(np.full(N, 111, np.uint32))]
