# SPDX-License-Identifier: Apache-2.0
"""A kernel as text, with what each op means beside it.

Program collects lines of MLIR and closures; run(pid) executes the closures for one
program of the grid over an environment of Refs. Control flow nests both.
"""
import contextlib

import numpy as np

import ops
from reference import FLOATS, FLOATS8, INTS, Ref, draw, from_file, is_float, quantize, rounded, to_file, unknown, wrap


class Value:
    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)

    @property
    def type(self):
        if self.dtype == "index" or not self.shape:
            return self.dtype
        return "tensor<" + "x".join(map(str, self.shape)) + f"x{self.dtype}>"


def block(dtype, shape):
    return Value("", dtype, shape).type


class Array:
    """An argument: numbers in global memory. `out` arrays are read back."""

    def __init__(self, name, dtype, numbers, out=False):
        self.name, self.dtype, self.out = name, dtype, out
        self.start = np.asarray(numbers)
        self.reset()

    def reset(self):
        self.val = self.start.astype(np.float64 if is_float(self.dtype) else np.int64).reshape(-1)
        self.err = np.zeros(self.val.shape)

    def file(self):
        """Filled up to 16 bytes: LLVM reads whole aligned words of which parts are used."""
        flat = to_file(self.start, self.dtype).reshape(-1)
        self.tail = np.zeros(-flat.nbytes % 16 // flat.itemsize, flat.dtype) + flat.dtype.type(85)
        return np.concatenate([flat, self.tail])


class Program:
    def __init__(self, rng, warps=4, stages=2, grid=(1, 1, 1), copy_warps=0):
        self.rng, self.warps, self.stages, self.grid = rng, warps, stages, grid
        self.copy_warps = copy_warps
        self.lines, self.code, self.head = [], [], []
        self.arguments, self.scalars, self.count = [], [], 0
        self.depth = 0

    # Text and meaning.

    def fresh(self, dtype, shape=()):
        self.count += 1
        return Value(f"%v{self.count}", dtype, shape)

    def emit(self, text, result=None, meaning=None):
        self.lines.append("  " * (self.depth + 2) + text)
        if meaning:
            if isinstance(result, (list, tuple)):
                def step(env):
                    for v, r in zip(result, meaning(env)):
                        env[v.name] = r
            elif result is None:
                step = meaning
            else:
                def step(env):
                    env[result.name] = meaning(env)
            self.code.append(step)
        return result

    @contextlib.contextmanager
    def nested(self, code):
        outer, self.code = self.code, code
        self.depth += 1
        yield
        self.depth -= 1
        self.code = outer

    def text(self, name="k"):
        types = [f"{a.name}: {a.type}" for a in self.arguments]
        g = ", ".join(map(str, self.grid))
        roles = f", roles = {{copy = {self.copy_warps}}}" if self.copy_warps else ""
        attributes = (f"{{tile.schedule = #tile.schedule<warps = {self.warps}, stages = "
                      f"{self.stages}{roles}>, tile.grid = array<i64: {g}>}}")
        return "\n".join([
            "gpu.module @kernels {",
            f"  gpu.func @{name}({', '.join(types)}) kernel attributes {attributes} {{",
            *self.head, *self.lines, "    gpu.return", "  }", "}", ""])

    def programs(self):
        x, y, z = self.grid
        return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]

    def expect(self):
        """Runs the reference; the arrays hold what the kernel leaves."""
        for a in self.arguments:
            if isinstance(a, Array):
                a.reset()
        for pid in self.programs():
            env = {f"pid{d}": Ref(p) for d, p in enumerate(pid)}
            for step in self.code:
                step(env)

    # Scalars and constants.

    def index(self, n):
        v = self.fresh("index")
        return self.emit(f"{v.name} = arith.constant {n} : index", v, lambda env: Ref(n))

    def pid(self, axis=0):
        v = self.fresh("index")
        return self.emit(f"{v.name} = tile.program_id {'xyz'[axis]}", v, lambda env: env[f"pid{axis}"])

    def index_op(self, op, a, b):
        f = {"addi": lambda x, y: x + y, "muli": lambda x, y: x * y, "subi": lambda x, y: x - y}[op]
        v = self.fresh("index")
        return self.emit(f"{v.name} = arith.{op} {a.name}, {b.name} : index", v,
                         lambda env: Ref(f(env[a.name].val, env[b.name].val)))

    def affine(self, base, scale, plus):
        """base * scale + plus, in one of several spellings."""
        v = base
        if scale != 1:
            v = self.index_op("muli", v, self.index(scale))
        if plus:
            v = self.index_op("addi", v, self.index(plus))
        return v

    def constant(self, t, shape, x):
        text, x = ops.constant(t, x)
        v = self.fresh(t, shape)
        number = f"dense<{text}>" if shape else text
        suffix = "" if t == "i1" and not shape else f" : {v.type}"
        return self.emit(f"{v.name} = arith.constant {number}{suffix}", v,
                         lambda env: Ref(np.full(shape, x)))

    # Arguments.

    def argument(self, a):
        a.name = f"%a{len(self.arguments)}"
        self.arguments.append(a)
        return a

    def array(self, t, numbers, type, out=False):
        a = self.argument(Array("", t, numbers, out))
        a.type = type
        return a

    def scalar_argument(self, kind, x):
        class Scalar:
            pass
        s = Scalar()
        s.type, s.number, s.kind = kind, x, "i64" if kind == "index" else kind
        self.argument(s)
        v = Value(s.name, kind, ())
        self.code.insert(0, lambda env: env.__setitem__(v.name, Ref(x)))
        return v


class View:
    """Where the elements of a view lie in an Array: positions + strides."""

    def __init__(self, name, array, shape, strides, type):
        self.name, self.array, self.type = name, array, type
        self.shape, self.strides = tuple(shape), tuple(strides)


def row_major(shape):
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return strides


def make_view(p, t, shape, out=False, numbers=None, kind=None):
    """A view of a new argument: plain, or of a pointer with sizes and strides that
    are numbers or known at run time only."""
    rng = p.rng
    if kind is None:
        kind = rng.choice(["plain", "plain", "pointer", "strided", "transposed"])
    if kind == "transposed" and len(shape) < 2:
        kind = "plain"
    draw_ = (lambda n: numbers.reshape(-1) if numbers is not None else draw(rng, n, t))
    dims = "x".join(map(str, shape))
    if kind == "plain":
        type = f"!tile.view<{dims}x{t}>"
        a = p.array(t, draw_(int(np.prod(shape))).reshape(shape), type, out)
        return View(a.name, a, shape, row_major(shape), type)
    if kind == "transposed":
        order = list(rng.permutation(len(shape)))
        under = [0] * len(shape)
        for i, d in enumerate(order):
            under[d] = shape[i]
        base = make_view(p, t, under, out, numbers, "plain" if rng.random() < 0.5 else "pointer")
        strides = [base.strides[d] for d in order]
        known = base.known if hasattr(base, "known") else strides_text(base)
        sizes = [base.sizes[d] for d in order] if hasattr(base, "sizes") else list(map(str, shape))
        type = f"!tile.view<{'x'.join(sizes)}x{t}, strides = [{', '.join(known[d] for d in order)}]>"
        v = p.fresh("view")
        order_text = ", ".join(map(str, order))
        p.emit(f"{v.name} = tile.transposed_view {base.name} [{order_text}] : {base.type} -> {type}")
        return View(v.name, base.array, shape, strides, type)
    strides = row_major(shape)
    if kind == "strided":
        extra = int(rng.choice([1, 3, 4, 8, 16]))
        strides = row_major([*shape[:-1], shape[-1] + extra]) if len(shape) > 1 else [
            int(rng.choice([2, 3]))]
    n = int(sum((s - 1) * q for s, q in zip(shape, strides)) + 1)
    if numbers is not None:
        n = max(n, numbers.size)
    a = p.array(t, draw_(n) if numbers is None else np.resize(numbers, n), f"!tile.ptr<{t}>", out)

    def spell(xs, dynamic):
        operands, types = [], []
        for x, run_time in zip(xs, dynamic):
            if run_time:
                v = p.scalar_argument("index", int(x)) if rng.random() < 0.5 else p.index(int(x))
                operands.append(v.name)
                types.append("?" if v.name.startswith("%a") else "?")
            else:
                operands.append(str(x))
                types.append(str(x))
        return operands, types
    dynamic = rng.random(len(shape)) < 0.4
    size_text, size_types = spell(shape, dynamic)
    with_strides = kind == "strided" or rng.random() < 0.5
    v = p.fresh("view")
    if with_strides:
        loose = rng.random(len(shape)) < 0.3
        stride_text, stride_types = spell(strides, loose)
        type = f"!tile.view<{'x'.join(size_types)}x{t}, strides = [{', '.join(stride_types)}]>"
        p.emit(f"{v.name} = tile.view {a.name} sizes [{', '.join(size_text)}] strides "
               f"[{', '.join(stride_text)}] : !tile.ptr<{t}> -> {type}")
        known = stride_types
    else:
        type = f"!tile.view<{'x'.join(size_types)}x{t}>"
        p.emit(f"{v.name} = tile.view {a.name} sizes [{', '.join(size_text)}] : "
               f"!tile.ptr<{t}> -> {type}")
        known, product = [], 1
        for size in reversed(size_types):
            known.insert(0, str(product))
            product = "?" if "?" in (product, size) else product * int(size)
    view = View(v.name, a, shape, strides, type)
    view.known, view.sizes = known, size_types
    return view


def strides_text(view):
    return list(map(str, view.strides))


class Place:
    """The brackets of an access: per dimension an index and whether it is a block
    dimension."""

    def __init__(self, indices, extents):
        self.indices, self.extents = indices, extents

    def text(self):
        parts = []
        for v, e in zip(self.indices, self.extents):
            if v.shape:
                parts.append(f"{v.name} : {v.type}")
            elif e is None:
                parts.append(v.name + (f" : {v.dtype}" if v.dtype != "index" else ""))
            else:
                parts.append(f"{v.name} : {e}" + (f" : {v.dtype}" if v.dtype != "index" else ""))
        return "[" + ", ".join(parts) + "]"

    def positions(self, view, env):
        """Offsets into the array, and which elements are inside."""
        shape = [e for e in self.extents if e is not None]
        offset, inside, at = np.zeros(shape, np.int64), np.ones(shape, bool), 0
        for d, (v, e) in enumerate(zip(self.indices, self.extents)):
            i = env[v.name].val
            if e is not None:
                if not v.shape:
                    i = int(i) + np.arange(e)
                i = np.asarray(i).reshape([-1 if k == at else 1 for k in range(len(shape))])
                at += 1
            inside = inside & (i >= 0) & (i < view.shape[d])
            offset = offset + np.clip(i, 0, view.shape[d] - 1) * view.strides[d]
        return offset, inside

    def shape(self):
        return tuple(e for e in self.extents if e is not None)


def load(p, view, place, pad=None):
    """pad: (text, number)."""
    t = view.array.dtype
    v = p.fresh(t, place.shape())

    def meaning(env):
        at, inside = place.positions(view, env)
        other = 0 if pad is None else pad[1]
        return Ref(np.where(inside, view.array.val[at], other),
                   np.where(inside, view.array.err[at], 0))
    text = "" if pad is None else f" pad = {pad[0]}"
    return p.emit(f"{v.name} = tile.load {view.name}{place.text()}{text} : {view.type}", v, meaning)


def store(p, value, view, place):
    def meaning(env):
        at, inside = place.positions(view, env)
        r = env[value.name]
        view.array.val[at[inside]] = r.val[inside]
        view.array.err[at[inside]] = r.err[inside]
    p.emit(f"tile.store {value.name}, {view.name}{place.text()} : {view.type}", None, meaning)


def atomic_add(p, value, view, place):
    t = value.dtype

    def meaning(env):
        at, inside = place.positions(view, env)
        r, a = env[value.name], view.array
        np.add.at(a.val, at[inside], r.val[inside])
        np.add.at(a.err, at[inside], r.err[inside])
        if is_float(t):
            exact = (a.err == 0) & (quantize(a.val, t) == a.val)
            a.err[:] = np.where(exact, 0, a.err + np.abs(a.val) * 2.0 ** (4 - FLOATS[t][0]) + 1e-3)
        else:
            a.val[:] = wrap(a.val, t)
    p.emit(f"tile.atomic_add {value.name}, {view.name}{place.text()} : {view.type}", None, meaning)


# Ops on blocks.

def binary(p, name, a, b):
    t = a.dtype
    v = p.fresh(t, a.shape)
    f = (lambda x, y: ops.FLOAT_BINARY[name](t, x, y)) if is_float(t) else (
        lambda x, y: ops.int_binary(name, t, x, y))
    return p.emit(f"{v.name} = {name} {a.name}, {b.name} : {v.type}", v,
                  lambda env: f(env[a.name], env[b.name]))


def unary(p, name, a, flags=""):
    """`flags`: of fast math, ' fastmath<..>'; they change nothing that the bounds do not allow."""
    t = a.dtype
    v = p.fresh(t, a.shape)
    f = (lambda x: ops.float_rounding(name, t, x)) if name in ops.FLOAT_ROUNDING else (
        lambda x: ops.FLOAT_UNARY[name](t, x))
    return p.emit(f"{v.name} = {name} {a.name}{flags} : {v.type}", v, lambda env: f(env[a.name]))


def fma(p, a, b, c):
    v = p.fresh(a.dtype, a.shape)
    return p.emit(f"{v.name} = math.fma {a.name}, {b.name}, {c.name} : {v.type}", v,
                  lambda env: ops.fma(a.dtype, env[a.name], env[b.name], env[c.name]))


def compare(p, pred, a, b):
    v = p.fresh("i1", a.shape)
    op = "cmpf" if is_float(a.dtype) else "cmpi"
    return p.emit(f"{v.name} = arith.{op} {pred}, {a.name}, {b.name} : {a.type}", v,
                  lambda env: ops.compare(pred, a.dtype, env[a.name], env[b.name]))


def select(p, c, a, b):
    v = p.fresh(a.dtype, a.shape)
    types = v.type if c.shape == () else f"{c.type}, {v.type}"
    return p.emit(f"{v.name} = arith.select {c.name}, {a.name}, {b.name} : {types}", v,
                  lambda env: ops.select(env[c.name], env[a.name], env[b.name]))


def cast(p, name, a, t):
    v = p.fresh(t, a.shape)
    return p.emit(f"{v.name} = {name} {a.name} : {a.type} to {v.type}", v,
                  lambda env: ops.cast(name, a.dtype, t, env[a.name]))


def splat(p, a, shape):
    v = p.fresh(a.dtype, shape)
    return p.emit(f"{v.name} = tensor.splat {a.name} : {v.type}", v,
                  lambda env: env[a.name].map(lambda x: np.full(shape, x)))


def rearrange(p, text, a, shape, f):
    v = p.fresh(a.dtype, shape)
    return p.emit(f"{v.name} = {text}", v, lambda env: env[a.name].map(f))


def iota(p, first, end):
    v = p.fresh("i32", (end - first,))
    return p.emit(f"{v.name} = tile.iota {first} to {end}", v, lambda env: Ref(np.arange(first, end)))


def expand_dims(p, a, axis):
    shape = list(a.shape)
    shape.insert(axis, 1)
    return rearrange(p, f"tile.expand_dims {a.name} axis {axis} : {a.type}", a, shape,
                     lambda x: np.expand_dims(x, axis))


def broadcast(p, a, shape):
    return rearrange(p, f"tile.broadcast {a.name} : {a.type} -> {block(a.dtype, shape)}", a, shape,
                     lambda x: np.broadcast_to(x, shape))


def reshape(p, a, shape):
    return rearrange(p, f"tile.reshape {a.name} : {a.type} -> {block(a.dtype, shape)}", a, shape,
                     lambda x: x.reshape(shape))


def trans(p, a):
    shape = [*a.shape[:-2], a.shape[-1], a.shape[-2]]
    return rearrange(p, f"tile.trans {a.name} : {a.type}", a, shape, lambda x: np.swapaxes(x, -1, -2))


def join(p, a, b):
    v = p.fresh(a.dtype, [*a.shape, 2])
    return p.emit(f"{v.name} = tile.join {a.name}, {b.name} : {a.type}", v, lambda env: Ref(
        np.stack([env[a.name].val, env[b.name].val], -1),
        np.stack([env[a.name].err, env[b.name].err], -1)))


def split(p, a):
    x, y = p.fresh(a.dtype, a.shape[:-1]), p.fresh(a.dtype, a.shape[:-1])
    p.emit(f"{x.name}, {y.name} = tile.split {a.name} : {a.type}", (x, y), lambda env: (
        env[a.name].map(lambda r: r[..., 0]), env[a.name].map(lambda r: r[..., 1])))
    return x, y


def inexact(err):
    return np.where(err > 0, np.inf, 0.0)


def total(r, axis, t):
    """The sum along an axis; exact where all partial sums are."""
    size = np.abs(r.val).sum(axis)
    with np.errstate(invalid="ignore"):  # padding may be infinite
        value = r.val.sum(axis)
    if not is_float(t):
        return Ref(wrap(value, t), inexact(r.err.sum(axis)))
    grid = 2.0 ** -6
    fine = np.all(r.val == np.round(r.val / grid) * grid, axis) & (
        size / grid < 2.0 ** FLOATS[t][0]) & (r.err.sum(axis) == 0)
    n = r.val.shape[axis]
    err = r.err.sum(axis) + size * (n + 2) * 2.0 ** (1 - FLOATS[t][0])
    out = rounded(value, np.where(fine, 0, err), t)
    return Ref(out.val, np.where(fine, 0, out.err))


def fold(kind, t, r, axis):
    if kind == "add":
        return total(r, axis, t)
    if kind == "mul" and not is_float(t):
        with np.errstate(over="ignore"):
            return Ref(wrap(r.val.prod(axis), t), inexact(r.err.sum(axis)))
    if kind == "mul":
        n = r.val.shape[axis]
        with np.errstate(all="ignore"):
            value = r.val.prod(axis)
            worst = (np.abs(r.val) + r.err).prod(axis)
            top = np.maximum(np.abs(r.val) + r.err, 1).prod(axis)
            err = worst - np.abs(value) + worst * n * 2.0 ** (1 - FLOATS[t][0])
            err = np.where(top > FLOATS[t][1] / 4, np.inf, err)
            return rounded(value, err + FLOATS[t][2] * top, t)
    if kind in ("max", "min"):
        f = np.max if kind == "max" else np.min
        if t == "i1":  # true is -1
            f = np.min if kind == "max" else np.max
        return Ref(f(r.val, axis), r.err.max(axis) if is_float(t) else inexact(r.err.max(axis)))
    f = np.bitwise_and if kind == "and" else np.bitwise_or
    return Ref(f.reduce(r.val, axis), inexact(r.err.max(axis)))


def reduce(p, kind, a, axis):
    v = p.fresh(a.dtype, a.shape[:axis] + a.shape[axis + 1:])
    return p.emit(f"{v.name} = tile.reduce {kind} {a.name} axis {axis} : {a.type}", v,
                  lambda env: fold(kind, a.dtype, env[a.name], axis))


def scan(p, kind, a, axis):
    v = p.fresh(a.dtype, a.shape)

    def meaning(env):
        r = env[a.name]
        parts = [fold(kind, a.dtype, r.map(lambda x: np.take(x, range(i + 1), axis)), axis)
                 for i in range(a.shape[axis])]
        return Ref(np.stack([x.val for x in parts], axis), np.stack([x.err for x in parts], axis))
    return p.emit(f"{v.name} = tile.scan {kind} {a.name} axis {axis} : {a.type}", v, meaning)


def scan_last(p, a, axis):
    """The last element that is not 0, up to each one. Not commutative."""
    v, t, n = p.fresh(a.dtype, a.shape), a.dtype, p.count

    def meaning(env):
        r = env[a.name]
        val, sure = np.array(r.val), np.array(r.err == 0)
        for i in range(1, a.shape[axis]):
            at = (slice(None),) * axis
            now, last = (*at, i), (*at, i - 1)
            sure[now] &= sure[last] | (val[now] != 0)
            val[now] = np.where(val[now] != 0, val[now], val[last])
        return Ref(val, np.where(sure, 0, np.inf))
    p.emit(f"{v.name} = tile.scan {a.name} axis {axis} : {a.type} {{")
    p.emit(f"^bb0(%x{n}: {t}, %y{n}: {t}):")
    zero = ops.constant(t, 0)[0] + ("" if t == "i1" else f" : {t}")
    p.emit(f"  %z{n} = arith.constant {zero}")
    p.emit(f"  %c{n} = arith.cmp{'f une' if is_float(t) else 'i ne'}, %y{n}, %z{n} : {t}")
    p.emit(f"  %r{n} = scf.if %c{n} -> ({t}) {{")
    p.emit(f"    scf.yield %y{n} : {t}")
    p.emit("  } else {")
    p.emit(f"    scf.yield %x{n} : {t}")
    p.emit("  }")
    p.emit(f"  tile.yield %r{n} : {t}")
    return p.emit("}", v, meaning)


def recurrence(p, a, b, axis):
    """x -> a x + b, one after the other: what they are up to each one. Integers of one shape,
    a's as wide as b's or wider."""
    u, v, t, w, n = p.fresh(a.dtype, a.shape), p.fresh(b.dtype, b.shape), a.dtype, b.dtype, p.count

    def meaning(env):
        x, y = env[a.name], env[b.name]
        f, g = np.array(x.val), np.array(y.val)
        for i in range(1, a.shape[axis]):
            at = (slice(None),) * axis
            now, last = (*at, i), (*at, i - 1)
            with np.errstate(over="ignore"):
                g[now] = wrap(y.val[now] + wrap(f[now], w) * g[last], w)
                f[now] = wrap(f[now] * f[last], t)
        unsure = np.maximum.accumulate(inexact(x.err + y.err), axis)
        return Ref(f, unsure), Ref(g, unsure)
    p.emit(f"{u.name}, {v.name} = tile.scan {a.name}, {b.name} axis {axis} : {a.type}, {b.type} {{")
    p.emit(f"^bb0(%a{n}: {t}, %b{n}: {w}, %c{n}: {t}, %d{n}: {w}):")
    p.emit(f"  %p{n} = arith.muli %a{n}, %c{n} : {t}")
    c = f"%c{n}"
    if t != w:
        c = f"%e{n}"
        p.emit(f"  {c} = arith.trunci %c{n} : {t} to {w}")
    p.emit(f"  %q{n} = arith.muli {c}, %b{n} : {w}")
    p.emit(f"  %r{n} = arith.addi %q{n}, %d{n} : {w}")
    p.emit(f"  tile.yield %p{n}, %r{n} : {t}, {w}")
    return p.emit("}", (u, v), meaning)


def philox_word(seed, step, site, index):
    """dialects/tile/ProgramOps.td says how the counter is put together."""
    m = 0xFFFFFFFF
    seed, step, site = (int(x) & (1 << 64) - 1 for x in (seed, step, site))
    i = np.asarray(index).astype(np.uint64)
    low = np.uint64(m)
    c = [i & low, ((i >> np.uint64(32)) + np.uint64((site >> 32 << 20) & m)) & low,
         np.full(i.shape, step & m, np.uint64), np.full(i.shape, site & m, np.uint64)]
    k = [seed & m, seed >> 32]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        s = np.uint64(32)
        c = [(p1 >> s) ^ c[1] ^ np.uint64(k[0]), p1 & low, (p0 >> s) ^ c[3] ^ np.uint64(k[1]), p0 & low]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return wrap(c[0].astype(np.int64), "i32")


def philox(p, numbers, index):
    seed, step, site = (p.scalar_argument("i64", int(n)) for n in numbers)
    v = p.fresh("i32", index.shape)
    types = f" : {index.type}"
    return p.emit(f"{v.name} = tile.philox {seed.name}, {step.name}, {site.name}, {index.name}{types}", v,
                  lambda env: Ref(philox_word(*numbers, env[index.name].val), unknown(env[index.name])))


def dot(p, a, b, acc, precision=None, ends=()):
    v = p.fresh(acc.dtype, acc.shape)
    t = a.dtype

    def meaning(env):
        x, y, c = env[a.name], env[b.name], env[acc.name]
        if not is_float(t):
            return Ref(wrap(x.val @ y.val + c.val, acc.dtype), unknown(c))
        with np.errstate(invalid="ignore"):  # padding may be infinite
            product, X = np.matmul, x.val.astype(np.float64)
            if ends:
                at, (low, high) = np.arange(X.shape[1]), (env[e.name] for e in ends)
                seen = (at >= low.val[:, None]) & (at < high.val[:, None])
                X, c = np.where(seen, X, 0), Ref(c.val, c.err + unknown(low, high)[:, None])

                def product(l, r):
                    return np.where(seen[:, :, None], l[:, :, None] * r, 0).sum(1)
            return floats(X, y.val.astype(np.float64), x.err, y.err, c, product)

    def floats(X, Y, ex, ey, c, product):
        k = X.shape[1]
        if precision == "tf32":
            ex, ey = (e + np.abs(v) * 2.0 ** -10 * (v * 2 ** 7 % 1 != 0) for e, v in ((ex, X), (ey, Y)))
        size = product(np.abs(X), np.abs(Y))
        with np.errstate(invalid="ignore"):
            err = np.nan_to_num(product(np.abs(X), ey) + product(ex, np.abs(Y)) + product(ex, ey), nan=np.inf) + c.err
        # Short sums of numbers of few bits are exact; others round per term.
        # Tensor cores keep 13 bits of a sum of products of f8.
        bits = 10 if acc.dtype == "f16" else 13 if t in FLOATS8 else 22
        whole = (err == 0) & ((size + np.abs(c.val)) * 256 < 2 ** bits) & (
            c.val * 256 % 1 == 0) & np.all(X * 16 % 1 == 0) & np.all(Y * 16 % 1 == 0)
        eps = 2.0 ** -50 if t == "f64" else 2.0 ** -10 if acc.dtype == "f16" else 2.0 ** -12 if t in FLOATS8 else 2.0 ** -22 if precision in (None, "ieee", "tf32") else 2.0 ** -14
        err = np.where(whole, 0, err + (size + np.abs(c.val)) * (k + 2) * eps)
        out = rounded(product(X, Y) + c.val, err, acc.dtype)
        return Ref(out.val, np.where(whole, 0, out.err))
    within = f" within({', '.join(e.name for e in ends)} : {', '.join(e.type for e in ends)})" if ends else ""
    how = f" precision = {precision}" if precision else ""
    return p.emit(f"{v.name} = tile.dot {a.name}, {b.name}, {acc.name}{within}{how} : {a.type}, {b.type} -> {acc.type}",
                  v, meaning)


# Control flow. `body(iv, carried)` emits and returns what is yielded.

def for_loop(p, lower, upper, step, inits, body):
    iv = p.fresh("index")
    args = [p.fresh(v.dtype, v.shape) for v in inits]
    results = [p.fresh(v.dtype, v.shape) for v in inits]
    types = ", ".join(v.type for v in inits)
    carried = ", ".join(f"{a.name} = {v.name}" for a, v in zip(args, inits))
    names = ", ".join(r.name for r in results)
    p.emit(f"{names + ' = ' if inits else ''}scf.for {iv.name} = {lower.name} to {upper.name} step {step.name}"
           + (f" iter_args({carried}) -> ({types})" if inits else "") + " {")
    code = []
    with p.nested(code):
        yielded = body(iv, args)
        if inits:
            p.emit(f"scf.yield {', '.join(v.name for v in yielded)} : {types}")
    p.emit("}")

    def step_(env):
        now = [env[v.name] for v in inits]
        for i in range(int(env[lower.name].val), int(env[upper.name].val), int(env[step.name].val)):
            env[iv.name] = Ref(i)
            for a, r in zip(args, now):
                env[a.name] = r
            for c in code:
                c(env)
            now = [env[v.name] for v in yielded]
        for v, r in zip(results, now):
            env[v.name] = r
    p.code.append(step_)
    return results


def branches(p, head, arrow, openings, regions, like, chosen):
    """`head` and, behind `arrow`, the types of `like`; then each region behind its opening. chosen(env) is the number of
    one. A region that is None is not written, and yields nothing."""
    results = [p.fresh(v.dtype, v.shape) for v in like]
    types = ", ".join(v.type for v in like)
    names = ", ".join(r.name for r in results)
    p.emit((f"{names} = {head}{arrow.format(types)}" if like else head) + openings[0])
    bodies = []
    for opening, region in zip(["", *openings[1:]], regions):
        code, yielded = [], []
        if region is not None:
            if opening:
                p.emit(opening)
            with p.nested(code):
                yielded = region()
                if like or "switch" in head:
                    p.emit(f"scf.yield {', '.join(v.name for v in yielded)} : {types}" if like else "scf.yield")
        bodies.append((code, yielded))
    p.emit("}")

    def step_(env):
        code, yielded = bodies[chosen(env)]
        for c in code:
            c(env)
        for r, v in zip(results, yielded):
            env[r.name] = env[v.name]
    p.code.append(step_)
    return results


def if_else(p, condition, then, other, like):
    return branches(p, f"scf.if {condition.name}", " -> ({})", [" {", "} else {"], [then, other], like,
                    lambda env: 0 if env[condition.name].val else 1)


def switch(p, number, cases, like):
    """`cases` by numbers, and by None what is done for others."""
    numbers = [n for n in cases if n is not None]
    openings = [f"\ncase {n} {{" for n in numbers] + ["\ndefault {"]
    return branches(p, f"scf.index_switch {number.name}", " -> {}", [openings[0], *("}" + o for o in openings[1:])],
                    [cases[n] for n in (*numbers, None)], like,
                    lambda env: (*numbers, int(env[number.name].val)).index(int(env[number.name].val)))


def while_loop(p, times, inits, body):
    """while (n < times): carried = body(carried), and the count is carried."""
    zero, one, end = p.index(0), p.index(1), p.index(times)
    types = ", ".join(["index"] + [v.type for v in inits])
    before = [p.fresh("index")] + [p.fresh(v.dtype, v.shape) for v in inits]
    after = [p.fresh("index")] + [p.fresh(v.dtype, v.shape) for v in inits]
    results = [p.fresh("index")] + [p.fresh(v.dtype, v.shape) for v in inits]
    start = [zero, *inits]
    carried = ", ".join(f"{a.name} = {v.name}" for a, v in zip(before, start))
    p.emit(f"{', '.join(r.name for r in results)} = scf.while ({carried}) : ({types}) -> ({types}) {{")
    c = p.fresh("i1")
    with p.nested([]):
        p.emit(f"{c.name} = arith.cmpi slt, {before[0].name}, {end.name} : index")
        p.emit(f"scf.condition({c.name}) {', '.join(b.name for b in before)} : {types}")
    p.emit("} do {")
    p.emit("^bb0(" + ", ".join(f"{a.name}: {a.type}" for a in after) + "):")
    code = []
    with p.nested(code):
        yielded = [p.index_op("addi", after[0], one), *body(after[0], after[1:])]
        p.emit(f"scf.yield {', '.join(v.name for v in yielded)} : {types}")
    p.emit("}")

    def step_(env):
        now = [env[v.name] for v in start]
        while now[0].val < times:
            for a, r in zip(after, now):
                env[a.name] = r
            for s in code:
                s(env)
            now = [env[v.name] for v in yielded]
        for v, r in zip(results, now):
            env[v.name] = r
    p.code.append(step_)
    return results[1:]
