# SPDX-License-Identifier: Apache-2.0
"""Writes a module of act, as text: values, types, and the functions around them."""

import math

import torch

from .capture import Unsupported

ELEMENT = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16",
    torch.bfloat16: "bf16", torch.bool: "i1", torch.int32: "i32", torch.int64: "i64",
}


def element(dtype):
    if dtype not in ELEMENT:
        raise Unsupported("act has no tensors of %s" % dtype)
    return ELEMENT[dtype]


class Value:
    """An SSA value: ``name`` is what the text says; ``shape`` are ints."""

    __slots__ = ("name", "shape", "dtype")

    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(int(d) for d in shape), dtype

    @property
    def type(self):
        return tensor_type(self.shape, self.dtype)

    @property
    def rank(self):
        return len(self.shape)

    @property
    def is_float(self):
        return self.dtype.is_floating_point


def tensor_type(shape, dtype):
    return "tensor<%s%s>" % ("".join("%dx" % d for d in shape), element(dtype))


def number(value):
    """A literal of a float attribute."""
    value = float(value)
    if value != value:
        return "0x7FF8000000000000 : f64"
    if value in (float("inf"), float("-inf")):
        return ("0x7FF0000000000000" if value > 0 else "0xFFF0000000000000") + " : f64"
    return repr(value) if "e" not in repr(value) or "." in repr(value) \
        else repr(value).replace("e", ".0e")


def literal(value, dtype):
    """A literal of an element."""
    if dtype == torch.bool:
        return "true" if value else "false"
    if not dtype.is_floating_point:
        return str(int(value))
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        bits = torch.tensor(value, dtype=dtype).view(
            {8: torch.int64, 4: torch.int32, 2: torch.int16}[dtype.itemsize]).item()
        return "0x%0*X" % (2 * dtype.itemsize, bits % (1 << 8 * dtype.itemsize))
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def broadcast(*shapes):
    return tuple(torch.broadcast_shapes(*shapes))


def regroup(dims, shape):
    """Dimensions, each a list of (stride, size), as those of another shape; None if
    that is no view."""
    atoms = [a for dim in dims for a in dim if a[1] != 1]
    out = []
    for size in shape:
        group, left = [], size
        while left > 1:
            stride, n = atoms.pop(0)
            if left % n == 0:
                group.append((stride, n))
                left //= n
            elif n % left == 0:  # the outer part of a dimension
                group.append((stride * (n // left), left))
                atoms.insert(0, (stride, n // left))
                left = 1
            else:
                return None
        out.append(group)
    return out


def in_order(dims):
    """Whether the elements come in the order of memory."""
    expected = 1
    for stride, size in reversed([a for dim in dims for a in dim if a[1] != 1]):
        if stride != expected:
            return False
        expected *= size
    return True


class Body:
    """A function's body: lines, and ops that shorten writing them."""

    def __init__(self, program):
        self.program = program
        self.lines = []
        self._count = 0
        self._constants = {}
        self._views = {}  # of reshapes and transposes, by name: see _view

    def fresh(self):
        self._count += 1
        return "%%%d" % (self._count - 1)

    def op(self, text, shape, dtype):
        """Appends ``%n = text`` and returns the value."""
        value = Value(self.fresh(), shape, dtype)
        self.lines.append("    %s = %s" % (value.name, text))
        return value

    def constant(self, value, shape, dtype):
        """A splat."""
        key = (literal(value, dtype), tuple(shape), dtype)
        if key not in self._constants:
            self._constants[key] = self.op(
                "act.constant dense<%s> : %s" % (key[0], tensor_type(shape, dtype)),
                shape, dtype)
        return self._constants[key]

    # ---- Views ----

    def reshape(self, x, shape):
        shape = tuple(int(d) for d in shape)
        if x.shape == shape:
            return x
        base, dims = self._view(x)
        dims = regroup(dims, shape)
        if dims is not None and base is not x and in_order(dims):
            return self.reshape(base, shape)
        out = self.op("act.reshape %s : %s -> %s" % (
            x.name, x.type, tensor_type(shape, x.dtype)), shape, x.dtype)
        if dims is not None:
            self._views[out.name] = (base, dims)
        return out

    def transpose(self, x, order):
        order = [d % x.rank for d in order]
        if order == list(range(x.rank)):
            return x
        shape = [x.shape[d] for d in order]
        base, dims = self._view(x)
        dims = [dims[d] for d in order]
        if in_order(dims):
            return self.reshape(base, shape)
        out = self.op("act.transpose %s [%s] : %s -> %s" % (
            x.name, ", ".join(map(str, order)), x.type, tensor_type(shape, x.dtype)),
            shape, x.dtype)
        self._views[out.name] = (base, dims)
        return out

    def _view(self, x):
        """What x is a view of, and for each dimension of x its strides there."""
        if x.name in self._views:
            return self._views[x.name]
        dims, stride = [], 1
        for size in reversed(x.shape):
            dims.append([(stride, size)])
            stride *= size
        return x, dims[::-1]

    def expand(self, x, shape):
        """As torch's expand, to a whole shape."""
        shape = tuple(shape)
        x = self.reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
        if x.shape == shape:
            return x
        return self.op("act.expand %s : %s -> %s" % (
            x.name, x.type, tensor_type(shape, x.dtype)), shape, x.dtype)

    def repeat_heads(self, x, shape):
        """Each element of a dimension several times in a row."""
        return self.op("act.expand %s : %s -> %s" % (
            x.name, x.type, tensor_type(shape, x.dtype)), shape, x.dtype)

    def to_last(self, x, dim):
        """x with ``dim`` as the last dimension, and the order that puts it back."""
        order = [d for d in range(x.rank) if d != dim] + [dim]
        back = [order.index(d) for d in range(x.rank)]
        return self.transpose(x, order), back

    def split(self, x, sizes, dim):
        """Parts of x along a dimension."""
        sizes = [int(s) for s in sizes]
        if 0 in sizes:  # a part without elements has no text
            rest = iter(self.split(x, [s for s in sizes if s], dim))
            return [next(rest) if s else Value("", x.shape[:dim] + (0,) + x.shape[dim + 1:],
                                               x.dtype) for s in sizes]
        if len(sizes) == 1:
            return [x]
        # A part is in one piece for each index in front of `dim`.
        row = math.prod(x.shape[dim + 1:])
        rows = self.reshape(x, x.shape[:dim] + (x.shape[dim] * row,))
        parts = [Value(self.fresh(), x.shape[:dim] + (s * row,), x.dtype) for s in sizes]
        self.lines.append("    %s = act.split %s : %s -> %s" % (
            ", ".join(p.name for p in parts), rows.name, rows.type,
            ", ".join(p.type for p in parts)))
        return [self.reshape(p, x.shape[:dim] + (s,) + x.shape[dim + 1:])
                for p, s in zip(parts, sizes)]

    def slice(self, x, dim, start, end):
        """x[start:end] along a dimension."""
        n = x.shape[dim]
        if (start, end) == (0, n):
            return x
        sizes = [s for s in (start, end - start, n - end) if s]
        return self.split(x, sizes, dim)[1 if start else 0]

    def concat(self, parts, dim):
        if len(parts) == 1:
            return parts[0]
        front, behind = parts[0].shape[:dim], parts[0].shape[dim + 1:]
        rows = [self.reshape(p, front + (math.prod(p.shape[dim:]),)) for p in parts]
        shape = front + (sum(r.shape[-1] for r in rows),)
        joined = self.op("act.concat %s : (%s) -> %s" % (
            ", ".join(r.name for r in rows), ", ".join(r.type for r in rows),
            tensor_type(shape, parts[0].dtype)), shape, parts[0].dtype)
        return self.reshape(joined, front + (sum(p.shape[dim] for p in parts),) + behind)

    def cast(self, x, dtype):
        if x.dtype == dtype:
            return x
        if x.is_float and not dtype.is_floating_point:
            return self.map([x], dtype, {
                torch.bool: ["%z = arith.constant 0.0 : {0}",
                             "%r = arith.cmpf une, %0, %z : {0}"],
            }.get(dtype, ["%r = arith.fptosi %0 : {0} to {r}"]))
        if dtype == torch.bool or (x.dtype != torch.bool and not dtype.is_floating_point
                                   and x.dtype.itemsize > dtype.itemsize):
            body = ["%z = arith.constant 0 : {0}", "%r = arith.cmpi ne, %0, %z : {0}"] \
                if dtype == torch.bool else ["%r = arith.trunci %0 : {0} to {r}"]
            return self.map([x], dtype, body)
        return self.op("act.cast %s : %s to %s" % (
            x.name, x.type, tensor_type(x.shape, dtype)), x.shape, dtype)

    # ---- Arithmetic ----

    def binary(self, name, x, y):
        """add, sub, mul or div of floats of one type, with broadcasting."""
        shape = broadcast(x.shape, y.shape)
        return self.op("act.%s %s, %s : (%s, %s) -> %s" % (
            name, x.name, y.name, x.type, y.type, tensor_type(shape, x.dtype)),
            shape, x.dtype)

    def scale(self, x, factor):
        if factor == 1:
            return x
        return self.op("act.scale %s by %s : %s" % (x.name, number(factor), x.type),
                       x.shape, x.dtype)

    def select(self, condition, x, y):
        shape = broadcast(condition.shape, x.shape, y.shape)
        if not x.is_float:
            return self.map([condition, x, y], x.dtype,
                            ["%r = arith.select %0, %1, %2 : {1}"])
        return self.op("act.select %s, %s, %s : (%s, %s, %s) -> %s" % (
            condition.name, x.name, y.name, condition.type, x.type, y.type,
            tensor_type(shape, x.dtype)), shape, x.dtype)

    def unary(self, name, x):
        return self.op("act.%s %s : %s" % (name, x.name, x.type), x.shape, x.dtype)

    def sum(self, x, dims, keepdim):
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        out = self.op("act.sum_to %s : %s -> %s" % (
            x.name, x.type, tensor_type(shape, x.dtype)), shape, x.dtype)
        if keepdim:
            return out
        return self.reshape(out, [n for d, n in enumerate(x.shape) if d not in dims])

    def map(self, operands, dtype, lines):
        """An elementwise linalg.generic. Lines are scalar ops on %0, %1, ..., the last
        of which makes %r; {0}, {1}, {r} are their types."""
        shape = broadcast(*[x.shape for x in operands])
        rank = len(shape)
        dims = ", ".join("d%d" % i for i in range(rank))

        def place(x):
            at = ["d%d" % i if x.shape[i - rank] == shape[i] else "0"
                  for i in range(rank - x.rank, rank)]
            return "affine_map<(%s) -> (%s)>" % (dims, ", ".join(at))

        maps = [place(x) for x in operands] + ["affine_map<(%s) -> (%s)>" % (dims, dims)]
        types = {str(i): element(x.dtype) for i, x in enumerate(operands)}
        types["r"] = element(dtype)
        out = tensor_type(shape, dtype)
        empty = self.op("tensor.empty() : " + out, shape, dtype)
        names = ["%%a%d" % i for i in range(len(operands))]
        body = ["      ^bb0(%s, %%o: %s):" % (
            ", ".join("%s: %s" % (n, element(x.dtype)) for n, x in zip(names, operands)),
            types["r"])]
        for line in lines:
            for i in reversed(range(len(operands))):
                line = line.replace("%%%d" % i, names[i])
            for key, name in types.items():
                line = line.replace("{%s}" % key, name)
            body.append("        " + line)
        body.append("        linalg.yield %%r : %s" % types["r"])
        return self.op(
            "linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s : %s) "
            "outs(%s : %s) {\n%s\n    } -> %s" % (
                ", ".join(maps), ", ".join(['"parallel"'] * rank),
                ", ".join(x.name for x in operands),
                ", ".join(x.type for x in operands), empty.name, out, "\n".join(body),
                out), shape, dtype)

    # ---- Products ----

    def convolution(self, x, weight, stride, dilation, out, groups=1):
        """The sums of x[n, c, o * stride + k * dilation] weight[f, c, k] over c and k. The
        windows are read where they are. Groups have channels of their own."""
        g, space = groups, weight.rank - 2
        x = self.reshape(x, (x.shape[0], g, x.shape[1] // g) + x.shape[2:])
        weight = self.reshape(weight, (g, weight.shape[0] // g) + weight.shape[1:])
        o, k = (["%s%d" % (letter, i) for i in range(space)] for letter in "ok")
        y = self._sum_of_windows(
            ["n", "g", "f"] + o, ["c"] + k,
            [(x, ["n", "g", "c"] + _reads(o, k, stride, dilation)), (weight, ["g", "f", "c"] + k)],
            (x.shape[0], g, weight.shape[1], *out))
        return self.reshape(y, (x.shape[0], g * weight.shape[1], *out))

    def window_sums(self, x, kernel, stride, out):
        """The sums of x[.., o * stride + k] over k, along the last dimensions."""
        lead, space = x.rank - len(kernel), len(kernel)
        before = ["d%d" % i for i in range(lead)]
        o, k = (["%s%d" % (letter, i) for i in range(space)] for letter in "ok")
        shape = self.op("tensor.empty() : %s" % tensor_type(kernel, x.dtype), kernel, x.dtype)
        return self._sum_of_windows(
            before + o, k, [(x, before + _reads(o, k, stride, [1] * space)), (shape, k)],
            x.shape[:lead] + tuple(out))

    def _sum_of_windows(self, kept, summed, operands, shape):
        """The sum over some loops of the first operand, times the second unless that only
        gives the windows' shape. Operands have their places in terms of loops."""
        loops, dtype = kept + summed, operands[0][0].dtype
        maps = ["affine_map<(%s) -> (%s)>" % (", ".join(loops), ", ".join(at))
                for at in [at for _, at in operands] + [kept]]
        wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
        kinds = ['"parallel"'] * len(kept) + ['"reduction"'] * len(summed)
        to, of, sum_of = tensor_type(shape, wide), element(dtype), element(wide)
        empty = self.op("tensor.empty() : %s" % to, shape, wide)
        zero = self.op("arith.constant 0.0 : %s" % sum_of, (), wide)
        start = self.op("linalg.fill ins(%s : %s) outs(%s : %s) -> %s" % (
            zero.name, sum_of, empty.name, to, to), shape, wide)
        (x, _), (y, at) = operands
        names = ["%a", "%b"] if at != summed else ["%a"]
        body = []
        if wide != dtype:
            body += ["%s = arith.extf %s : %s to f32" % (n.upper(), n, of) for n in names]
            names = [n.upper() for n in names]
        if len(names) == 2:
            body.append("%%m = arith.mulf %s, %s : %s" % (*names, sum_of))
        body.append("%%s = arith.addf %%o, %s : %s" % ("%m" if len(names) == 2 else names[0], sum_of))
        y = self.op(
            "linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s, %s : %s, %s) "
            "outs(%s : %s) {\n    ^bb0(%%a: %s, %%b: %s, %%o: %s):\n%s\n        linalg.yield %%s : %s\n"
            "    } -> %s" % (", ".join(maps), ", ".join(kinds), x.name, y.name, x.type, y.type, start.name,
                             to, of, of, sum_of, "\n".join("        " + line for line in body), sum_of, to),
            shape, wide)
        return self.cast(y, dtype)

    def linear(self, x, weight, bias=None):
        shape = x.shape[:-1] + (weight.shape[0],)
        types = [x.type, weight.type] + ([bias.type] if bias else [])
        return self.op("act.linear %s, %s%s : (%s) -> %s" % (
            x.name, weight.name, " bias(%s)" % bias.name if bias else "",
            ", ".join(types), tensor_type(shape, x.dtype)), shape, x.dtype)

    def matmul(self, x, y, transposed=False):
        """x y, or x y^T. Leading dimensions are equal, or y is a matrix."""
        shape = x.shape[:-1] + (y.shape[-2 if transposed else -1],)
        return self.op("act.matmul %s, %s%s : (%s, %s) -> %s" % (
            x.name, y.name, " transpose_rhs" if transposed else "", x.type, y.type,
            tensor_type(shape, x.dtype)), shape, x.dtype)


def _reads(outputs, places, stride, dilation):
    return ["%s * %d + %s * %d" % read for read in zip(outputs, stride, places, dilation)]


class Program:
    """A module: parameters, functions, and the constants that callers hand over."""

    def __init__(self, name):
        self.name = name
        self.parameters = []  # text
        self.functions = []
        self.inputs = []  # of @forward: (value, attributes)
        self.held = []  # (port, tensor): constants that are inputs
        self.sites = 0  # of dropout

    def text(self):
        return "module @%s {\n%s\n%s\n}\n" % (
            self.name, "\n".join("  " + p for p in self.parameters),
            "\n".join(self.functions))
