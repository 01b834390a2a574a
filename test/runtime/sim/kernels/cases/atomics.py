# SPDX-License-Identifier: Apache-2.0
"""Atomics: results that no order of the threads changes."""
import numpy as np

from formats import encode, to_float
from launch import In, InOut, Out, U32, Within, case

M32 = 0xFFFFFFFF


@case("atomics", grid=3, block=64)
def reduce32(rng):
    n = 192
    a = rng.integers(-2 ** 31, 2 ** 31, n).astype(np.int32)
    u = a.view(np.uint32)
    start = np.array([5, 6, 7, -8, -1, 10, -1, 0, 0, 3, 7, 0], np.int32)

    def fold(f, values, first):
        for v in values:
            first = f(first, int(v))
        return first

    dec = 7
    for _ in range(n):
        dec = 49 if dec == 0 or dec > 49 else dec - 1
    total = int(a.astype(np.int64).sum())
    expected = [5 + total, 6 + total, min(7, int(a.min())), max(-8, int(a.max())),
                int(u.min()), max(10, int(u.max())),
                fold(lambda x, y: x & y, u, M32), fold(lambda x, y: x | y, u, 0),
                fold(lambda x, y: x ^ y, u, 0), (3 + n) % 100, dec, total]
    return [In(a), InOut(np.array([v & M32 for v in expected], np.uint64).astype(np.uint32).view(np.int32),
                         value=start)]


@case("atomics", grid=3, block=64)
def reduce64(rng):
    a = rng.integers(-2 ** 63, 2 ** 63, 192, dtype=np.int64)
    u = a.view(np.uint64)
    start = np.array([1, 0, 0, -1, 0, 0], np.int64)
    top = np.uint64(max(u.max(), np.uint64(0))).view(np.int64)
    expected = np.array([a.sum() + 1, min(0, a.min()), top, np.bitwise_and.reduce(a),
                         np.bitwise_or.reduce(a), np.bitwise_xor.reduce(a)], np.int64)
    return [In(a), InOut(expected, value=start)]


def floats(rng, hopper):
    a = rng.integers(-3, 4, 192).astype(np.float32)
    total = float(a.sum())
    positive = int((a > 0).sum())

    def pair(low, high, name):
        return int(encode([low], name)[0]) | int(encode([high], name)[0]) << 16

    packed = [pair(total, -total, "f16"), pair(positive, 192, "bf16") if hopper else 0]
    single = [pair(total, 0, "f16") & 0xFFFF, pair(positive, 0, "bf16") & 0xFFFF if hopper else 0]
    return [In(a), InOut(np.array([total, total], np.float32), value=np.zeros(2, np.float32)),
            InOut(np.array([total]), value=np.zeros(1)),
            InOut(np.array(packed, np.uint32), value=np.zeros(2, np.uint32)),
            InOut(np.array(single, np.uint16), value=np.zeros(2, np.uint16))]


@case("atomics", grid=3, block=64, only="sm_8?", entry="reduce_floats")
def reduce_floats(rng):
    return floats(rng, False)


@case("atomics", grid=3, block=64, only="sm_90a", entry="reduce_floats")
def reduce_floats_hopper(rng):
    return floats(rng, True)


@case("atomics", grid=2, block=48)
def tickets(rng):
    n = 96
    wide = np.full(n // 2, 7, np.uint64)

    class Permutations(Within):
        def wrong(self, got, _):
            bad = np.zeros(got.shape, bool)
            bad[0] = sorted(got[0]) != list(range(n))
            # Every exchanged value but the last came back, and the first zero.
            bad[1] = len(set(got[1])) != n or min(got[1]) != 0 or max(got[1]) > n
            # Of two threads, one saw 7 and the other saw the first's number.
            for t in range(0, n, 2):
                x, y = got[2, t], got[2, t + 1]
                bad[2, t] = not ((x == 7 and y == t) or (y == 7 and x == t + 1))
            return bad

    class Swapped(Within):
        def wrong(self, got, _):
            return np.array([g not in (2 * i, 2 * i + 1) for i, g in enumerate(got)])

    zero = np.zeros(1, np.uint32)
    return [InOut(np.array([n], np.uint32), value=zero),
            Out(np.zeros((3, n), np.uint32), Permutations("any order of the threads")),
            InOut(zero, Within("the thread that came last is not known", absolute=n), value=zero),
            InOut(wide, Swapped("either of two threads wins"), value=wide)]


@case("atomics", grid=3, block=64, each=[dict(n=40), dict(n=700)])
def shared_histogram(rng, n):
    a = rng.integers(0, 256, n).astype(np.uint8)
    bins = np.bincount(a & 15, minlength=16)
    expected = np.concatenate([bins, bins, [n]]).astype(np.uint32)
    return [In(a), InOut(expected, value=np.zeros(33, np.uint32)), U32(n)]


@case("atomics", grid=3, block=64)
def maximum(rng):
    a = rng.standard_normal(192).astype(np.float32)
    start = np.array([-np.inf], np.float32)
    return [In(a), InOut(a.max(keepdims=True).view(np.uint32), value=start.view(np.uint32))]


@case("atomics", grid=2, block=48)
def cas16(rng):
    n = 96

    class OneOfFour(Within):
        def wrong(self, got, _):
            return np.repeat(got.reshape(-1, 4).sum(1) != 1, 4)

    class Winner(Within):
        def wrong(self, got, _):
            return np.array([not 4 * i < g <= 4 * i + 4 for i, g in enumerate(got)])

    zero = np.zeros(n // 4, np.uint16)
    return [InOut(zero, Winner("one of four threads wins"), value=zero),
            Out(np.zeros(n, np.uint16), OneOfFour("one of four threads wins"))]


@case("atomics", grid=2, block=64, only="sm_90a")
def vectors(rng):
    n = 128
    a = rng.integers(-2, 3, n).astype(np.float32)
    s = a.sum()
    out = np.array([s, 2 * s, -s, n, s, s + n, 0, 0], np.float32)

    def pair(low, high):
        return int(encode([low], "f16")[0]) | int(encode([high], "f16")[0]) << 16

    half = np.array([pair(s, -s), pair(-s, s)], np.uint32)

    class OneOfEight(Within):
        def wrong(self, got, _):
            return np.repeat(got.reshape(-1, 8).sum(1) != 1, 8)

    class Winner(Within):
        def wrong(self, got, _):
            lo, hi = got.reshape(-1, 2).T
            i = np.arange(len(lo))
            # hi is ~(lo − 1); as float64 both are near 2⁶⁴
            bad = ~((8 * i < lo) & (lo <= 8 * i + 8)) | (hi < 2.0 ** 63)
            return np.repeat(bad, 2)

    zero = np.zeros(n // 8 * 2, np.uint64)

    class Half(Within):
        def wrong(self, got, expected):
            def f(v):
                return to_float(v.astype(np.uint32).view(np.uint16), "f16")
            return (f(got) != f(expected)).reshape(-1, 2).any(-1)

    return [In(a), InOut(out, value=np.zeros(8, np.float32)),
            InOut(half, Half("zeros of either sign"), value=np.zeros(2, np.uint32)),
            InOut(zero, Winner("one of eight threads wins"), value=zero),
            Out(np.zeros(n, np.uint32), OneOfEight("one of eight threads wins"))]
