# SPDX-License-Identifier: Apache-2.0
"""Random kernels that nobody would write: odd shapes and schedules, every op that has a
meaning here, control flow in control flow. What a device has no code for it must refuse
at the op (fuzz.py)."""
import numpy as np

import kernels
import ops
from kernels import (around, block_shape, control, fresh_load, keep, keep_some, pad_for, pick, positive, some_ends)
from program import (Place, Program, binary, broadcast, cast, compare, dot, expand_dims, for_loop, if_else,
                     inexact, iota, join, load, make_view, reduce, reshape, scan, select, splat, split, store,
                     trans, unary)
from reference import BITS, FLOATS, INTS, Ref, STORED, TYPES, from_file, is_float, rounded, to_file, unknown, unsigned, wrap

ODD = [1, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 20, 24, 30, 31, 32, 33, 36, 40, 48, 60, 63, 64, 65, 72, 96, 100, 120, 128, 200]


def odd_shape(rng, rank=None, most=3000):
    rank = rank or pick(rng, [1, 1, 2, 2, 2, 3, 3, 4, 5])
    while True:
        shape = [pick(rng, ODD) for _ in range(rank)]
        if np.prod(shape) <= most:
            return tuple(shape)


def odd_start(rng):
    grid = tuple(pick(rng, [1, 1, 2, 3]) for _ in range(2)) + (1,)
    return Program(rng, warps=pick(rng, [1, 2, 4, 4, 8, 8, 16]), stages=pick(rng, [1, 2, 3, 4, 5]), grid=grid)


# Ops beyond those of the sweep.

def _int(f):
    return lambda t, r: Ref(wrap(f(t, r.val), t), unknown(r))


def _bits_of(t, x):
    return unsigned(x, t)


def _count(t, x):
    u, n = _bits_of(t, x), np.zeros(np.shape(x), np.int64)
    for i in range(INTS[t]):
        n += ((u >> np.uint64(i)) & np.uint64(1)).astype(np.int64)
    return n


def _leading(t, x):
    u, n, open_ = _bits_of(t, x), np.zeros(np.shape(x), np.int64), np.ones(np.shape(x), bool)
    for i in reversed(range(INTS[t])):
        open_ = open_ & ((u >> np.uint64(i)) & np.uint64(1) == 0)
        n += open_
    return n


def _trailing(t, x):
    u, n, open_ = _bits_of(t, x), np.zeros(np.shape(x), np.int64), np.ones(np.shape(x), bool)
    for i in range(INTS[t]):
        open_ = open_ & ((u >> np.uint64(i)) & np.uint64(1) == 0)
        n += open_
    return n


INT_UNARY = {"math.absi": _int(lambda t, x: np.abs(x)), "math.ctpop": _int(_count),
             "math.ctlz": _int(_leading), "math.cttz": _int(_trailing)}
DIVISIONS = {
    "arith.ceildivsi": lambda t, a, b: -((-a) // b), "arith.floordivsi": lambda t, a, b: a // b,
    "arith.ceildivui": lambda t, a, b: ((unsigned(a, t) // unsigned(b, t)) + (
        unsigned(a, t) % unsigned(b, t) != 0).astype(np.uint64)).astype(np.int64),
    "arith.divsi": lambda t, a, b: ops._quotient(a, b), "arith.remsi": lambda t, a, b: a - ops._quotient(a, b) * b}
FLOAT_WHOLE = {"math.round": lambda x: np.trunc(x + np.copysign(0.5, x)), "math.roundeven": np.round,
               "math.trunc": np.trunc}
FLOAT_MORE = {"math.erf": 1.2, "math.atan": 1.0, "math.expm1": None, "math.log1p": None}


def int_unary(p, name, a):
    v = p.fresh(a.dtype, a.shape)
    return p.emit(f"{v.name} = {name} {a.name} : {v.type}", v, lambda env: INT_UNARY[name](a.dtype, env[a.name]))


def division(p, name, a, b):
    """By what is surely not 0 nor -1."""
    v = p.fresh(a.dtype, a.shape)

    def meaning(env):
        x, y = env[a.name], env[b.name]
        with np.errstate(over="ignore"):
            return Ref(wrap(DIVISIONS[name](a.dtype, x.val, y.val), a.dtype), unknown(x, y))
    return p.emit(f"{v.name} = {name} {a.name}, {b.name} : {v.type}", v, meaning)


def whole(p, name, a):
    v = p.fresh(a.dtype, a.shape)

    def meaning(env):
        r = env[a.name]
        with np.errstate(all="ignore"):
            f = FLOAT_WHOLE[name]
            sure = f(r.val - r.err) == f(r.val + r.err)
        return Ref(f(r.val), np.where(sure, 0.0, np.inf))
    return p.emit(f"{v.name} = {name} {a.name} : {v.type}", v, meaning)


def bitcast(p, a, t):
    v = p.fresh(t, a.shape)

    def meaning(env):
        r = env[a.name]
        sure = r.err == 0
        if is_float(a.dtype):  # -0 and NaN have bits that a number does not tell
            sure = sure & (r.val != 0) & np.isfinite(r.val)
            bits = to_file(np.where(sure, r.val, 1.0), a.dtype)
            return Ref(bits.view(STORED[t]).astype(np.int64), np.where(sure, 0.0, np.inf))
        x = from_file(to_file(r.val, a.dtype).view(STORED[t]), t)
        big, small = FLOATS[t][1], FLOATS[t][2]
        with np.errstate(invalid="ignore"):
            sure = sure & np.isfinite(x) & (np.abs(x) < big) & (np.abs(x) > small)
        return Ref(np.where(sure, x, 0.0), np.where(sure, 0.0, np.inf))
    return p.emit(f"{v.name} = arith.bitcast {a.name} : {a.type} to {v.type}", v, meaning)


def long_product(p, a, b, signed):
    low, high = p.fresh(a.dtype, a.shape), p.fresh(a.dtype, a.shape)
    t = a.dtype

    def meaning(env):
        x, y = env[a.name], env[b.name]
        f = (lambda v: v.astype(object)) if signed else (lambda v: unsigned(v, t).astype(object))
        full = f(np.atleast_1d(x.val)) * f(np.atleast_1d(y.val))
        mask = (1 << INTS[t]) - 1
        part = lambda n: wrap(np.array([int(q) & mask for q in n.reshape(-1)], np.uint64).astype(np.int64)
                              .reshape(x.shape), t)
        e = unknown(x, y)
        return Ref(part(full), e), Ref(part(full >> INTS[t]), e)
    name = "arith.mulsi_extended" if signed else "arith.mului_extended"
    p.emit(f"{low.name}, {high.name} = {name} {a.name}, {b.name} : {a.type}", (low, high), meaning)
    return low, high


def best_with_place(p, a, axis, largest=True):
    """The largest element and where it is first, by a region."""
    place = iota(p, 0, a.shape[axis])
    for d in range(len(a.shape)):
        if d != axis:
            place = expand_dims(p, place, d)
    place = broadcast(p, place, a.shape) if len(a.shape) > 1 else place
    rest = a.shape[:axis] + a.shape[axis + 1:]
    v, k = p.fresh(a.dtype, rest), p.fresh("i32", rest)
    t = a.dtype
    n = p.count
    p.count += 1
    keep_left = (f"arith.cmpf {'oge' if largest else 'ole'}" if is_float(t) else
                 f"arith.cmpi {'sge' if largest else 'sle'}")

    def meaning(env):
        r = env[a.name]
        f = np.argmax if largest else np.argmin
        at = f(r.val, axis)
        sure = (r.err.max(axis) == 0) & np.isfinite(r.val).all(axis)
        value = np.take_along_axis(r.val, np.expand_dims(at, axis), axis).squeeze(axis)
        return Ref(value, np.where(sure, 0, np.inf)), Ref(at, np.where(sure, 0, np.inf))
    p.emit(f"{v.name}, {k.name} = tile.reduce {a.name}, {place.name} axis {axis} : {a.type}, {place.type} {{")
    p.emit(f"^bb0(%x{n}: {t}, %i{n}: i32, %y{n}: {t}, %j{n}: i32):")
    # Equal elements: the first. The result is the same in any order of combination.
    p.emit(f"  %less{n} = {keep_left}, %x{n}, %y{n} : {t}")
    p.emit(f"  %same{n} = arith.cmp{'f oeq' if is_float(t) else 'i eq'}, %x{n}, %y{n} : {t}")
    p.emit(f"  %first{n} = arith.cmpi slt, %i{n}, %j{n} : i32")
    p.emit(f"  %tie{n} = arith.select %same{n}, %first{n}, %less{n} : i1")
    p.emit(f"  %rx{n} = arith.select %tie{n}, %x{n}, %y{n} : {t}")
    p.emit(f"  %ri{n} = arith.select %tie{n}, %i{n}, %j{n} : i32")
    p.emit(f"  tile.yield %rx{n}, %ri{n} : {t}, i32")
    return p.emit("}", (v, k), meaning)


def exclusive_or(p, a, axis, as_scan=False):
    """A word that there is none for."""
    rest = a.shape if as_scan else a.shape[:axis] + a.shape[axis + 1:]
    v, t, n = p.fresh(a.dtype, rest), a.dtype, p.count
    name = "tile.scan" if as_scan else "tile.reduce"

    def meaning(env):
        r = env[a.name]
        if as_scan:
            return Ref(np.bitwise_xor.accumulate(r.val, axis), np.maximum.accumulate(inexact(r.err), axis))
        return Ref(np.bitwise_xor.reduce(r.val, axis), inexact(r.err.max(axis)))
    p.emit(f"{v.name} = {name} {a.name} axis {axis} : {a.type} {{")
    p.emit(f"^bb0(%x{n}: {t}, %y{n}: {t}):")
    p.emit(f"  %r{n} = arith.xori %x{n}, %y{n} : {t}")
    p.emit(f"  tile.yield %r{n} : {t}")
    return p.emit("}", v, meaning)


def more(p, rng, pool):
    """One more value by what `step` does not do."""
    a = pick(rng, pool)
    t, shape = a.dtype, a.shape
    b = pick(rng, [v for v in pool if v.shape == shape and v.dtype == t])
    what = pick(rng, ["unary", "unary", "divide", "bitcast", "long", "best", "xor", "whole", "order", "scalar"])
    if what == "unary" and not is_float(t) and t != "i1":
        return int_unary(p, pick(rng, list(INT_UNARY)), a)
    if what == "divide" and t not in ("i1",) and not is_float(t):
        return division(p, pick(rng, list(DIVISIONS)), a, p.constant(t, shape, pick(rng, [1, 2, 3, 7, -2, -5, 100])))
    if what == "bitcast":
        same = [u for u in TYPES if u != t and BITS[u] == BITS[t] and is_float(u) != is_float(t)]
        return bitcast(p, a, pick(rng, same)) if same else None
    if what == "long" and not is_float(t) and t != "i1":
        return pick(rng, long_product(p, a, b, rng.random() < 0.5))
    if what == "whole" and is_float(t):
        return whole(p, pick(rng, list(FLOAT_WHOLE)), a)
    if not shape:
        return None
    axis = int(rng.integers(len(shape)))
    if what == "best" and t != "i1":
        return pick(rng, best_with_place(p, a, axis, rng.random() < 0.5))
    if what == "xor" and not is_float(t):
        return exclusive_or(p, a, axis)
    if what == "order" and len(shape) < 4:  # in front, behind, and around
        return trans(p, expand_dims(p, a, axis))
    if what == "scalar":
        for _ in shape:
            a = reduce(p, pick(rng, kernels.combinations(t)), a, int(rng.integers(len(a.shape))))
        return splat(p, a, odd_shape(rng))
    return None


def grow(p, rng, pool, count):
    made = 0
    for _ in range(count * 10):
        v = more(p, rng, pool) if rng.random() < 0.5 else kernels.step(p, rng, pool, kernels.ALL)
        if v is not None and np.prod(v.shape, dtype=int) <= 4096 and len(v.shape) < 6:
            pool.append(v)
            made += 1
        if made == count:
            return


def mixture(rng):
    """Values of several types and shapes, and whatever can be done with them."""
    p = odd_start(rng)
    pool = [fresh_load(p, rng, pick(rng, TYPES), odd_shape(rng)) for _ in range(int(rng.integers(1, 4)))]
    for _ in range(int(rng.integers(1, 5))):
        grow(p, rng, pool, int(rng.integers(1, 5)))
        if rng.random() < 0.4:
            control(p, rng, pool, kernels.ALL, 2)
    keep_some(p, rng, pool, 4)
    return p


def exchange(rng):
    """A loop whose values change places, with numbers beside blocks, and a branch in it
    that depends on what was loaded."""
    p = odd_start(rng)
    t, shape = pick(rng, TYPES), odd_shape(rng)
    a, b = fresh_load(p, rng, t, shape), fresh_load(p, rng, t, shape)
    s = load(p, make_view(p, "i32", (7,)), Place([p.index(int(rng.integers(0, 7)))], [None]))
    zero = p.constant("i32", (), 0)
    rounds = pick(rng, [0, 1, 2, 3, 4])

    def body(iv, args):
        x, y, n = args
        c = compare(p, "slt", n, zero)
        name = pick(rng, ["arith.maximumf", "arith.minimumf"] if is_float(t) else ["arith.xori", "arith.addi"])
        [m] = if_else(p, c, lambda: [binary(p, name, x, y)], lambda: [x], [x])
        if rng.random() < 0.5:
            m = trans(p, trans(p, m)) if len(shape) > 1 else reshape(p, expand_dims(p, m, 1), shape)
        n = binary(p, "arith.subi", n, p.constant("i32", (), 3))
        return [y, m, n] if rng.random() < 0.7 else [m, x, n]
    upper = p.index(rounds) if rng.random() < 0.5 else p.scalar_argument("index", rounds)
    a, b, s = for_loop(p, p.index(0), upper, p.index(1), [a, b, s], body)
    for v in (a, b, s):
        keep(p, rng, v)
    return p


def stores(rng):
    """Blocks written in a loop, side by side and over the edge."""
    p = odd_start(rng)
    t = pick(rng, TYPES)
    rows, columns = pick(rng, ODD), pick(rng, ODD[:22])
    rounds = pick(rng, [1, 2, 3])
    total = max(1, rows * rounds - pick(rng, [0, 0, 1, 5]))
    source, target = make_view(p, t, (total, columns)), make_view(p, t, (*p.grid[:2], total, columns), True)
    zero, where = p.index(0), [p.pid(0), p.pid(1)]

    def body(iv, args):
        at = p.affine(iv, rows, 0)
        x = load(p, source, Place([at, zero], [rows, columns]), pad_for(rng, t))
        if rng.random() < 0.5:
            x = select(p, compare(p, "oge" if is_float(t) else "sge", x, x), x, x)
        store(p, x, target, Place([*where, at, zero], [None, None, rows, columns]))
        return []
    for_loop(p, zero, p.index(rounds), p.index(1), [], body)
    return p


def odd_scans(rng):
    p = odd_start(rng)
    t, shape = pick(rng, TYPES), odd_shape(rng, most=800)
    a = fresh_load(p, rng, t, shape)
    axis = int(rng.integers(len(shape)))
    if not is_float(t) and rng.random() < 0.3:
        keep(p, rng, exclusive_or(p, a, axis, True))
    else:
        keep(p, rng, scan(p, pick(rng, kernels.combinations(t)), a, axis))
    return p


def odd_dots(rng):
    """Products of any shape and type; most have no instruction on a GPU."""
    p = odd_start(rng)
    t = pick(rng, ["bf16", "f16", "f32", "f64", "i8"])
    acc = {"i8": "i32", "f64": "f64", "f16": pick(rng, ["f16", "f32"])}.get(t, "f32")
    precision = pick(rng, [None, "tf32", "bf16x3"]) if t == "f32" else None
    if rng.random() < 0.6:
        m, n, k = (pick(rng, [16, 32, 48, 64, 96, 128]), pick(rng, [8, 16, 24, 40, 64, 80]),
                   pick(rng, [8, 16, 32, 48, 64, 80]))
    else:
        m, n, k = (pick(rng, ODD) for _ in range(3))
    if m * k + n * k + m * n > 12000:
        m, n, k = 32, 16, 32

    def side(shape):
        x = fresh_load(p, rng, t, shape[::-1] if rng.random() < 0.5 else shape)
        return x if x.shape == tuple(shape) else trans(p, x)
    r = dot(p, side((m, k)), side((k, n)), fresh_load(p, rng, acc, (m, n)), precision, some_ends(p, rng, t, m, k))
    if rng.random() < 0.4:
        r = pick(rng, best_with_place(p, r, int(rng.integers(2))))
    keep(p, rng, r)
    return p


FAMILIES = {f.__name__: f for f in (mixture, mixture, exchange, stores, odd_scans, odd_dots)}
