# SPDX-License-Identifier: Apache-2.0
"""Integer and bit instructions: Python's integers are the reference."""
import numpy as np

from launch import I32, In, Out, U32, case

N = 256
M32 = 0xFFFFFFFF
EDGES = [0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF,
         0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF]


def signed(v, bits=32):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def quotient(a, b):  # towards zero
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def words(rng, n=N, bits=32):
    a = rng.integers(0, 1 << bits, n, dtype=np.uint64, endpoint=False) if bits < 64 else \
        rng.integers(0, 1 << 63, n, dtype=np.uint64) * 2 + rng.integers(0, 2, n, dtype=np.uint64)
    small = rng.random(n) < 0.2
    a[small] >>= np.uint64(bits * 3 // 4)
    return a.astype({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])


def table(functions, dtype, *inputs):
    bits = np.dtype(dtype).itemsize * 8
    rows = [[f(*(int(v) for v in xs)) & ((1 << bits) - 1) for xs in zip(*inputs)]
            for f in functions]
    return np.array(rows, dtype)


def edges(rng):
    a, b = words(rng), words(rng)
    a[:16], a[16:32], b[:16] = EDGES, EDGES, EDGES[::-1]
    return a, b


def saturate(v):
    return max(-(1 << 31), min((1 << 31) - 1, v))


@case("integer", grid=2, block=128)
def binary32(rng):
    a, b = edges(rng)
    b[b == 0] = 3
    b[(a == 0x80000000) & (b == M32)] = 7  # the quotient that overflows is unspecified
    s = signed
    rows = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
        lambda x, y: s(x) * s(y) >> 32, lambda x, y: x * y >> 32,
        lambda x, y: quotient(s(x), s(y)), lambda x, y: x // y,
        lambda x, y: s(x) - s(y) * quotient(s(x), s(y)), lambda x, y: x % y,
        lambda x, y: min(s(x), s(y)), min, lambda x, y: max(s(x), s(y)), max,
        lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y,
        lambda x, y: saturate(s(x) + s(y)), lambda x, y: saturate(s(x) - s(y)),
        lambda x, y: s(x, 24) * s(y, 24),
        lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF) >> 16,
    ]
    return [In(a), In(b), Out(table(rows, np.uint32, a, b)), U32(N)]


@case("integer", grid=2, block=128)
def shifts32(rng):
    a, b = edges(rng)
    b = (b % 64).astype(np.uint32)
    s = signed

    def bmsk(x, y, clamp):
        if clamp:
            return 0 if x >= 32 else ((1 << min(y, 32)) - 1) << x
        return ((1 << (y & 31)) - 1) << (x & 31)

    def szext_signed_wrap(x, y):
        y &= 31
        return s(x & ((1 << y) - 1), y) if y else 0

    a[::3] %= 40
    rows = [
        lambda x, y: x << y if y < 32 else 0, lambda x, y: x >> y,
        lambda x, y: s(x) >> y,
        lambda x, y: bmsk(x, y, True), lambda x, y: bmsk(x, y, False),
        lambda x, y: x & ((1 << y) - 1), szext_signed_wrap,
    ]
    return [In(a), In(b), Out(table(rows, np.uint32, a, b)), U32(N)]


@case("integer", grid=2, block=128)
def unary32(rng):
    a, _ = edges(rng)
    s = signed

    def highest(x):
        return x.bit_length() - 1  # −1 when there is none

    def highest_signed(x):
        return highest(~x & M32 if s(x) < 0 else x)

    def shift_amount(p):
        return p if p < 0 else 31 - p

    rows = [
        lambda x: ~x, lambda x: -x, lambda x: abs(s(x)), lambda x: int(x == 0),
        lambda x: bin(x).count("1"), lambda x: 32 - x.bit_length(),
        lambda x: int(f"{x:032b}"[::-1], 2),
        highest, highest_signed,
        lambda x: shift_amount(highest(x)), lambda x: shift_amount(highest_signed(x)),
    ]
    return [In(a), Out(table(rows, np.uint32, a)), U32(N)]


def lop3(lut):
    def f(x, y, z):
        r = 0
        for i in range(32):
            index = (x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1)
            r |= (lut >> index & 1) << i
        return r
    return f


def prmt(x, y, selector):
    data = x | y << 32
    r = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = data >> 8 * (nibble & 7) & 255
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        r |= byte << 8 * i
    return r


PRMT = {  # selector nibbles, byte 3 first, for the low two bits of the control word
    "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"],
}


def prmt_mode(mode):
    return lambda x, y, z: prmt(x, y, int(PRMT[mode][z & 3], 16))


def funnel(left, clamp):
    def f(x, y, z):
        n = min(z, 32) if clamp else z & 31
        both = y << 32 | x
        return (both << n) >> 32 if left else both >> n
    return f


def dp4a(sa, sb):
    def lane(x, i, is_signed):
        v = x >> 8 * i & 255
        return signed(v, 8) if is_signed else v
    return lambda x, y, z: z + sum(lane(x, i, sa) * lane(y, i, sb) for i in range(4))


def dp2a(high, sa, sb):
    def f(x, y, z):
        total = z
        for i in range(2):
            h, b = x >> 16 * i & 0xFFFF, y >> 8 * (i + 2 * high) & 255
            total += (signed(h, 16) if sa else h) * (signed(b, 8) if sb else b)
        return total
    return f


@case("integer", grid=2, block=128)
def ternary32(rng):
    a, b = edges(rng)
    c = words(rng)
    c[1::4] %= 70
    s = signed
    rows = [
        lambda x, y, z: x * y + z, lambda x, y, z: (s(x) * s(y) >> 32) + z,
        lambda x, y, z: (x * y >> 32) + z,
        lambda x, y, z: saturate((s(x) * s(y) >> 32) + s(z)),
        lambda x, y, z: z + abs(s(x) - s(y)), lambda x, y, z: z + abs(x - y),
        lop3(0x96), lop3(0xE8), lop3(0x1B), prmt,
        *(prmt_mode(m) for m in PRMT),
        funnel(True, True), funnel(False, True), funnel(True, False), funnel(False, False),
        dp4a(True, True), dp4a(False, False), dp4a(True, False),
        dp2a(False, True, True), dp2a(True, False, True),
        lambda x, y, z: x if s(z) >= 0 else y,
        lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) + z,
    ]
    return [In(a), In(b), In(c), Out(table(rows, np.uint32, a, b, c)), U32(N)]


@case("integer", grid=2, block=128)
def fields32(rng):
    a, b = edges(rng)
    pos = rng.integers(0, 41, N).astype(np.uint32)
    length = rng.integers(0, 41, N).astype(np.uint32)

    def bfe_u(x, w, p, n):
        return x >> p & ((1 << n) - 1)

    def bfe_s(x, w, p, n):
        if n == 0:
            return 0
        wide = signed(x) & ((1 << 128) - 1)  # sign-extended past the word
        return signed(wide >> p & ((1 << n) - 1), n)

    def bfi(x, w, p, n):
        mask = ((1 << n) - 1) << p & M32
        return (w & ~mask) | (x << p & mask)

    def fns(x, w, p, n):
        base, offset = p & 31, n % 9 - 4
        if offset == 0:
            return base if x >> base & 1 else M32
        order = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [i for i in order if x >> i & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else M32

    rows = [bfe_u, bfe_s, bfi, fns]
    return [In(a), In(b), In(pos), In(length),
            Out(table(rows, np.uint32, a, b, pos, length)), U32(N)]


@case("integer", grid=2, block=128)
def wide64(rng):
    a, b = words(rng, bits=64), words(rng, bits=64)
    b[b == 0] = 5

    def s(v):
        return signed(v, 64)

    def bfi(x, y):
        mask = ((1 << 20) - 1) << 30
        return (y & ~mask) | (x << 30 & mask)

    rows = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
        lambda x, y: quotient(s(x), s(y)), lambda x, y: x // y,
        lambda x, y: s(x) - s(y) * quotient(s(x), s(y)), lambda x, y: x % y,
        lambda x, y: x * y >> 64, lambda x, y: s(x) * s(y) >> 64,
        lambda x, y: min(s(x), s(y)), max,
        lambda x, y: x << (y & 63), lambda x, y: x >> (y & 63), lambda x, y: s(x) >> (y & 63),
        lambda x, y: bin(x).count("1"), lambda x, y: 64 - x.bit_length(),
        lambda x, y: int(f"{x:064b}"[::-1], 2), lambda x, y: (x & y) | (~x ^ y),
        lambda x, y: (x & M32) * (y & M32), lambda x, y: signed(x) * signed(y) + s(x),
        lambda x, y: signed(x >> 17, 23), bfi, lambda x, y: abs(s(x)),
    ]
    return [In(a), In(b), Out(table(rows, np.uint64, a, b)), U32(N)]


@case("integer", grid=2, block=64)
def carry128(rng):
    n = 128
    a, b = words(rng, 2 * n, 64), words(rng, 2 * n, 64)
    a[::6] = 2 ** 64 - 1
    out, tail = [], []
    for i in range(n):
        x, y = (int(v[2 * i]) | int(v[2 * i + 1]) << 64 for v in (a, b))
        for r in (x + y, x - y, x * y):
            out += [r % 2 ** 64, r >> 64 & 2 ** 64 - 1]
        x, y = x % 2 ** 96, y % 2 ** 96
        total = x + y
        tail.append(total & 2 ** 64 - 1)
        difference = (x - y) % 2 ** 96
        product = (x & M32) * (y & M32)
        low = (product & M32) + (difference & M32)
        high = (difference >> 64) + (product >> 32) + (low >> 32)
        tail.append((high & M32) << 32 | low & M32)
    return [In(a), In(b), Out(np.array(out + tail, np.uint64))]


@case("integer", grid=2, block=128)
def predicates(rng):
    a, b = edges(rng)
    b[::5] = a[::5]
    c = rng.integers(0, 2, N).astype(np.uint32)
    s = signed

    def both(first, second):
        return int(first) | 2 * int(second)

    rows = [
        lambda x, y, z: both(s(x) < s(y) and z, not s(x) < s(y) and z),
        lambda x, y, z: both(x >= y or not z, not x >= y or not z),
        lambda x, y, z: 5 if (x == y) != bool(z) else 9,
        lambda x, y, z: M32 if s(x) > s(y) else 0,
        lambda x, y, z: M32 if x <= y and z else 0,
        lambda x, y, z: int((x <= y and (x <= y) == bool(z)) or not z),
        lambda x, y, z: x + y if z else 7,
    ]
    return [In(a.view(np.int32)), In(b.view(np.int32)), In(c),
            Out(table(rows, np.uint32, a, b, c)), U32(N)]


def int16_rows(packed):
    def s(v):
        return signed(v, 16)

    rows = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
        lambda x, y: s(x) * s(y) >> 16, lambda x, y: x * y >> 16,
        lambda x, y: quotient(s(x), s(y)), lambda x, y: x % y,
        lambda x, y: min(s(x), s(y)), max, lambda x, y: x & y, lambda x, y: x ^ y,
        lambda x, y: x | y, lambda x, y: x << (y & 15), lambda x, y: s(x) >> (y & 15),
        lambda x, y: (s(x) * s(y) & M32) >> 9,
        lambda x, y: (x * y + s(x) * s(y) & M32) >> 9,
    ]

    def halves(f):
        def g(x, y):
            p = x << 16 | y
            q = p * 2654435761 & M32
            return f(p & 0xFFFF, q & 0xFFFF) ^ f(p >> 16, q >> 16)
        return g

    if packed:
        rows += [halves(lambda x, y: x + y), halves(lambda x, y: min(s(x), s(y))), halves(max)]
    return rows


def int16_arguments(rng, packed):
    a, b = words(rng, bits=16), words(rng, bits=16)
    b[b == 0] = 3
    b[(a == 0x8000) & (b == 0xFFFF)] = 5
    return [In(a), In(b), Out(table(int16_rows(packed), np.uint16, a, b)), U32(N)]


@case("integer", grid=2, block=128, only="sm_8?")
def int16(rng):
    return int16_arguments(rng, False)


@case("integer", grid=2, block=128, only="sm_90a", entry="int16")
def int16_packed(rng):
    return int16_arguments(rng, True)
