# SPDX-License-Identifier: Apache-2.0
"""Handlers of products, convolutions, pooling, tables and losses: see operators.py."""

import math

import torch

from .capture import Unsupported
from .operators import argument, arithmetic, every, handles, pad, result, scalar_map
from .program import broadcast, tensor_type


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
    v = [v] if isinstance(v, int) else list(v)
    return v * 2 if len(v) == 1 else v


@handles("aten.convolution.default", "aten.conv2d.default", "aten.conv1d.default",
         "aten.conv2d.padding")
def _convolution(w, n):
    """A sum over windows, or a product where these do not overlap, as of patch
    embeddings: they are then a view."""
    x, weight = w.value(n.args[0]), w.value(n.args[1])
    bias = argument(n, 2, "bias")
    space = weight.rank - 2
    x = _batch(w, x, space)
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
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel)]
        padding = [(t // 2, t - t // 2) for t in total]
    else:
        padding = [(p, p) for p in (list(padding) * space)[:space]]
    for d, (before, after) in enumerate(padding):
        if before or after:
            x = pad(w, x, 2 + d, before, after)
    out = result(n)[0][-space:]
    if groups != 1 or stride != list(kernel) or any(d != 1 for d in dilation):
        y = w.body.convolution(x, weight, stride, dilation, out, groups)
        if bias is not None:
            b = w.value(bias)
            y = w.body.binary("add", y, w.body.reshape(b, (1, b.shape[0]) + (1,) * space))
        return w.body.reshape(y, result(n)[0])
    # Channels last: a window's elements are then in the order (kernel, channels).
    x = w.body.transpose(x, [0] + list(range(2, x.rank)) + [1])
    for d in range(space):
        x = w.body.slice(x, 1 + d, 0, out[d] * kernel[d])
    split = [x.shape[0]] + [e for d in range(space) for e in (out[d], kernel[d])] \
        + [x.shape[-1]]
    x = w.body.reshape(x, split)
    x = w.body.transpose(x, [0] + [1 + 2 * d for d in range(space)]
                         + [2 + 2 * d for d in range(space)] + [x.rank - 1])
    x = w.body.reshape(x, (x.shape[0], *out, math.prod(kernel) * weight.shape[1]))
    order = [0] + list(range(2, weight.rank)) + [1]
    flat = w.body.reshape(w.body.transpose(weight, order),
                          (weight.shape[0], math.prod(weight.shape[1:])))
    y = w.body.linear(x, flat, w.value(bias) if bias is not None else None)
    y = w.body.transpose(y, [0, y.rank - 1] + list(range(1, y.rank - 1)))
    return w.body.reshape(y, result(n)[0])


def _batch(w, x, space):
    """[n, c, spatial..] of an image that may be alone."""
    return x if x.rank == space + 2 else w.body.reshape(x, (1,) + x.shape)


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
                taken.append(every(w, w.body.slice(part, dim, start, end), dim, stride[d]))
        parts = taken
    return parts


@handles("aten.avg_pool2d.default", "aten.adaptive_avg_pool2d.default")
def _avg_pool(w, n):
    x = w.value(n.args[0])
    out = result(n)[0][-2:]
    if str(n.target) == "aten.avg_pool2d.default":
        kernel, stride = _pair(n.args[1]), _pair(argument(n, 2, "stride") or n.args[1])
        padding = _pair(argument(n, 3, "padding", [0]))
        divisor = argument(n, 6, "divisor_override")
        if any(padding) and not divisor and not argument(n, 5, "count_include_pad", True):
            raise Unsupported("aten.avg_pool2d that does not count what it pads")
        divisor = divisor or kernel[0] * kernel[1]
        for d, p in enumerate(padding):
            if p:
                x = pad(w, x, x.rank - 2 + d, p, p)
        if any((o - 1) * s + k > i for o, s, k, i in zip(out, stride, kernel, x.shape[-2:])):
            raise Unsupported("aten.avg_pool2d with windows that reach beyond the image")
        if kernel != stride or [o * k for o, k in zip(out, kernel)] != list(x.shape[-2:]):
            return w.body.scale(w.body.window_sums(x, kernel, stride, out), 1 / divisor)
    else:
        kernel = [i // o for i, o in zip(x.shape[-2:], out)]
        divisor = kernel[0] * kernel[1]
        if [o * k for o, k in zip(out, kernel)] != list(x.shape[-2:]):
            raise Unsupported("%s of windows that do not divide the image" % n.target)
    head = x.shape[:-2]
    x = w.body.reshape(x, head + (out[0], kernel[0], out[1], kernel[1]))
    r = len(head)
    return w.body.scale(w.body.sum(x, [r + 1, r + 3], False), 1 / divisor)


@handles("aten.max_pool2d.default")
def _max_pool(w, n):
    x = _batch(w, w.value(n.args[0]), 2)
    kernel = _pair(n.args[1])
    stride = _pair(argument(n, 2, "stride") or n.args[1])
    padding, dilation = (_pair(argument(n, i, name, [default])) for i, name, default in (
        (3, "padding", 0), (4, "dilation", 1)))
    for d, p in enumerate(padding):
        if p:
            x = pad(w, x, 2 + d, p, p, float("-inf"))
    out = result(n)[0][-2:]
    if any((o - 1) * s + (k - 1) * d + 1 > i for o, s, k, d, i in zip(
            out, stride, kernel, dilation, x.shape[-2:])):
        raise Unsupported("aten.max_pool2d with windows that reach beyond the image")
    x = w.body.transpose(x, [0, 2, 3, 1])
    parts = windows(w, x, kernel, stride, dilation, out)
    best = parts[0]
    for part in parts[1:]:  # of equal ones, the first one has the gradient
        best = w.body.map([best, part], x.dtype, [
            "%p = arith.cmpf uge, %0, %1 : {0}", "%r = arith.select %p, %0, %1 : {0}"])
    return w.body.reshape(w.body.transpose(best, [0, 3, 1, 2]), result(n)[0])


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
