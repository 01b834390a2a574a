# SPDX-License-Identifier: Apache-2.0
"""What several of ATen's operators are together: one op of act."""

from torch.fx import Node

from .operators import argument


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
