# SPDX-License-Identifier: Apache-2.0
"""What each ATen operator is in act: views, arithmetic, reductions, norms. Products and
losses are in products.py.

A handler takes the writer and the node and returns a Value, or a tuple of them for
an operator with several results. Operators without one are refused by name.
"""

import math

import torch

from .capture import Unsupported
from .program import Value, broadcast, number, tensor_type

HANDLERS = {}


def handles(*names):
    def add(function):
        for name in names:
            HANDLERS[name] = function
        return function
    return add


def result(node):
    """The shape and the type of a node's first result."""
    value = node.meta["val"]
    value = value[0] if isinstance(value, (tuple, list)) else value
    return tuple(value.shape), value.dtype


def argument(node, i, name, default=None):
    if len(node.args) > i:
        return node.args[i]
    return node.kwargs.get(name, default)


# ---- Views ----------------------------------------------------------------

@handles("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
         "aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.dims",
         "aten.squeeze.default", "aten.flatten.using_ints", "aten.view_copy.default",
         "aten.unflatten.int")
def _reshape(w, n):
    return w.body.reshape(w.value(n.args[0]), result(n)[0])


@handles("aten.permute.default")
def _permute(w, n):
    return w.body.transpose(w.value(n.args[0]), n.args[1])


@handles("aten.t.default")
def _t(w, n):
    x = w.value(n.args[0])
    return w.body.transpose(x, range(x.rank)[::-1])


@handles("aten.transpose.int")
def _transpose(w, n):
    x = w.value(n.args[0])
    order = list(range(x.rank))
    i, j = n.args[1] % x.rank, n.args[2] % x.rank
    order[i], order[j] = order[j], order[i]
    return w.body.transpose(x, order)


@handles("aten.expand.default")
def _expand(w, n):
    return w.body.expand(w.value(n.args[0]), result(n)[0])


@handles("aten.clone.default", "aten.contiguous.default", "aten.alias.default",
         "aten.detach.default", "aten.lift_fresh_copy.default", "aten.positive.default",
         "aten.lift_fresh.default")
def _same(w, n):
    if str(n.target) == "aten.detach.default" and w.tracks(n.args[0]):
        raise Unsupported("aten.detach of a value that has a gradient")
    return w.value(n.args[0])


@handles("aten.slice.Tensor")
def _slice(w, n):
    x = w.value(n.args[0])
    dim = argument(n, 1, "dim", 0) % x.rank
    size = x.shape[dim]

    def clamp(v, default):
        v = default if v is None else v
        return min(max(v + size if v < 0 else v, 0), size)

    start = clamp(argument(n, 2, "start"), 0)
    end = max(clamp(argument(n, 3, "end"), size), start)
    step = argument(n, 4, "step", 1)
    if end == start:
        return Value("", x.shape[:dim] + (0,) + x.shape[dim + 1:], x.dtype)
    x = w.body.slice(x, dim, start, end)
    return every(w, x, dim, step)


def every(w, x, dim, step):
    """Elements 0, step, 2 step, ... of a dimension."""
    if step == 1:
        return x
    size = x.shape[dim]
    count = -(-size // step)
    if count * step != size:
        pad = w.body.constant(0, x.shape[:dim] + (count * step - size,)
                              + x.shape[dim + 1:], x.dtype)
        x = w.body.concat([x, pad], dim)
    apart = w.body.reshape(x, x.shape[:dim] + (count, step) + x.shape[dim + 1:])
    first = w.body.slice(apart, dim + 1, 0, 1)
    return w.body.reshape(first, x.shape[:dim] + (count,) + x.shape[dim + 1:])


@handles("aten.narrow.default")
def _narrow(w, n):
    x = w.value(n.args[0])
    dim = n.args[1] % x.rank
    start = n.args[2] % x.shape[dim]
    return w.body.slice(x, dim, start, start + n.args[3])


@handles("aten.select.int")
def _select(w, n):
    x = w.value(n.args[0])
    dim = n.args[1] % x.rank
    i = n.args[2] % x.shape[dim]
    return w.body.reshape(w.body.slice(x, dim, i, i + 1), result(n)[0])


@handles("aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default",
         "aten.unbind.int")
def _split(w, n):
    x = w.value(n.args[0])
    shapes = [tuple(v.shape) for v in n.meta["val"]]
    if str(n.target) == "aten.unbind.int":
        dim = argument(n, 1, "dim", 0) % x.rank
        sizes = [1] * x.shape[dim]
    else:
        dim = argument(n, 2, "dim", 0) % x.rank
        sizes = [s[dim] for s in shapes]
    return tuple(w.body.reshape(p, s)
                 for p, s in zip(w.body.split(x, sizes, dim), shapes))


@handles("<built-in function getitem>")
def _getitem(w, n):
    values = w.values[n.args[0]]
    if not isinstance(values, tuple) or values[n.args[1]] is None:
        raise Unsupported("result %d of %s" % (n.args[1], n.args[0].target))
    return values[n.args[1]]


@handles("aten.cat.default")
def _cat(w, n):
    dtype = result(n)[1]
    parts = [w.value(p) for p in n.args[0]]
    parts = [w.body.cast(p, dtype) for p in parts if 0 not in p.shape]
    return w.body.concat(parts, argument(n, 1, "dim", 0) % parts[0].rank)


@handles("aten.copy.default")
def _copy(w, n):
    shape, dtype = result(n)
    return w.body.expand(w.body.cast(w.value(n.args[1]), dtype), shape)


@handles("aten.slice_scatter.default", "aten.select_scatter.default")
def _scatter(w, n):
    """x with other values in a slice."""
    x, source = w.value(n.args[0]), w.value(n.args[1])
    dim = argument(n, 2, "dim", 0) % x.rank
    size = x.shape[dim]
    if "select" in str(n.target):
        start = n.args[3] % size
        end = start + 1
        source = w.body.reshape(source, x.shape[:dim] + (1,) + x.shape[dim + 1:])
    else:
        start, end = argument(n, 3, "start"), argument(n, 4, "end")
        if argument(n, 5, "step", 1) != 1:
            raise Unsupported("aten.slice_scatter with steps")
        start = 0 if start is None else max(start + size if start < 0 else start, 0)
        end = size if end is None else min(end + size if end < 0 else end, size)
    parts = [w.body.slice(x, dim, 0, start)] if start else []
    parts.append(w.body.cast(source, x.dtype))
    if end < size:
        parts.append(w.body.slice(x, dim, end, size))
    return w.body.concat(parts, dim)


@handles("aten.stack.default")
def _stack(w, n):
    shape, dtype = result(n)
    dim = argument(n, 1, "dim", 0) % len(shape)
    one = shape[:dim] + (1,) + shape[dim + 1:]
    parts = [w.body.reshape(w.body.cast(w.value(p), dtype), one) for p in n.args[0]]
    return w.body.concat(parts, dim)


@handles("aten.constant_pad_nd.default")
def _pad(w, n):
    x = w.value(n.args[0])
    pads, value = n.args[1], argument(n, 2, "value", 0)
    for i in range(len(pads) // 2):
        dim = x.rank - 1 - i
        x = pad(w, x, dim, pads[2 * i], pads[2 * i + 1], value)
    return x


def pad(w, x, dim, before, after, value=0):
    if before < 0:
        x, before = w.body.slice(x, dim, -before, x.shape[dim]), 0
    if after < 0:
        x, after = w.body.slice(x, dim, 0, x.shape[dim] + after), 0

    def fill(size):
        return w.body.constant(value, x.shape[:dim] + (size,) + x.shape[dim + 1:], x.dtype)

    parts = ([fill(before)] if before else []) + [x] + ([fill(after)] if after else [])
    return w.body.concat(parts, dim)


@handles("aten.repeat.default")
def _repeat(w, n):
    shape = result(n)[0]
    x = w.value(n.args[0])
    x = w.body.reshape(x, (1,) * (len(shape) - x.rank) + x.shape)
    for dim, size in enumerate(shape):
        if size != x.shape[dim]:
            x = w.body.concat([x] * (size // x.shape[dim]), dim)
    return x


# ---- Elementwise ----------------------------------------------------------

_BINARY = {"add": ("addf", "addi"), "sub": ("subf", "subi"), "mul": ("mulf", "muli"),
           "div": ("divf", None)}


def arithmetic(w, name, x, y, dtype):
    """x and y are Values or numbers."""
    numbers = [not isinstance(v, Value) for v in (x, y)]
    if dtype.is_floating_point:
        if numbers[1] and name in ("mul", "div") and (name == "mul" or _exact(y)):
            return w.body.scale(w.body.cast(x, dtype), y if name == "mul" else 1 / y)
        if numbers[0] and name == "mul":
            return w.body.scale(w.body.cast(y, dtype), x)
        if numbers[1] and name in ("add", "sub") and y == 0:
            return w.body.cast(x, dtype)
        x, y = (w.body.constant(v, (), dtype) if number else w.body.cast(v, dtype)
                for v, number in zip((x, y), numbers))
        return w.body.binary(name, x, y)
    x, y = (w.body.constant(v, (), dtype) if number else w.body.cast(v, dtype)
            for v, number in zip((x, y), numbers))
    if dtype == torch.bool:
        whole = {"mul": "andi", "add": "ori"}.get(name)
    else:
        whole = _BINARY[name][1]
    if not whole:
        raise Unsupported("%s of %s" % (name, dtype))
    return w.body.map([x, y], dtype, ["%%r = arith.%s %%0, %%1 : {r}" % whole])


def _exact(y):
    """Whether multiplying by 1 / y is dividing by y."""
    return y != 0 and math.frexp(float(y))[0] in (0.5, -0.5)


def _binary(name):
    def handle(w, n):
        x, y = w.operand(n.args[0]), w.operand(n.args[1])
        dtype = result(n)[1]
        alpha = n.kwargs.get("alpha", 1)
        if alpha != 1:
            y = y * alpha if not isinstance(y, Value) else \
                arithmetic(w, "mul", y, alpha, dtype)
        if n.kwargs.get("rounding_mode"):
            raise Unsupported("aten.div with rounding_mode=%s" % n.kwargs["rounding_mode"])
        return arithmetic(w, name, x, y, dtype)
    for overload in ("Tensor", "Scalar"):
        HANDLERS["aten.%s.%s" % (name, overload)] = handle


for _name in _BINARY:
    _binary(_name)


@handles("aten.rsub.Scalar", "aten.rsub.Tensor")
def _rsub(w, n):
    return arithmetic(w, "sub", w.operand(n.args[1]), w.operand(n.args[0]), result(n)[1])


@handles("aten.neg.default")
def _neg(w, n):
    x = w.value(n.args[0])
    return w.body.scale(x, -1) if x.is_float else \
        arithmetic(w, "sub", 0, x, x.dtype)


@handles("aten.pow.Tensor_Scalar")
def _pow(w, n):
    x, e = w.value(n.args[0]), n.args[1]
    if e == 2:
        return arithmetic(w, "mul", x, x, x.dtype)
    if e == 3:
        return arithmetic(w, "mul", arithmetic(w, "mul", x, x, x.dtype), x, x.dtype)
    if e == 0.5:
        return scalar_map(w, x, ["%r = math.sqrt %0 : {0}"])
    return scalar_map(w, x, ["%%e = arith.constant %s : {0}" % number(e),
                             "%r = math.powf %0, %e : {0}"])


def scalar_map(w, x, lines):
    """A map of floats, computed in f32 where elements have 16 bits."""
    if x.dtype.itemsize < 4:
        wide = w.body.cast(x, torch.float32)
        return w.body.cast(w.body.map([wide], torch.float32, lines), x.dtype)
    return w.body.map([x], x.dtype, lines)


_UNARY = {
    "exp": ["%r = math.exp %0 : {0}"], "log": ["%r = math.log %0 : {0}"],
    "sqrt": ["%r = math.sqrt %0 : {0}"], "rsqrt": ["%r = math.rsqrt %0 : {0}"],
    "sin": ["%r = math.sin %0 : {0}"], "cos": ["%r = math.cos %0 : {0}"],
    "erf": ["%r = math.erf %0 : {0}"], "abs": ["%r = math.absf %0 : {0}"],
    "log1p": ["%r = math.log1p %0 : {0}"], "expm1": ["%r = math.expm1 %0 : {0}"],
    "floor": ["%r = math.floor %0 : {0}"], "ceil": ["%r = math.ceil %0 : {0}"],
    "reciprocal": ["%c = arith.constant 1.0 : {0}", "%r = arith.divf %c, %0 : {0}"],
    "sigmoid": ["%c = arith.constant 1.0 : {0}", "%n = arith.negf %0 : {0}",
                "%e = math.exp %n : {0}", "%s = arith.addf %e, %c : {0}",
                "%r = arith.divf %c, %s : {0}"],
    "relu": ["%c = arith.constant 0.0 : {0}", "%p = arith.cmpf ogt, %0, %c : {0}",
             "%r = arith.select %p, %0, %c : {0}"],
}


def _unary(name, lines):
    def handle(w, n):
        x = w.value(n.args[0])
        if not x.is_float:
            x = w.body.cast(x, result(n)[1])
            if not x.is_float:
                raise Unsupported("aten.%s of %s" % (name, x.dtype))
        return scalar_map(w, x, lines)
    HANDLERS["aten.%s.default" % name] = handle


for _name, _lines in _UNARY.items():
    _unary(_name, _lines)


@handles("aten.silu.default", "aten.tanh.default")
def _activation(w, n):
    return w.body.unary(str(n.target).split(".")[1], w.value(n.args[0]))


@handles("aten.gelu.default")
def _gelu(w, n):
    form = n.kwargs.get("approximate", "none")
    return w.body.unary("gelu" if form == "none" else "gelu_new", w.value(n.args[0]))


@handles("aten.hardtanh.default", "aten.clamp.default", "aten.clamp_min.default")
def _clamp(w, n):
    x = w.value(n.args[0])
    low, high = argument(n, 1, "min"), argument(n, 2, "max")
    if str(n.target) == "aten.hardtanh.default":
        low, high = argument(n, 1, "min_val", -1), argument(n, 2, "max_val", 1)
    if not x.is_float:
        low = w.body.constant(low, (), x.dtype) if low is not None else None
        high = w.body.constant(high, (), x.dtype) if high is not None else None
        for bound, op in ((low, "maxsi"), (high, "minsi")):
            if bound:
                x = w.body.map([x, bound], x.dtype, ["%%r = arith.%s %%0, %%1 : {r}" % op])
        return x
    lines, last = [], "%0"
    for bound, op in ((low, "maximumf"), (high, "minimumf")):
        if bound is not None:
            lines += ["%%b%s = arith.constant %s : {0}" % (op, number(bound)),
                      "%%r%s = arith.%s %s, %%b%s : {0}" % (op, op, last, op)]
            last = "%r" + op
    if not lines:
        return x
    lines[-1] = lines[-1].replace(last + " =", "%r =")
    return scalar_map(w, x, lines)


_COMPARE = {"eq": ("oeq", "eq"), "ne": ("une", "ne"), "lt": ("olt", "slt"),
            "le": ("ole", "sle"), "gt": ("ogt", "sgt"), "ge": ("oge", "sge")}


def _compare(name, forms):
    def handle(w, n):
        x, y = w.operand(n.args[0]), w.operand(n.args[1])
        if isinstance(x, Value) and isinstance(y, Value):
            dtype = torch.promote_types(x.dtype, y.dtype)
        else:
            x_dtype = x.dtype if isinstance(x, Value) else y.dtype
            dtype = torch.float32 if isinstance(y, float) and not x_dtype.is_floating_point \
                else x_dtype
        x, y = (w.body.cast(v, dtype) if isinstance(v, Value)
                else w.body.constant(v, (), dtype) for v in (x, y))
        if dtype.is_floating_point:
            line = "%%r = arith.cmpf %s, %%0, %%1 : {0}" % forms[0]
        else:
            line = "%%r = arith.cmpi %s, %%0, %%1 : {0}" % forms[1]
        return w.body.map([x, y], torch.bool, [line])
    for overload in ("Tensor", "Scalar"):
        HANDLERS["aten.%s.%s" % (name, overload)] = handle


for _name, _forms in _COMPARE.items():
    _compare(_name, _forms)


@handles("aten.bitwise_and.Tensor", "aten.logical_and.default")
def _and(w, n):
    return w.body.map([w.value(n.args[0]), w.value(n.args[1])], result(n)[1],
                      ["%r = arith.andi %0, %1 : {r}"])


@handles("aten.bitwise_or.Tensor", "aten.logical_or.default")
def _or(w, n):
    return w.body.map([w.value(n.args[0]), w.value(n.args[1])], result(n)[1],
                      ["%r = arith.ori %0, %1 : {r}"])


@handles("aten.bitwise_not.default", "aten.logical_not.default")
def _not(w, n):
    x = w.value(n.args[0])
    if x.dtype != torch.bool:
        raise Unsupported("%s of %s" % (n.target, x.dtype))
    return w.body.op("act.not %s : %s" % (x.name, x.type), x.shape, x.dtype)


@handles("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther",
         "aten.where.Scalar")
def _where(w, n):
    dtype = result(n)[1]
    x, y = (w.body.cast(v, dtype) if isinstance(v, Value)
            else w.body.constant(v, (), dtype) for v in map(w.operand, n.args[1:3]))
    return w.body.expand(w.body.select(w.value(n.args[0]), x, y), result(n)[0])


@handles("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def _masked_fill(w, n):
    x, fill = w.value(n.args[0]), w.operand(n.args[2])
    fill = w.body.cast(fill, x.dtype) if isinstance(fill, Value) else \
        w.body.constant(fill, (), x.dtype)
    return w.body.select(w.value(n.args[1]), fill, x)


@handles("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout",
         "prims.convert_element_type.default")
def _cast(w, n):
    return w.body.cast(w.value(n.args[0]), result(n)[1])


@handles("aten.full_like.default")
def _full_like(w, n):
    shape, dtype = result(n)
    return w.body.constant(n.args[1], shape, dtype)


@handles("aten.zeros_like.default", "aten.ones_like.default")
def _like(w, n):
    shape, dtype = result(n)
    return w.body.constant(int("ones" in str(n.target)), shape, dtype)


@handles("aten.dropout.default")
def _dropout(w, n):
    x, p, train = w.value(n.args[0]), n.args[1], n.args[2]
    return x if not train or p == 0 else w.dropout(x, p)


# ---- Reductions -----------------------------------------------------------

def _dims(n, x):
    dims = argument(n, 1, "dim")
    dims = list(range(x.rank)) if dims is None or dims == [] else \
        [dims] if isinstance(dims, int) else dims
    return sorted(d % x.rank for d in dims)


@handles("aten.sum.dim_IntList", "aten.sum.default")
def _sum(w, n):
    x = w.body.cast(w.value(n.args[0]), result(n)[1])
    if not x.is_float:
        raise Unsupported("aten.sum of %s" % x.dtype)
    keep = "dim" in str(n.target) and argument(n, 2, "keepdim", False)
    dims = _dims(n, x) if "dim" in str(n.target) else list(range(x.rank))
    return w.body.sum(x, dims, keep)


@handles("aten.mean.dim", "aten.mean.default")
def _mean(w, n):
    x = w.value(n.args[0])
    dims = _dims(n, x) if "dim" in str(n.target) else list(range(x.rank))
    keep = "dim" in str(n.target) and argument(n, 2, "keepdim", False)
    count = math.prod(x.shape[d] for d in dims)
    return w.body.scale(w.body.sum(x, dims, keep), 1 / count)


@handles("aten.var.correction", "aten.var.dim")
def _var(w, n):
    x = w.value(n.args[0])
    dims = _dims(n, x)
    correction = n.kwargs.get("correction", 1)
    correction = 1 if correction is None else correction
    count = math.prod(x.shape[d] for d in dims)
    mean = w.body.scale(w.body.sum(x, dims, True), 1 / count)
    apart = w.body.binary("sub", x, mean)
    total = w.body.sum(w.body.binary("mul", apart, apart), dims,
                       n.kwargs.get("keepdim", False))
    return w.body.scale(total, 1 / (count - correction))


@handles("aten.softmax.int", "aten._softmax.default")
def _softmax(w, n):
    x = w.body.cast(w.value(n.args[0]), result(n)[1])
    return w.body.op("act.softmax %s axis %d : %s" % (
        x.name, n.args[1] % x.rank, x.type), x.shape, x.dtype)


# ---- Norms ----------------------------------------------------------------

def _weights(w, x, shape, weight, bias):
    count = math.prod(shape)
    return (w.body.reshape(w.value(weight), (count,)) if weight is not None
            else w.body.constant(1, (count,), x.dtype),
            w.body.reshape(w.value(bias), (count,)) if bias is not None
            else w.body.constant(0, (count,), x.dtype))


def layer_norm(w, x, shape, weight, bias, eps):
    weight, bias = _weights(w, x, shape, weight, bias)
    rows = w.body.reshape(x, x.shape[:x.rank - len(shape)] + (math.prod(shape),))
    out = w.body.op("act.layer_norm %s, %s, %s eps %s : (%s, %s, %s) -> %s" % (
        rows.name, weight.name, bias.name, number(eps), rows.type, weight.type,
        bias.type, rows.type), rows.shape, x.dtype)
    return w.body.reshape(out, x.shape)


@handles("aten.layer_norm.default")
def _layer_norm(w, n):
    return layer_norm(w, w.value(n.args[0]), n.args[1], argument(n, 2, "weight"),
                      argument(n, 3, "bias"), argument(n, 4, "eps", 1e-5))


@handles("aten.native_layer_norm.default")
def _native_layer_norm(w, n):
    return (layer_norm(w, w.value(n.args[0]), n.args[1], n.args[2], n.args[3], n.args[4]),
            None, None)


def rms_norm(w, x, weight, eps):
    return w.body.op("act.rms_norm %s, %s eps %s : (%s, %s) -> %s" % (
        x.name, weight.name, number(eps), x.type, weight.type, x.type),
        x.shape, x.dtype)


@handles("aten.rms_norm.default")
def _rms_norm(w, n):
    x = w.value(n.args[0])
    if len(n.args[1]) != 1:
        raise Unsupported("aten.rms_norm over several dimensions")
    eps = argument(n, 3, "eps")
    weight, _ = _weights(w, x, n.args[1], argument(n, 2, "weight"), None)
    return rms_norm(w, x, weight, torch.finfo(x.dtype).eps if eps is None else eps)


def _per_channel(w, v, rank, dtype):
    return w.body.reshape(w.body.cast(v, dtype), (v.shape[0],) + (1,) * (rank - 2))


@handles("aten._native_batch_norm_legit_functional.default",
         "aten._native_batch_norm_legit_no_training.default",
         "aten._native_batch_norm_legit.no_stats")
def _batch_norm(w, n):
    """(result, nothing, nothing, new running mean, new running variance)"""
    name = str(n.target)
    stats = "no_stats" not in name
    x = w.value(n.args[0])
    weight, bias = n.args[1:3]
    if stats:
        mean, var = w.value(n.args[3]), w.value(n.args[4])
    train = "no_training" not in name and n.args[5 if stats else 3]
    momentum, eps = n.args[-2:]
    new = (None, None)
    if train:
        dims = [d for d in range(x.rank) if d != 1]
        count = math.prod(x.shape[d] for d in dims)
        batch_mean = w.body.scale(w.body.sum(x, dims, True), 1 / count)
        apart = w.body.binary("sub", x, batch_mean)
        batch_var = w.body.scale(
            w.body.sum(w.body.binary("mul", apart, apart), dims, True), 1 / count)
        if stats:
            new = tuple(w.body.binary(
                "add", w.body.scale(old, 1 - momentum),
                w.body.scale(w.body.reshape(now, old.shape), factor))
                for old, now, factor in (
                    (mean, batch_mean, momentum),
                    (var, batch_var, momentum * count / max(count - 1, 1))))
    else:
        apart = w.body.binary("sub", x, _per_channel(w, mean, x.rank, x.dtype))
        batch_var = _per_channel(w, var, x.rank, x.dtype)
    spread = scalar_map(w, batch_var, [
        "%%e = arith.constant %s : {0}" % number(eps), "%v = arith.addf %0, %e : {0}",
        "%r = math.rsqrt %v : {0}"])
    out = w.body.binary("mul", apart, spread)
    if weight is not None:
        out = w.body.binary("mul", out, _per_channel(w, w.value(weight), x.rank, x.dtype))
    if bias is not None:
        out = w.body.binary("add", out, _per_channel(w, w.value(bias), x.rank, x.dtype))
    return (out, None, None, *new)
