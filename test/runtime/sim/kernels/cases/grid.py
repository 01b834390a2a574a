# SPDX-License-Identifier: Apache-2.0
"""Between thread blocks; and kernels broken on purpose, which must not pass."""
import numpy as np

from launch import In, InOut, Out, Within, case


def zeros(n=1, dtype=np.uint32):
    return np.zeros(n, dtype)


@case("grid", grid=6, block=32)
def ordered_sum(rng):
    a = rng.standard_normal((6, 32)).astype(np.float32)
    total = np.zeros(32, np.float32)
    exact = np.zeros(32)
    for row in a:
        total = total * np.float32(0.5) + row
        exact = exact * 0.5 + row
    return [In(a), InOut(exact.astype(np.float32), Within("six roundings of values below 8",
            absolute=6 * 2.0 ** -22), value=zeros(32, np.float32)),
            InOut(np.array([6], np.uint32), value=zeros()), InOut(np.array([6], np.uint32), value=zeros())]


# The loop over the blocks is unrolled by four: with none of its rounds, with a rest, without.
BLOCKS = dict(grid=lambda blocks: blocks, each=[dict(blocks=2), dict(blocks=8), dict(blocks=11)])


@case("grid", block=64, **BLOCKS)
def last_block(rng, blocks):
    a = rng.standard_normal((blocks, 64)).astype(np.float32)
    partial = a.astype(np.float64).sum(1)
    bound = Within("at most 7 + 11 roundings of partial sums below 64", absolute=18 * 2.0 ** -18)
    return [In(a), Out(partial, bound, "f32"), Out(partial.sum(keepdims=True), bound, "f32"),
            InOut(np.array([blocks], np.uint32), value=zeros())]


@case("grid", block=32, **BLOCKS)
def last_block_acq_rel(rng, blocks):
    a = rng.standard_normal((blocks, 32)).astype(np.float32)
    partial = a.astype(np.float64).sum(1)
    bound = Within("at most 5 + 11 roundings of partial sums below 64", absolute=16 * 2.0 ** -18)
    return [In(a), Out(partial, bound, "f32"), Out(partial.sum(keepdims=True), bound, "f32"),
            InOut(np.array([blocks], np.uint32), value=zeros())]


@case("grid", grid=4, block=64, flags=("--cooperative",))
def grid_barrier(rng):
    a = rng.integers(0, 1000, 256).astype(np.uint32)
    return [In(a), Out(a * 3), Out((a * 3)[::-1].copy()), InOut(np.array([4], np.uint32), value=zeros())]


@case("grid", grid=2, block=64)
def message(rng):
    a = rng.integers(0, 1000, 64).astype(np.uint32)
    return [In(a), Out(a + 1), InOut(np.array([1, 2], np.uint32), value=zeros(2)), Out((a + 1) * 2)]


BROKEN = dict(only="sm_80", exit=2)


@case("grid", grid=2, block=32, **BROKEN)
def race_between_blocks(rng):
    return [Out(None, dtype="u32", shape=(32,))]


@case("grid", block=64, **BROKEN)
def race_in_shared(rng):
    return [In(rng.integers(0, 9, 64).astype(np.uint32)), Out(None, dtype="u32", shape=(64,))]


@case("grid", grid=3, block=32, **BROKEN)
def relies_on_order(rng):
    return [InOut(None, value=zeros()), Out(None, dtype="u32", shape=(3,))]


@case("grid", block=96, **BROKEN)
def deadlock(rng):
    return [Out(None, dtype="u32", shape=(96,))]


@case("grid", block=32, **BROKEN)
def out_of_bounds(rng):
    return [In(zeros(32)), Out(None, dtype="u32", shape=(32,))]


@case("grid", block=32, **BROKEN)
def misaligned(rng):
    return [In(zeros(132, np.uint8)), Out(None, dtype="u32", shape=(32,))]


@case("grid", block=32, **BROKEN)
def uninitialised(rng):
    return [Out(None, dtype="u32", shape=(32,))]
