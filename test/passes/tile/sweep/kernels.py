# SPDX-License-Identifier: Apache-2.0
"""Families of random kernels. Each takes a generator of random numbers and gives a
Program."""
import numpy as np

import ops
from program import (Place, Program, atomic_add, binary, broadcast, cast, compare, dot, expand_dims, fma,
                     for_loop, if_else, iota, join, load, make_view, philox, recurrence, reduce, reshape, scan,
                     scan_last, select, splat, split, store, switch, trans, unary, while_loop)
from reference import FLOATS8, INTS, Ref, STORED, TYPES, draw, is_float, quantize

LENGTHS = [1, 2, 3, 5, 8, 16, 20, 32, 48, 64, 80, 96, 112, 128, 200, 256]


def pick(rng, xs):
    return xs[int(rng.integers(len(xs)))]


def schedule(rng):
    return {"warps": pick(rng, [1, 2, 4, 4, 8]), "stages": pick(rng, [1, 2, 3, 4])}


def roles(rng, shared_bytes):
    """Warps that copy, or none; what they fill is not lent to what comes after, so it must fit beside that."""
    return pick(rng, [0, 0, 1, 1, 2, 3, 4]) if shared_bytes < 90_000 else 0


def block_shape(rng, rank=None, most=4096):
    rank = rank or pick(rng, [1, 1, 2, 2, 2, 3])
    while True:
        shape = [pick(rng, LENGTHS) for _ in range(rank)]
        if np.prod(shape) <= most:
            return tuple(shape)


def pad_for(rng, t):
    if rng.random() < 0.5:
        return None
    if is_float(t):
        if rng.random() < 0.3 and t != "f8E4M3FN":
            return "neg_inf", -np.inf
        x = pick(rng, [1.0, -2.5, 0.75])
        return str(x), x
    if t == "i1":
        return "true", 1
    x = pick(rng, [1, 7, -3])
    return str(x), x


def extent_index(p, rng, size, extent, inside):
    """An index along a dimension of `size`, of a block of `extent`."""
    if inside and size >= extent:
        plus = int(rng.integers(0, size - extent + 1))
        if rng.random() < 0.6:
            plus -= plus % 8
        return p.affine(p.pid(0), 0, plus) if rng.random() < 0.1 else p.index(plus)
    kind = rng.random()
    if kind < 0.4:
        return p.affine(p.pid(0), pick(rng, [extent, 1, 8, 3]), pick(rng, [0, 0, -3, 5, -8]))
    if kind < 0.6:
        return p.index(-int(rng.integers(0, extent + 2)))
    if kind < 0.7 and rng.random() < 0.5:
        return p.scalar_argument("index", int(rng.integers(-extent, size + 1)))
    return p.index(int(rng.integers(-extent // 2, size + 1)))


def around(p, rng, t, shape, out=False, gather=True, inside=None, lead=()):
    """A view that has a block of `shape` in it, and the place of the block. `lead`:
    sizes and indices in front, of dimensions that the block lacks."""
    view_shape, make = [], []
    for size, v in lead:
        view_shape.append(size)
        make.append((None, v))
    for d, e in enumerate(shape):
        if rng.random() < 0.15 and len(view_shape) < 4:
            size = pick(rng, [1, 3])
            view_shape.append(size)
            make.append((None, None))
        size = pick(rng, [e, e, 2 * e, max(1, e - 3), e + 5, e + 8])
        view_shape.append(size)
        gathered = any(v == "gather" for _, v in make)
        make.append((e, "gather" if gather and not gathered and rng.random() < 0.2 else None))
    view = make_view(p, t, view_shape, out)
    if inside is None:
        inside = rng.random() < 0.5
    indices, extents = [], []
    for size, (e, v) in zip(view_shape, make):
        extents.append(e)
        if e is None:
            if v is None:
                v = p.index(int(rng.integers(0, size)) if rng.random() < 0.9 else pick(rng, [-1, size]))
            indices.append(v)
        elif v == "gather":
            kind = pick(rng, ["i32", "i64"])
            ids = rng.integers(-1, size + 1, e)
            if out:  # each row once
                ids = rng.permutation(max(e, size) + 2)[:e] - 1
            ids = make_view(p, kind, (e,), numbers=ids, kind="plain")
            indices.append(load(p, ids, Place([p.index(0)], [e])))
        else:
            indices.append(extent_index(p, rng, size, e, inside))
    return view, Place(indices, extents)


def fresh_load(p, rng, t, shape):
    view, place = around(p, rng, t, shape)
    return load(p, view, place, pad_for(rng, t))


def keep(p, rng, value, plain=False):
    """Stores a value; each program has a part of the output of its own."""
    count = int(np.prod(p.grid))
    pid = p.pid(0)
    if p.grid[1] > 1:
        pid = p.index_op("addi", p.index_op("muli", p.pid(1), p.index(p.grid[0])), pid)
    if not value.shape:
        view = make_view(p, value.dtype, (count,), True, kind="plain")
        return store(p, value, view, Place([pid], [None]))
    if plain or rng.random() < 0.5:
        view = make_view(p, value.dtype, (count, *value.shape), True)
        zero = p.index(0)
        return store(p, value, view, Place([pid] + [zero] * len(value.shape), [None, *value.shape]))
    view, place = around(p, rng, value.dtype, value.shape, True, lead=[(count, pid)])
    store(p, value, view, place)


def combinations(t):
    return ["and", "or"] if t == "i1" else ["add", "max", "min", "mul"] + ([] if is_float(t) else ["and", "or"])


def positive(p, a):
    x = unary(p, "math.absf", a)
    return binary(p, "arith.addf", x, p.constant(a.dtype, a.shape, 0.5))


def step(p, rng, pool, allowed):
    """One more value from those of the pool."""
    a = pick(rng, pool)
    t, shape = a.dtype, a.shape
    others = [v for v in pool if v.shape == shape and v.dtype == t]
    b = pick(rng, others)
    what = pick(rng, allowed)
    if what == "unary" and is_float(t):
        name = pick(rng, list(ops.FLOAT_UNARY) + list(ops.FLOAT_ROUNDING))
        if t == "f64" and name.startswith("math.") and name not in ("math.absf", "math.sqrt", "math.floor", "math.ceil"):
            return None
        return unary(p, name, positive(p, a) if name in ops.NEEDS_POSITIVE else a)
    if what == "binary":
        if is_float(t):
            name = pick(rng, list(ops.FLOAT_BINARY))
            if name == "arith.divf":
                b = positive(p, b)
            return binary(p, name, a, b)
        if t != "i1" and rng.random() < 0.3:
            name = pick(rng, list(ops.INT_BY_CONSTANT))
            most = INTS[t] - 1 if "sh" in name else min(100, (1 << (INTS[t] - 1)) - 1)
            return binary(p, name, a, p.constant(t, shape, int(rng.integers("sh" not in name, most))))
        return binary(p, pick(rng, list(ops.INT_BINARY)), a, b)
    if what == "fma" and is_float(t):
        return fma(p, a, b, pick(rng, others))
    if what == "select":
        preds = ops.COMPARISONS_F if is_float(t) else {**ops.COMPARISONS_S, **ops.COMPARISONS_U}
        c = compare(p, pick(rng, list(preds)), a, b)
        if shape and rng.random() < 0.2:
            return c
        return select(p, c, a, pick(rng, others))
    if what == "cast":
        to = pick(rng, TYPES)
        names = ops.cast_names(t, to)
        return cast(p, pick(rng, names), a, to) if names else None
    if what == "constant" and shape:
        return p.constant(t, shape, draw(rng, (), t))
    if what == "load":
        return fresh_load(p, rng, t, shape if shape else block_shape(rng))
    if what == "iota" and shape:
        first = int(rng.integers(-5, 9))
        return iota(p, first, first + shape[-1])
    if what == "splat" and not shape:
        return splat(p, a, block_shape(rng))
    if not shape:
        return None
    axis = int(rng.integers(len(shape)))
    if what == "reduce":
        return reduce(p, pick(rng, combinations(t)), a, axis)
    if what == "scan":
        return scan(p, pick(rng, combinations(t)), a, axis) if rng.random() < 0.8 else scan_last(p, a, axis)
    if what == "broadcast" and len(shape) < 3:
        axis = int(rng.integers(len(shape) + 1))
        room = 4096 // int(np.prod(shape))
        n = pick(rng, [n for n in LENGTHS if n <= room] or [1])
        wide = expand_dims(p, a, axis)
        return broadcast(p, wide, shape[:axis] + (n,) + shape[axis:])
    if what == "reshape":
        n, out = int(np.prod(shape)), []
        for _ in range(int(rng.integers(0, 3))):
            d = pick(rng, [d for d in range(1, n + 1) if n % d == 0])
            out.append(d)
            n //= d
        return reshape(p, a, tuple(out) + (n,))
    if what == "trans" and len(shape) > 1:
        return trans(p, a)
    if what == "join" and len(shape) < 3 and np.prod(shape) <= 2048:
        return join(p, a, b)
    if what == "split" and len(shape) > 1 and shape[-1] == 2:
        return pick(rng, split(p, a))
    return None


def grow(p, rng, pool, allowed, count):
    made = 0
    for _ in range(count * 10):
        v = step(p, rng, pool, allowed)
        if v is not None:
            pool.append(v)
            made += 1
        if made == count:
            return


def keep_some(p, rng, pool, count=3):
    """The last value, and others."""
    last = [pool[-1]] + [pick(rng, pool) for _ in range(count - 1)]
    for v in {v.name: v for v in last}.values():
        keep(p, rng, v)


def start(rng, grid=None):
    return Program(rng, grid=grid or (pick(rng, [1, 1, 2, 3]), pick(rng, [1, 1, 1, 2]), 1), **schedule(rng))


ELEMENTWISE = ["unary", "binary", "binary", "fma", "select", "cast", "constant", "load"]
SHAPES = ["broadcast", "reshape", "trans", "join", "split", "iota", "splat", "binary", "cast"]
ALL = ELEMENTWISE + SHAPES + ["reduce", "reduce", "scan"]


def elementwise(rng):
    p = start(rng)
    t, shape = pick(rng, TYPES), block_shape(rng)
    pool = [fresh_load(p, rng, t, shape), fresh_load(p, rng, t, shape)]
    grow(p, rng, pool, ELEMENTWISE, int(rng.integers(2, 9)))
    keep_some(p, rng, pool)
    return p


def memory(rng):
    p = start(rng)
    for _ in range(int(rng.integers(1, 4))):
        t, shape = pick(rng, TYPES), block_shape(rng)
        keep(p, rng, fresh_load(p, rng, t, shape))
    if rng.random() < 0.5:
        t = pick(rng, TYPES)
        size = pick(rng, LENGTHS)
        view = make_view(p, t, (size, 3))
        scalar = load(p, view, Place([p.index(int(rng.integers(0, size))), p.index(pick(rng, [1, 3, -1]))], [None, None]),
                      pad_for(rng, t))
        keep(p, rng, scalar)
    return p


def atomics(rng):
    p = start(rng)
    t, shape = pick(rng, ["f32", "f16", "bf16", "f64", "i32", "i64"]), block_shape(rng, most=1024)
    value = fresh_load(p, rng, t, shape)
    if rng.random() < 0.4 and len(shape) > 1:
        value = reduce(p, "max", value, int(rng.integers(len(shape))))
    elif rng.random() < 0.3:
        value = broadcast(p, expand_dims(p, value, 0), (3, *shape)) if len(shape) < 3 else value
    if not value.shape:
        view = make_view(p, t, (5,), True)
        atomic_add(p, value, view, Place([p.pid(0)], [None]))
        return p
    view, place = around(p, rng, t, value.shape, True)
    if rng.random() < 0.5:  # several times the same row
        d = next((i for i, v in enumerate(place.indices) if v.shape), None)
        if d is None:
            d = next(i for i, e in enumerate(place.extents) if e is not None)
        e = place.extents[d]
        ids = make_view(p, "i32", (e,), numbers=rng.integers(-1, view.shape[d] + 1, e), kind="plain")
        place.indices[d] = load(p, ids, Place([p.index(0)], [e]))
    atomic_add(p, value, view, place)
    return p


def reductions(rng):
    p = start(rng)
    t, shape = pick(rng, TYPES), block_shape(rng)
    a = fresh_load(p, rng, t, shape)
    kinds = combinations(t)
    pool = [a]
    for _ in range(int(rng.integers(1, 4))):
        b = pick(rng, [v for v in pool if v.shape] or [a])
        pool.append(reduce(p, pick(rng, kinds), b, int(rng.integers(len(b.shape)))))
        if rng.random() < 0.4 and pool[-1].shape and len(pool[-1].shape) < 3:
            r = pool[-1]
            wide = broadcast(p, expand_dims(p, r, len(r.shape)), (*r.shape, pick(rng, [2, 8, 16])))
            pool.append(wide)
    for v in pool[1:]:
        keep(p, rng, v)
    return p


def scans(rng):
    """Along axes of layouts made for memory, for products, and of what was turned."""
    p = start(rng)
    if rng.random() < 0.3:
        m, n, k = dot_shape(rng, p.warps, 16)
        m, n = min(m, 64), min(n, 64)
        if m * n * p.warps > 8192 or m * n < 128 * p.warps:
            p.warps, m, n = 4, 32, 32
        a = dot(p, fresh_load(p, rng, "bf16", (m, k)), fresh_load(p, rng, "bf16", (k, n)), p.constant("f32", (m, n), 0))
        if rng.random() < 0.6:
            a = cast(p, "arith.fptosi", a, pick(rng, ["i16", "i32", "i64"]))
    else:
        a = fresh_load(p, rng, pick(rng, TYPES), block_shape(rng))
    if len(a.shape) > 1 and rng.random() < 0.3:
        a = trans(p, a)
    for _ in range(int(rng.integers(1, 3))):
        axis, t = int(rng.integers(len(a.shape))), a.dtype
        kind = rng.random()
        if kind < 0.3:
            a = scan_last(p, a, axis)
        elif kind < 0.6 and not is_float(t) and t != "i1":
            narrow = pick(rng, [u for u in ("i8", "i16", "i32", "i64") if INTS[u] <= INTS[t]])
            b = fresh_load(p, rng, narrow, a.shape)
            a = pick(rng, recurrence(p, a, b, axis))
        else:
            a = scan(p, pick(rng, combinations(t)), a, axis)
        if rng.random() < 0.3:  # its scratch again in each round
            b = fresh_load(p, rng, a.dtype, a.shape)
            add, kind = "arith.addf" if is_float(b.dtype) else "arith.xori", pick(rng, combinations(b.dtype))
            [a] = for_loop(p, p.index(0), p.index(2), p.index(1), [a],
                           lambda iv, args: [binary(p, add, scan(p, kind, args[0], axis), b)])
    keep(p, rng, a)
    return p


def shapes(rng):
    p = start(rng)
    t, shape = pick(rng, TYPES), block_shape(rng)
    pool = [fresh_load(p, rng, t, shape)]
    grow(p, rng, pool, SHAPES, int(rng.integers(2, 8)))
    keep_some(p, rng, pool)
    return p


def control(p, rng, pool, allowed, depth):
    """Random control flow that carries blocks of the pool."""
    carried = list({v.name: v for v in (pick(rng, pool) for _ in range(int(rng.integers(1, 4))))}.values())

    def like(v, inner):
        """A value of v's type, made in the region."""
        made = [w for w in inner[len(pool):] if w.shape == v.shape and w.dtype == v.dtype]
        return made[-1] if made else pick(rng, [w for w in inner if w.shape == v.shape and w.dtype == v.dtype])

    def body(args, iv=None):
        inner = pool + list(args)
        for _ in range(int(rng.integers(1, 4))):
            if depth and rng.random() < 0.3:
                control(p, rng, inner, allowed, depth - 1)
            else:
                grow(p, rng, inner, allowed, 1)
        if iv is not None and rng.random() < 0.7:
            t, shape = carried[0].dtype, carried[0].shape
            if shape:
                view = make_view(p, t, (shape[0] * 3 - pick(rng, [0, 1, 2]), *shape[1:]))
                zero = p.index(0)
                at = p.affine(iv, shape[0], pick(rng, [0, 0, -2]))
                x = load(p, view, Place([at] + [zero] * (len(shape) - 1), shape), pad_for(rng, t))
                name = "arith.maximumf" if is_float(t) else "arith.xori"
                inner.append(binary(p, name, x, args[0] if args else carried[0]))
        return [like(v, inner) for v in carried]
    kind = pick(rng, ["for", "for", "if", "if", "while", "switch"])
    if kind == "for":
        lower, count, by = pick(rng, [0, 0, 1]), pick(rng, [0, 1, 2, 3]), pick(rng, [1, 1, 2])
        upper = p.index(lower + count * by) if rng.random() < 0.7 else p.scalar_argument("index", lower + count * by)
        results = for_loop(p, p.index(lower), upper, p.index(by), carried, lambda iv, args: body(args, iv))
    elif kind == "if":
        c = compare_index(p, p.pid(0), p.index(1))
        results = if_else(p, c, lambda: body([]), lambda: body([]), carried)
    elif kind == "switch":
        cases = [int(n) for n in rng.permutation(3)[:int(rng.integers(0, 3))]]
        results = switch(p, p.pid(0), {n: lambda: body([]) for n in (*cases, None)}, carried)
    else:
        results = while_loop(p, int(rng.integers(0, 4)), carried, lambda n, args: body(args, n))
    pool.extend(results)


def compare_index(p, a, b):
    v = p.fresh("i1")
    return p.emit(f"{v.name} = arith.cmpi slt, {a.name}, {b.name} : index", v,
                  lambda env: Ref(int(env[a.name].val < env[b.name].val)))


def flow(rng):
    p = start(rng)
    t, shape = pick(rng, ["f32", "f32", "i32", "bf16", "i8", "i64", "f16", "i1"]), block_shape(rng, most=2048)
    pool = [fresh_load(p, rng, t, shape), fresh_load(p, rng, t, shape)]
    allowed = ["binary", "binary", "select", "reduce", "broadcast", "trans", "reshape", "load", "constant", "cast"]
    for _ in range(int(rng.integers(1, 4))):
        control(p, rng, pool, allowed, 1)
    keep_some(p, rng, pool)
    return p


def everything(rng):
    p = start(rng)
    t, shape = pick(rng, TYPES), block_shape(rng)
    pool = [fresh_load(p, rng, t, shape)]
    for _ in range(int(rng.integers(1, 4))):
        grow(p, rng, pool, ALL, int(rng.integers(1, 5)))
        if rng.random() < 0.4:
            control(p, rng, pool, ALL, 1)
    keep_some(p, rng, pool)
    return p


# Dots.

def dot_shape(rng, warps, k_step):
    """Blocks that the warps can share."""
    while True:
        m, n = pick(rng, [16, 32, 48, 64, 128]), pick(rng, [8, 16, 32, 48, 64, 80, 96, 112, 128])
        k = pick(rng, [k_step, 2 * k_step, 3 * k_step, 4 * k_step, 5 * k_step])
        fits = any(m % (16 * w) == 0 and n % (8 * (warps // w)) == 0 for w in (1, 2, 4, 8, 16) if warps % w == 0)
        if fits and m * n <= 128 * 96 and m * k <= 128 * 96 and n * k <= 128 * 96:
            return m, n, k


# What is added up in, and the least k.
DOTS = {"bf16": ("f32", 8, None), "f16": ("f32", 8, None), "f32": ("f32", 4, "tf32"), "i8": ("i32", 16, None),
        "f64": ("f64", 4, None), "f8E4M3FN": ("f32", 8, None), "f8E5M2": ("f32", 32, None)}
PLAIN = {"bf16", "f16", "f32", "f64", "i8"}  # which can be added as well


def how_to_add_up(rng, t):
    """What in, the step of k, and the precision."""
    acc, least, precision = DOTS[t]
    step = least if t == "f64" else least * pick(rng, [1, 2, 2])
    return "f16" if t == "f16" and rng.random() < 0.5 else acc, step, precision


def operand(p, rng, t, rows, columns, total, along, at, transposed):
    """A block [rows, columns] of a matrix in memory, maybe by its transpose; `along`
    is the dimension of the loop, `total` its length in memory."""
    sizes = [rows, columns]
    sizes[along] = total
    zero = p.index(0)
    if transposed:
        view = make_view(p, t, sizes[::-1], kind=pick(rng, ["plain", "plain", "pointer", "strided"]))
        return lambda i: trans(p, load(p, view, Place([i, zero] if along == 1 else [zero, i], [columns, rows])))
    view = make_view(p, t, sizes, kind=pick(rng, ["plain", "plain", "pointer", "strided"]))
    return lambda i: load(p, view, Place([zero, i] if along == 1 else [i, zero], [rows, columns]))


def matmul(rng):
    p = start(rng)
    t = pick(rng, ["bf16", "bf16", "f16", "f32", "i8", "f64", *FLOATS8])
    acc, k_step, precision = how_to_add_up(rng, t)
    m, n, k = dot_shape(rng, p.warps, k_step)
    rounds = pick(rng, [0, 1, 2, 3, 5])
    bytes_ = np.dtype(STORED[t]).itemsize
    p.stages = min(p.stages, max(1, 60_000 // (bytes_ * k * (m + n))))  # of 99 KiB, with scratch
    total = max(1, rounds * k - pick(rng, [0, 0, 8, 3, k // 2]))
    a = operand(p, rng, t, m, k, total, 1, None, rng.random() < 0.4)
    b = operand(p, rng, t, k, n, total, 0, None, rng.random() < 0.4)
    zero = p.constant(acc, (m, n), pick(rng, [0, 1]))

    def body(iv, args):
        x, y = a(iv), b(iv)
        if rng.random() < 0.2 and t in PLAIN:
            name = "arith.addf" if is_float(t) else "arith.addi"
            x = binary(p, name, x, x)
        if rng.random() < 0.5:
            return [dot(p, x, y, args[0], precision)]
        s = dot(p, x, y, zero, precision)
        return [binary(p, "arith.addf" if is_float(acc) else "arith.addi", s, args[0])]
    [r] = for_loop(p, p.index(0), p.index(rounds * k), p.index(k), [zero], body)
    if is_float(acc) and rng.random() < 0.5:
        r = cast(p, "arith.truncf", r, pick(rng, [*(["bf16", "f16"] if acc != "f16" else []), *FLOATS8]))
    if rng.random() < 0.3 and r.dtype not in FLOATS8:
        r = reduce(p, "max", r, int(rng.integers(2)))
    keep(p, rng, r)
    p.copy_warps = roles(rng, p.stages * bytes_ * k * (m + n) + m * n * np.dtype(STORED[acc]).itemsize)
    return p


def some_ends(p, rng, t, m, k):
    """Which numbers of k each row sums up; mostly all."""
    if t not in ("bf16", "f16", "f32") or rng.random() < 0.6:
        return ()

    def end():
        how = rng.random()
        if how < 0.3:
            return p.constant("i32", (m,), int(rng.integers(-2, k + 3)))
        if how < 0.7:
            return binary(p, "arith.subi", iota(p, 0, m), p.constant("i32", (m,), int(rng.integers(-k, m + 1))))
        return fresh_load(p, rng, "i32", (m,))
    return end(), end()


def single_dot(rng):
    p = start(rng)
    t = pick(rng, list(DOTS))
    acc, k_step, precision = how_to_add_up(rng, t)
    m, n, k = dot_shape(rng, p.warps, k_step)

    def value(shape):
        if rng.random() < 0.3:
            return trans(p, fresh_load(p, rng, t, shape[::-1]))
        return fresh_load(p, rng, t, shape)
    a = value((m, k))
    t = pick(rng, FLOATS8) if t in FLOATS8 else t  # of one kind or of both
    b = value((k, n))
    if rng.random() < 0.3 and t in PLAIN:
        a = binary(p, "arith.addf" if is_float(t) else "arith.xori", a, p.constant(t, a.shape, 1))
    r = dot(p, a, b, fresh_load(p, rng, acc, (m, n)), precision, some_ends(p, rng, a.dtype, m, k))
    if rng.random() < 0.3:
        r = trans(p, r)
    keep(p, rng, r)
    return p


def chain(rng):
    """Attention without its softmax: (f(q kt)) v over blocks of keys, with a maximum
    carried along, some keys perhaps hidden by a large number."""
    p = start(rng)
    t = pick(rng, ["bf16", "f16"])
    m = 16 * p.warps * pick(rng, [1, 1, 2])
    m = min(m, 128)
    d, e, n = pick(rng, [16, 32, 48, 64, 80, 96, 112]), pick(rng, [16, 32, 64, 80]), pick(rng, [16, 32, 48, 64])
    rounds = pick(rng, [1, 2, 3])
    keys = rounds * n - pick(rng, [0, 1, 7])
    p.stages = min(p.stages, max(1, (80_000 - 2 * m * d) // (2 * n * (d + e))))
    zero = p.index(0)
    q = load(p, make_view(p, t, (m, d), kind="plain"), Place([zero, zero], [m, d]))
    kv, vv = make_view(p, t, (keys, d), kind="plain"), make_view(p, t, (keys, e), kind="plain")
    hidden = pick(rng, [0.0, 0.0, -1e9, -1e30, -3e38])
    low, none = p.constant("f32", (m,), -3e38 if hidden else -64.0), p.constant("f32", (m, e), 0.0)
    # Each key by chance, or all of the first blocks.
    hv = make_view(p, "i32", (keys,), kind="plain") if hidden and rng.random() < 0.3 else None
    until = p.index(n * pick(rng, [1, 1, 2, 3]))
    exponential = pick(rng, ["math.exp2", "math.exp"])
    flags = pick(rng, ["", " fastmath<reassoc,contract,afn>"])
    scales_first = rng.random() < 0.5
    zs = p.constant("f32", (m, n), 0.0)

    def body(iv, args):
        acc, top = args
        s = dot(p, q, trans(p, load(p, kv, Place([iv, zero], [n, d]))), zs)
        small = p.constant("f32", (m, n), 0.015625)
        if scales_first:
            s = binary(p, "arith.mulf", s, small)
        if hidden:
            if hv:
                is_hidden = compare(p, "slt", load(p, hv, Place([iv], [n])), p.constant("i32", (n,), 0))
                is_hidden = broadcast(p, expand_dims(p, is_hidden, 0), (m, n))
            else:
                is_hidden = compare(p, "slt", iv, until)
            s = select(p, is_hidden, p.constant("f32", (m, n), hidden), s)
        now = binary(p, "arith.maximumf", top, reduce(p, "max", s, 1))
        x = binary(p, "arith.subf", s, broadcast(p, expand_dims(p, now, 1), (m, n)))
        x = unary(p, exponential, x if scales_first else binary(p, "arith.mulf", x, small), flags)
        x = cast(p, "arith.truncf", x, t)
        v = load(p, vv, Place([iv, zero], [n, e]))
        return [dot(p, x, v, acc), now]
    acc, top = for_loop(p, zero, p.index(rounds * n), p.index(n), [none, low], body)
    keep(p, rng, acc, True)
    keep(p, rng, top, True)
    p.copy_warps = roles(rng, 2 * m * d + p.stages * 2 * n * (d + e) + 4 * m * max(n, e))
    return p


def floats8(rng):
    """Numbers of 8 bits: from others, whose ties, limits and infinities they round, and as others; moved."""
    p = start(rng)
    wide, t, shape = pick(rng, ["f64", "f32", "f16", "bf16"]), pick(rng, FLOATS8), block_shape(rng)
    most = {"f16": 15, "bf16": 20}.get(wide, 25)
    x = np.ldexp(rng.integers(-40, 41, shape), rng.integers(-30, most, shape).astype(np.int64))
    x = np.where(rng.random(shape) < 0.1, x * (1 + 2.0 ** -30), x)  # beside a tie
    x = np.where(rng.random(shape) < 0.05, pick(rng, [np.inf, -np.inf, 464.0, 448.0, 61440.0, 5e-7]), x)
    zero = p.index(0)
    a = load(p, make_view(p, wide, shape, numbers=quantize(x, wide), kind="plain"), Place([zero] * len(shape), shape))
    a = cast(p, "arith.truncf", a, t)
    pool = [a, fresh_load(p, rng, t, shape)]
    for _ in range(int(rng.integers(1, 4))):
        grow(p, rng, pool, ["broadcast", "reshape", "trans", "join", "split"], 1)
    keep(p, rng, a)
    keep(p, rng, pool[-1])
    keep(p, rng, cast(p, "arith.extf", pool[-1], pick(rng, ["f64", "f32", "f16", "bf16"])))
    return p


def random_bits(rng):
    p = start(rng)
    shape = block_shape(rng)
    index = fresh_load(p, rng, "i64", shape)
    numbers = [int(x) for x in rng.integers(-2 ** 63, 2 ** 63 - 1, 3)]
    keep(p, rng, philox(p, numbers, index))
    scalar = load(p, make_view(p, "i64", (4,)), Place([p.index(1)], [None]))
    keep(p, rng, philox(p, numbers, scalar))
    return p


FAMILIES = {f.__name__: f for f in (elementwise, memory, atomics, reductions, scans, shapes, flow, everything, matmul,
                                    single_dot, chain, floats8, random_bits)}
