# SPDX-License-Identifier: Apache-2.0
"""What each ATen operator is in act.

A handler takes the writer and the node and returns a Value, or a tuple of them for
an operator with several results. Operators without one are refused by name.
"""

import math

import torch
from torch.fx import Node

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
    return _every(w, x, dim, step)


def _every(w, x, dim, step):
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


# ---- Products -------------------------------------------------------------

@handles("aten.linear.default")
def _linear(w, n):
    bias = argument(n, 2, "bias")
    return w.body.linear(w.value(n.args[0]), w.value(n.args[1]),
                         w.value(bias) if bias is not None else None)


@handles("aten.addmm.default")
def _addmm(w, n):
    if n.kwargs.get("beta", 1) != 1 or n.kwargs.get("alpha", 1) != 1:
        raise Unsupported("aten.addmm with beta or alpha")
    product = w.body.matmul(w.value(n.args[1]), w.value(n.args[2]))
    return w.body.binary("add", product, w.value(n.args[0]))


@handles("aten.mm.default", "aten.bmm.default", "aten.matmul.default")
def _matmul(w, n):
    x, y = w.value(n.args[0]), w.value(n.args[1])
    shape = result(n)[0]
    if x.rank == 1:
        x = w.body.reshape(x, (1,) + x.shape)
    vector = y.rank == 1
    if vector:
        y = w.body.reshape(y, y.shape + (1,))
    if y.rank > 2:
        batch = broadcast(x.shape[:-2], y.shape[:-2])
        x = w.body.expand(x, batch + x.shape[-2:])
        y = w.body.expand(y, batch + y.shape[-2:])
    return w.body.reshape(w.body.matmul(x, y), shape)


@handles("aten.scaled_dot_product_attention.default")
def _attention(w, n):
    """As primitives, which --fuse-attention fuses."""
    q, k, v = (w.value(a) for a in n.args[:3])
    mask = argument(n, 3, "attn_mask")
    p, causal = argument(n, 4, "dropout_p", 0.0), argument(n, 5, "is_causal", False)
    scale = n.kwargs.get("scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    heads = q.shape[:-2]
    k = w.body.expand(k, heads + k.shape[-2:])  # grouped heads repeat in a row
    v = w.body.expand(v, heads + v.shape[-2:])
    scores = w.body.scale(w.body.matmul(q, k, transposed=True), scale)
    s, t = q.shape[-2], k.shape[-2]
    never = w.body.constant(float("-inf"), (), q.dtype)
    if mask is not None and w.is_causal(mask, s, t):
        mask, causal = None, True
    if causal:
        if s != t:
            raise Unsupported("causal attention of %d queries and %d keys" % (s, t))
        scores = w.body.select(w.causal_mask(s), scores, never)
    if mask is not None and not w.is_uniform(mask, True):
        mask = w.value(mask, broadcasts=True)
        scores = w.body.select(mask, scores, never) if mask.dtype == torch.bool else \
            w.body.binary("add", scores, w.body.cast(mask, q.dtype))
    weights = w.body.op("act.softmax %s axis %d : %s" % (
        scores.name, scores.rank - 1, scores.type), scores.shape, scores.dtype)
    if p:
        weights = w.dropout(weights, p)
    return w.body.matmul(weights, v)


def _pair(v):
    return list(v) * 2 if len(v) == 1 else list(v)


@handles("aten.convolution.default", "aten.conv2d.default", "aten.conv1d.default",
         "aten.conv2d.padding")
def _convolution(w, n):
    """A product of the windows and the weight. Windows that do not overlap, as of
    patch embeddings, are a view; others are joined from slices."""
    x, weight = w.value(n.args[0]), w.value(n.args[1])
    bias = argument(n, 2, "bias")
    space = weight.rank - 2
    stride = list(argument(n, 3, "stride", [1] * space))
    padding = argument(n, 4, "padding", [0] * space)
    dilation = list(argument(n, 5, "dilation", [1] * space))
    if str(n.target) == "aten.convolution.default":
        groups = n.args[8]
        if n.args[6]:
            raise Unsupported("a transposed convolution")
    else:
        groups = argument(n, 6, "groups", 1)
    stride, dilation = (v * space if len(v) == 1 else v for v in (stride, dilation))
    kernel = weight.shape[2:]
    if groups != 1:
        raise Unsupported("a convolution with groups")
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel)]
        padding = [(t // 2, t - t // 2) for t in total]
    else:
        padding = [(p, p) for p in (list(padding) * space)[:space]]
    for d, (before, after) in enumerate(padding):
        if before or after:
            x = pad(w, x, 2 + d, before, after)
    # Channels last: a window's elements are then in the order (kernel, channels).
    out = result(n)[0][2:]
    x = w.body.transpose(x, [0] + list(range(2, x.rank)) + [1])
    if stride == list(kernel) and all(d == 1 for d in dilation):
        for d in range(space):
            x = w.body.slice(x, 1 + d, 0, out[d] * kernel[d])
        split = [x.shape[0]] + [e for d in range(space) for e in (out[d], kernel[d])] \
            + [x.shape[-1]]
        x = w.body.reshape(x, split)
        x = w.body.transpose(x, [0] + [1 + 2 * d for d in range(space)]
                             + [2 + 2 * d for d in range(space)] + [x.rank - 1])
        x = w.body.reshape(x, (x.shape[0], *out, math.prod(kernel) * weight.shape[1]))
    else:
        x = w.body.concat(windows(w, x, kernel, stride, dilation, out), x.rank - 1)
    order = [0] + list(range(2, weight.rank)) + [1]
    flat = w.body.reshape(w.body.transpose(weight, order),
                          (weight.shape[0], math.prod(weight.shape[1:])))
    y = w.body.linear(x, flat, w.value(bias) if bias is not None else None)
    return w.body.transpose(y, [0, y.rank - 1] + list(range(1, y.rank - 1)))


def windows(w, x, kernel, stride, dilation, out):
    """Of x [n, spatial.., c]: for each place in the kernel, the elements there."""
    parts = [x]
    for d in range(len(kernel)):
        dim = 1 + d
        taken = []
        for part in parts:
            for k in range(kernel[d]):
                start = k * dilation[d]
                end = start + (out[d] - 1) * stride[d] + 1
                taken.append(_every(w, w.body.slice(part, dim, start, end), dim, stride[d]))
        parts = taken
    return parts


@handles("aten.avg_pool2d.default", "aten.adaptive_avg_pool2d.default")
def _avg_pool(w, n):
    x = w.value(n.args[0])
    out = result(n)[0][-2:]
    kernel = [i // o for i, o in zip(x.shape[-2:], out)]
    if str(n.target) == "aten.avg_pool2d.default":
        given, stride = _pair(n.args[1]), _pair(argument(n, 2, "stride") or n.args[1])
        if given != stride or argument(n, 3, "padding", [0, 0]) not in ([0, 0], 0, [0]):
            raise Unsupported("aten.avg_pool2d with windows that overlap")
        kernel = given
    if [o * k for o, k in zip(out, kernel)] != list(x.shape[-2:]):
        raise Unsupported("%s of windows that do not divide the image" % n.target)
    head = x.shape[:-2]
    x = w.body.reshape(x, head + (out[0], kernel[0], out[1], kernel[1]))
    r = len(head)
    total = w.body.sum(x, [r + 1, r + 3], False)
    return w.body.scale(total, 1 / (kernel[0] * kernel[1]))


@handles("aten.max_pool2d.default")
def _max_pool(w, n):
    x = w.value(n.args[0])
    kernel = _pair(n.args[1])
    stride = _pair(argument(n, 2, "stride") or n.args[1])
    if any(argument(n, 3, "padding", [0])):
        x = pad(w, pad(w, x, 2, *[_pair(n.args[3])[0]] * 2, float("-inf")), 3,
                *[_pair(n.args[3])[1]] * 2, float("-inf"))
    out = result(n)[0][2:]
    x = w.body.transpose(x, [0, 2, 3, 1])
    parts = windows(w, x, kernel, stride, [1, 1], out)
    best = parts[0]
    for part in parts[1:]:  # of equal ones, the first one has the gradient
        best = w.body.map([best, part], x.dtype, [
            "%p = arith.cmpf uge, %0, %1 : {0}", "%r = arith.select %p, %0, %1 : {0}"])
    return w.body.transpose(best, [0, 3, 1, 2])


# ---- Tables and losses ----------------------------------------------------

@handles("aten.embedding.default")
def _embedding(w, n):
    table, ids = w.value(n.args[0]), w.value(n.args[1])
    padding = argument(n, 2, "padding_idx", -1)
    shape = ids.shape + table.shape[1:]
    flat = ids if ids.rank else w.body.reshape(ids, (1,))
    out = flat.shape + table.shape[1:]
    value = w.body.op("act.embedding %s, %s%s : (%s, %s) -> %s" % (
        table.name, flat.name, " padding_idx %d" % padding if padding >= 0 else "",
        table.type, flat.type, tensor_type(out, table.dtype)), out, table.dtype)
    return w.body.reshape(value, shape)


@handles("aten.index.Tensor", "aten.index_select.default")
def _index(w, n):
    x = w.value(n.args[0])
    if str(n.target) == "aten.index_select.default":
        indices = [None] * (n.args[1] % x.rank) + [n.args[2]]
    else:
        indices = list(n.args[1])
    at = [i for i, v in enumerate(indices) if v is not None]
    if len(at) == 2 and at == [0, 1] and x.rank >= 2:
        # x[i, j] is row i * n + j of x with its first dimensions joined.
        i, j = (w.value(indices[d]) for d in at)
        row = arithmetic(w, "add", arithmetic(w, "mul", i, x.shape[1], i.dtype), j, i.dtype)
        x = w.body.reshape(x, (x.shape[0] * x.shape[1],) + x.shape[2:])
        return _rows(w, x, row, result(n)[0])
    if len(at) != 1:
        raise Unsupported("aten.index with indices of several dimensions")
    dim = at[0]
    ids = w.value(indices[dim])
    if ids.dtype == torch.bool:
        raise Unsupported("aten.index with a mask, whose result's size depends on data")
    if dim == 0:
        return _rows(w, x, ids, result(n)[0])
    order = [dim] + [d for d in range(x.rank) if d != dim]
    rows = _rows(w, w.body.transpose(x, order), ids,
                 ids.shape + tuple(x.shape[d] for d in order[1:]))
    r = ids.rank
    back = list(range(r, r + dim)) + list(range(r)) + list(range(r + dim, rows.rank))
    return w.body.transpose(rows, back)


@handles("aten.gather.default")
def _gather(w, n):
    """out[i, j] = x[i, ids[i, j]], for a dimension j of any number."""
    x, ids = w.value(n.args[0]), w.value(n.args[2])
    dim = n.args[1] % x.rank
    stride = math.prod(x.shape[dim + 1:])
    place = torch.arange(math.prod(x.shape)).reshape(x.shape).narrow(dim, 0, 1)
    place = place[tuple(slice(0, 1 if d == dim else s) for d, s in enumerate(ids.shape))]
    base = w.hold(place.to(ids.dtype))
    row = arithmetic(w, "add", arithmetic(w, "mul", ids, stride, ids.dtype), base, ids.dtype)
    flat = w.body.reshape(x, (math.prod(x.shape),))
    return _rows(w, flat, row, ids.shape)


def _rows(w, x, ids, shape):
    """x[ids] along the first dimension; negative indices count from the end."""
    if not x.is_float:
        # By way of f64, which holds whole numbers up to 2^53.
        rows = _rows(w, w.body.cast(x, torch.float64), ids, shape)
        return w.body.cast(rows, x.dtype)
    size = x.shape[0]
    table = w.body.reshape(x, (size, math.prod(x.shape[1:])))
    ids = w.body.reshape(ids, (math.prod(ids.shape),))
    zero = w.body.constant(0, (), ids.dtype)
    end = w.body.constant(size, (), ids.dtype)
    ids = w.body.map([ids, zero, end], ids.dtype, [
        "%n = arith.cmpi slt, %0, %1 : {0}", "%s = arith.addi %0, %2 : {0}",
        "%r = arith.select %n, %s, %0 : {0}"])
    out = (ids.shape[0], table.shape[1])
    rows = w.body.op("act.embedding %s, %s : (%s, %s) -> %s" % (
        table.name, ids.name, table.type, ids.type, tensor_type(out, x.dtype)), out, x.dtype)
    return w.body.reshape(rows, shape)


@handles("aten.cross_entropy_loss.default")
def _cross_entropy(w, n):
    logits, labels = w.value(n.args[0]), w.value(n.args[1])
    reduction = {0: "none", 1: "mean", 2: "sum"}[argument(n, 3, "reduction", 1)]
    if argument(n, 2, "weight") is not None or argument(n, 5, "label_smoothing", 0.0):
        raise Unsupported("aten.cross_entropy_loss with weights or label smoothing")
    if labels.is_float:
        raise Unsupported("aten.cross_entropy_loss with probabilities as labels")
    if logits.rank > 2:  # classes are dimension 1
        logits, _ = w.body.to_last(logits, 1)
    shape = labels.shape if reduction == "none" else ()
    return w.body.op("act.cross_entropy %s, %s ignore %d reduction %s : (%s, %s) -> %s" % (
        logits.name, labels.name, argument(n, 4, "ignore_index", -100), reduction,
        logits.type, labels.type, tensor_type(shape, logits.dtype)), shape, logits.dtype)


@handles("aten.mse_loss.default")
def _mse(w, n):
    x, y = w.value(n.args[0]), w.value(n.args[1])
    apart = w.body.binary("sub", x, y)
    square = w.body.binary("mul", apart, apart)
    reduction = argument(n, 2, "reduction", 1)
    if reduction == 0:
        return square
    total = w.body.sum(square, range(square.rank), False)
    return total if reduction == 2 else w.body.scale(total, 1 / math.prod(square.shape))


@handles("aten.log_softmax.int", "aten._log_softmax.default")
def _log_softmax(w, n):
    x = w.body.cast(w.value(n.args[0]), result(n)[1])
    p = w.body.op("act.softmax %s axis %d : %s" % (
        x.name, n.args[1] % x.rank, x.type), x.shape, x.dtype)
    return scalar_map(w, p, ["%r = math.log %0 : {0}"])


# ---- Operators that are several of ATen's ----------------------------------

def _is(node, *names):
    return isinstance(node, Node) and str(node.target) in names


def _through_casts(node):
    while _is(node, "aten._to_copy.default", "aten.to.dtype", "aten.alias.default"):
        node = node.args[0]
    return node


def match_rms_norm(n):
    """(x, weight, eps) if the node is weight * (x * rsqrt(mean(x^2) + eps))."""
    if not _is(n, "aten.mul.Tensor"):
        return None
    for weight, normed in (n.args[:2], n.args[1::-1]):
        if not isinstance(weight, Node) or not isinstance(normed, Node):
            continue
        if len(weight.meta["val"].shape) != 1:
            continue
        product = _through_casts(normed)
        if not _is(product, "aten.mul.Tensor"):
            continue
        for x, factor in (product.args[:2], product.args[1::-1]):
            if not _is(factor, "aten.rsqrt.default"):
                continue
            plus = factor.args[0]
            if not _is(plus, "aten.add.Tensor", "aten.add.Scalar") \
                    or isinstance(plus.args[1], Node):
                continue
            mean = plus.args[0]
            if not _is(mean, "aten.mean.dim") or list(mean.args[1]) not in (
                    [-1], [len(x.meta["val"].shape) - 1]) or not argument(mean, 2, "keepdim"):
                continue
            square = mean.args[0]
            if _is(square, "aten.pow.Tensor_Scalar") and square.args[1] == 2 \
                    and square.args[0] is x or _is(square, "aten.mul.Tensor") \
                    and square.args[0] is x and square.args[1] is x:
                source = _through_casts(x)
                if source.meta["val"].dtype != n.meta["val"].dtype or \
                        weight.meta["val"].dtype != n.meta["val"].dtype:
                    continue
                return source, weight, plus.args[1]
    return None


def match_grouped(n):
    """x if the node repeats each head of x [b, k, s, d] in a row, as grouped keys and
    values are: view(expand(unsqueeze(x, 2)))."""
    if not _is(n, "aten.view.default", "aten.reshape.default", "aten._unsafe_view.default"):
        return None
    node = n.args[0]
    while _is(node, "aten.clone.default", "aten.contiguous.default"):
        node = node.args[0]
    if not _is(node, "aten.expand.default"):
        return None
    one = node.args[0]
    if not _is(one, "aten.unsqueeze.default") or len(one.meta["val"].shape) != 5 \
            or one.args[1] % 5 != 2:
        return None
    x, shape, wide = one.args[0], n.meta["val"].shape, node.meta["val"].shape
    b, k, s, d = x.meta["val"].shape
    if tuple(wide) != (b, k, wide[2], s, d) or tuple(shape) != (b, k * wide[2], s, d):
        return None
    return x


def match_rope(n):
    """(x, cos, sin) if the node is x cos + rotate_half(x) sin, for x [b, heads, s, d]
    and tables that are [1, 1, s, d], whose halves are equal."""
    if not _is(n, "aten.add.Tensor") or n.kwargs.get("alpha", 1) != 1:
        return None
    shape = n.meta["val"].shape
    if len(shape) != 4 or not all(_is(a, "aten.mul.Tensor") for a in n.args[:2]):
        return None
    d = shape[-1]
    for straight, turned in (n.args[:2], n.args[1::-1]):
        x, cos = straight.args[:2]
        rotated, sin = turned.args[:2]
        if not _is(rotated, "aten.cat.default") or len(rotated.args[0]) != 2:
            continue
        if argument(rotated, 1, "dim", 0) not in (-1, 3):
            continue
        low, high = rotated.args[0]
        if not (_is(low, "aten.neg.default") and _is(low.args[0], "aten.slice.Tensor")
                and _is(high, "aten.slice.Tensor")):
            continue
        upper = low.args[0]
        if upper.args[0] is not x or high.args[0] is not x or \
                [a % 4 for a in (upper.args[1], high.args[1])] != [3, 3] or \
                upper.args[2] != d // 2 or high.args[2] != 0 or high.args[3] != d // 2:
            continue
        tables = []
        for table in (cos, sin):
            if not isinstance(table, Node) or \
                    tuple(table.meta["val"].shape) != (1, 1, shape[2], d):
                break
            if not _doubled(table):
                break
            tables.append(table)
        if len(tables) == 2:
            return x, tables[0], tables[1]
    return None


def _doubled(table):
    """Whether the halves of the last dimension are equal: elementwise ops on
    cat([m, m])."""
    node = table
    while isinstance(node, Node):
        if _is(node, "aten.cat.default"):
            parts = node.args[0]
            return len(parts) == 2 and parts[0] is parts[1] and \
                argument(node, 1, "dim", 0) in (-1, len(node.meta["val"].shape) - 1)
        if _is(node, "aten.unsqueeze.default", "aten.cos.default", "aten.sin.default",
               "aten._to_copy.default", "aten.to.dtype") or \
                _is(node, "aten.mul.Tensor") and not isinstance(node.args[1], Node):
            node = node.args[0]
        else:
            return False
    return False

