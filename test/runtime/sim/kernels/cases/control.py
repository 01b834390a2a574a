# SPDX-License-Identifier: Apache-2.0
"""Control flow: the same program in Python, thread by thread."""
import numpy as np

from launch import In, InOut, Out, U32, case

M32 = 0xFFFFFFFF


def wrap(v):
    return (v + 2 ** 31) % 2 ** 32 - 2 ** 31


@case("control", grid=2, block=96)
def nested(rng):
    n = 192
    a = rng.integers(-60, 200, n).astype(np.int32)
    old = rng.integers(0, 9, n).astype(np.int32)
    out = []
    for t in range(n):
        x, r = int(a[t]), 0
        if x > 0:
            if x & 1:
                r = sum(i * x for i in range(x & 15))
            elif x & 2:
                i = x
                while i != 1 and r < 300:
                    i = 3 * i + 1 if i & 1 else i // 2
                    r += 1
            else:
                r = int(old[t]) if t % 5 == 0 else -x
        else:
            while True:
                r -= 3
                x += 7
                if x == -9:
                    break
                if not x & 4:
                    r ^= x
                if not x < 0:
                    break
        out.append(wrap(r))
    return [In(a), InOut(np.array(out, np.int32), value=old)]


@case("control", block=64)
def recursion(rng):
    a = rng.integers(0, 2 ** 32, 64, dtype=np.uint64).astype(np.uint32)
    fib = [0, 1]
    while len(fib) < 11:
        fib.append(fib[-1] + fib[-2])
    out = []
    for v in a:
        x, local = int(v), []
        for _ in range(12):
            x = (x * 1664525 + 1013904223) & M32
            local.append(x >> 20)
        out += [fib[int(v) % 11], sorted(local)[int(v) % 12]]
    return [In(a), Out(np.array(out, np.uint32))]


@case("control", block=64)
def pointers(rng):
    a = rng.standard_normal(64).astype(np.float32)
    half, one = np.float32(0.5), np.float32(1)
    table = [lambda x: x * half, lambda x: x * x, lambda x: x - one]
    out = [table[t % 3](a[t]) + (a[t] * a[t] if a[t] > 0 else a[t] * half) for t in range(64)]
    return [In(a), Out(np.array(out, np.float32))]


@case("control", block=64)
def structures(rng):
    a = rng.standard_normal(64)
    out = [((a[t] + 0.0) + 0.25) + 0.5 + 8 * t for t in range(64)]
    return [In(a), Out(np.array(out))]


@case("control", grid=2, block=64)
def jump(rng):
    a = rng.integers(0, 2 ** 32, 128, dtype=np.uint64).astype(np.uint32)
    out = []
    for t in range(128):
        x = r = int(a[t])
        i = 0
        while i < 6:
            k = r % 9
            if k == 0:
                r = r * 3 + 1
            elif k == 1:
                r ^= 0x55
            elif k == 2:
                r = (r >> 1 | x << 7 & M32) + 11
            elif k == 3:
                r += 11
            elif k == 4:
                r = ~r
            elif k == 5:
                r -= x
            elif k == 6:
                r = r // 3 + t
            elif k == 7:
                i += 1
                r += 5
            else:
                r = int(f"{r:032b}"[::-1], 2) >> 3
            r &= M32
            i += 1
        out.append(r)
    return [In(a), Out(np.array(out, np.uint32))]


@case("control", block=64)
def branch_table(rng):
    a = rng.integers(0, 100, 64).astype(np.uint32)
    return [In(a), Out(np.array([[100, 201, 705, 403][v % 4] for v in a], np.uint32))]


@case("control", grid=3, block=64)
def spin_lock(rng):
    a = rng.integers(0, 1000, 192).astype(np.uint32)
    zero = np.zeros(1, np.uint32)
    return [InOut(zero, value=zero), InOut(a.sum(keepdims=True).astype(np.uint32), value=zero), In(a)]


@case("control", block=32)
def lane_waits_for_lane(rng):
    out = np.full(32, 11, np.uint32)
    out[3] = 1
    return [Out(out)]


@case("control", block=32)
def clocks(rng):
    return [Out(np.full(32, 3, np.uint64))]


def printed(text):
    expected = ["t=5 x=1.250 words 100% 1099511627776 z 0000beef|-7    |", "plain"]
    lines = [line for line in text.splitlines() if line in expected]
    return [] if lines in (expected, expected[::-1]) else [f"printf: got {text!r}, expected {expected}"]


@case("control", grid=2, block=32, stdout=printed)
def print(rng):
    return [In(np.full(64, 1.25, np.float32))]


@case("control", grid=2, block=32)
def check(rng):
    a = rng.random(64).astype(np.float32)
    return [In(a), Out(a)]


@case("control", grid=2, block=32, exit=2, entry="check")
def check_fails(rng):
    a = rng.random(64).astype(np.float32)
    a[37] = -1
    return [In(a), Out(None, dtype="f32", shape=(64,))]


@case("control", grid=2, block=128)
def early_exit(rng):
    n = 192
    a = rng.integers(0, 100, n).astype(np.int32)
    out = np.concatenate([np.full(128, a[:128].sum()), np.full(64, a[128:].sum())]).astype(np.int32)
    return [In(a), Out(out), U32(n)]


@case("control", grid=(3, 2, 2), block=(5, 4, 3))
def where(rng):
    out = []
    for bz, by, bx in np.ndindex(2, 2, 3):
        for z, y, x in np.ndindex(3, 4, 5):
            out.append(x + 10 * y + 100 * z + 1000 * bx + 10000 * by + 100000 * bz + 3000000)
    return [Out(np.array(out, np.uint32))]
