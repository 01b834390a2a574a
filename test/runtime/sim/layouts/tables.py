# SPDX-License-Identifier: Apache-2.0
"""Which element of a matrix sits where, as the PTX ISA states it (sections 9.7.14 and
9.7.15), written down as formulas. A fragment is a function of a thread that lists its
elements (row, column) in the order of its registers, low bits first; the width of an
element says how many share a register.

lane = 4·g + q throughout: g is the group (0 … 7), q the thread in it (0 … 3)."""


def lane_of(thread):
    return (thread % 32) // 4, thread % 4


# ---- mma.sync: (m, n, k), bits of an element of A and B → fragments of A, B, C

def a_16bit(k):
    """m16n8k8 and m16n8k16, f16 and bf16: two halves a register; registers go down
    eight rows, then right eight columns."""
    def f(t):
        g, q = lane_of(t)
        return [(g + 8 * (r % 2), 2 * q + e + 8 * (r // 2)) for r in range(k // 4) for e in (0, 1)]
    return f


def b_16bit(k):
    def f(t):
        g, q = lane_of(t)
        return [(2 * q + e + 8 * r, g) for r in range(k // 8) for e in (0, 1)]
    return f


def a_32bit(k):
    """tf32 m16n8k4, m16n8k8, and f64 m16n8k4, k8, k16: one element a register."""
    def f(t):
        g, q = lane_of(t)
        return [(g + 8 * (r % 2), q + 4 * (r // 2)) for r in range(k // 2)]
    return f


def b_32bit(k):
    def f(t):
        g, q = lane_of(t)
        return [(q + 4 * r, g) for r in range(k // 4)]
    return f


def a_8bit(k):
    """s8, u8, e4m3, e5m2 m16n8k16 and m16n8k32: four bytes a register."""
    def f(t):
        g, q = lane_of(t)
        return [(g + 8 * (r % 2), 4 * q + e + 16 * (r // 2)) for r in range(k // 8) for e in range(4)]
    return f


def b_8bit(k):
    def f(t):
        g, q = lane_of(t)
        return [(4 * q + e + 16 * r, g) for r in range(k // 16) for e in range(4)]
    return f


def a_8x8(per_register):
    """m8n8k4 f64 and m8n8k16 s8: a single register."""
    def f(t):
        g, q = lane_of(t)
        return [(g, per_register * q + e) for e in range(per_register)]
    return f


def b_8x8(per_register):
    def f(t):
        g, q = lane_of(t)
        return [(per_register * q + e, g) for e in range(per_register)]
    return f


def c_16x8(t):
    g, q = lane_of(t)
    return [(g + 8 * r, 2 * q + e) for r in (0, 1) for e in (0, 1)]


def c_8x8(t):
    g, q = lane_of(t)
    return [(g, 2 * q + e) for e in (0, 1)]


# ---- ldmatrix, stmatrix, movmatrix: 8×8 matrices of 16-bit elements

def matrix_8x8(transposed):
    def f(t):
        g, q = lane_of(t)
        return [(2 * q + e, g) if transposed else (g, 2 * q + e) for e in (0, 1)]
    return f


# ---- wgmma: 128 threads, warp w owns rows 16·w … 16·w + 15

def wgmma_d(n):
    def f(t):
        g, q = lane_of(t)
        w = t // 32
        return [(16 * w + g + 8 * r, 8 * j + 2 * q + e)
                for j in range(n // 8) for r in (0, 1) for e in (0, 1)]
    return f


def wgmma_a(bits):
    """A from registers: each warp holds its 16 rows as mma.sync does."""
    inner = {16: a_16bit(16), 32: a_32bit(8), 8: a_8bit(32)}[bits]

    def f(t):
        return [(16 * (t // 32) + row, column) for row, column in inner(t)]
    return f


# ---- shared memory of wgmma and TMA

def swizzled(address, swizzle):
    """Address bits 4 … 6 are xored with bits 7 … 9, as many as the span (32, 64, 128
    bytes) has sixteenths; bit 7 alone for 32 bytes."""
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[swizzle]
    return address ^ (address >> 7 & mask) << 4


SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor(leading, stride, swizzle, address=0):
    """The 64 bits of a matrix descriptor; address and offsets in bytes, 16 a unit."""
    return (address >> 4 & 0x3FFF) | (leading >> 4 & 0x3FFF) << 16 | \
        (stride >> 4 & 0x3FFF) << 32 | SWIZZLE_CODE[swizzle] << 62


def k_major(rows, k, bytes_per_element, swizzle):
    """Rows of the matrix run along K in memory. Returns (place, size, leading, stride):
    place(row, column) is the byte where an element starts.

    Without swizzle core matrices of 8 rows × 16 bytes lie one after the other: along
    rows first (stride 128), along K next (leading). With a swizzle of S bytes, 8 rows of
    S bytes each are one block, blocks follow each other along the rows (stride 8·S);
    the instruction reads 32 bytes of K, here the first."""
    groups = rows // 8
    if swizzle == 0:
        leading, stride = groups * 128, 128

        def place(row, column):
            at = column * bytes_per_element
            return row // 8 * stride + at // 16 * leading + row % 8 * 16 + at % 16
        return place, groups * 128 * 2, leading, stride

    def place(row, column):
        at = row * swizzle + column * bytes_per_element
        return swizzled(at, swizzle)
    return place, rows * swizzle, 16, 8 * swizzle


def mn_major(rows, k, bytes_per_element, swizzle):
    """The other way: elements along M or N are neighbours (16-bit types only).

    Without swizzle: a core matrix is 8 values of K, each 16 bytes of M; they follow
    along M with `stride`, along K with `leading`. With a swizzle of S bytes: 8 values of
    K, each S bytes of M, are one block; blocks follow along K with `stride`, along M
    with `leading`."""
    if swizzle == 0:
        leading, stride = rows // 8 * 128, 128

        def place(row, column):
            at = row * bytes_per_element
            return at // 16 * stride + column // 8 * leading + column % 8 * 16 + at % 16
        return place, leading * (k // 8), leading, stride
    per_block = swizzle // bytes_per_element
    stride = 8 * swizzle
    leading = stride * (k // 8)
    blocks = -(-rows // per_block)

    def place(row, column):
        at = row // per_block * leading + column // 8 * stride + column % 8 * swizzle + \
            row % per_block * bytes_per_element
        return swizzled(at, swizzle)
    return place, blocks * leading, leading, stride
