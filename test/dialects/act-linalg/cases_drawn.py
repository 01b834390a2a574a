# SPDX-License-Identifier: Apache-2.0
"""Kernels other than attention's, drawn at random: products with what follows them in
one kernel or before them, products in parts and of many blocks, projections that are rotated, norms
and all their gradients, rope, gated and other elementwise ops, embeddings, losses,
softmax, sums and updates, of shapes that are multiples of nothing."""
import dataclasses

import numpy as np

import cases_elementwise
import cases_loss
import cases_norm
import cases_optimizer
import cases_primitives
import cases_shape
import philox
from harness import DTYPES, TOLERANCE, Case, tensor

MODULES = (cases_elementwise, cases_loss, cases_norm, cases_optimizer, cases_primitives, cases_shape)
SIZES = [1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 160, 200]
LONG = [1024, 1536, 2048, 2560, 3072, 4096, 5120, 8192]
wide = lambda x: np.asarray(x).astype(np.float64)


def seed_all(seed):
    """What the modules draw from, so that a case's numbers are its own."""
    for i, module in enumerate(MODULES):
        module.rng = np.random.default_rng([seed, i])


class Value:
    def __init__(self, name, numbers, dtype):
        self.name, self.dtype = name, dtype
        # Every value of a program is rounded to its type.
        self.numbers = wide(np.asarray(numbers).astype(DTYPES[dtype]))
        self.type = tensor(self.numbers.shape, dtype)


class Group:
    """Ops that become one kernel, and what they give in f64."""

    def __init__(self):
        self.lines, self.inputs, self.types, self.dtypes = [], [], [], set()

    def give(self, array, kind):
        self.inputs.append(array)
        self.types.append(kind)
        return f"%{len(self.inputs) - 1}"

    def input(self, shape, dtype, scale=1.0):
        x = cases_elementwise.draw(shape, dtype, scale)
        x = np.asarray(x, DTYPES[dtype])
        return Value(self.give(x, tensor(shape, dtype)), x, dtype)

    def op(self, text, numbers, dtype):
        """`text` with its result's type in place of RESULT."""
        value = Value(f"%v{len(self.lines)}", numbers, dtype)
        self.dtypes.add(dtype)
        self.lines.append(f"{value.name} = {text.replace('RESULT', value.type)}")
        return value

    def case(self, *results):
        # What was rounded to fewer bits on the way may have gone to either side.
        tolerance = max(TOLERANCE[d] for d in self.dtypes) if len(self.dtypes) > 1 else 0
        return Case("drawn", "\n".join(self.lines), self.inputs, self.types, [v.type for v in results],
                    ", ".join(v.name for v in results), [v.numbers for v in results], tolerance=tolerance)


def follow(g, x, pick, most=3):
    """Up to `most` ops of x's shape behind x, as may be fused with what makes it."""
    shape, d = x.numbers.shape, x.dtype
    activations = {"silu": cases_elementwise.ACTIVATIONS["silu"][0],
                   "gelu": cases_elementwise.ACTIVATIONS["gelu"][0],
                   "gelu_new": cases_elementwise.gelu_new, "tanh": np.tanh}
    for _ in range(pick.randrange(most + 1)):
        kind = pick.choice(["residual", "row", "gate", "activation", "scale", "dropout", "swiglu", "grad"])
        if kind == "residual":
            y = g.input(shape, d)
            x = g.op(f"act.add {x.name}, {y.name} : ({x.type}, {y.type}) -> RESULT", x.numbers + y.numbers, d)
        elif kind == "row":
            y = g.input(shape[-1:], d)
            x = g.op(f"act.add {x.name}, {y.name} : ({x.type}, {y.type}) -> RESULT", x.numbers + y.numbers, d)
        elif kind == "gate":
            y = g.input(shape, d)
            x = g.op(f"act.mul {x.name}, {y.name} : ({x.type}, {y.type}) -> RESULT", x.numbers * y.numbers, d)
        elif kind == "activation":
            name = pick.choice(sorted(activations))
            x = g.op(f"act.{name} {x.name} : RESULT", activations[name](x.numbers), d)
        elif kind == "scale":
            by = round(pick.uniform(-1.5, 1.5), 2)
            x = g.op(f"act.scale {x.name} by {by:e} : RESULT", x.numbers * by, d)
        elif kind == "dropout":
            seed, step, site = pick.randrange(2**40), pick.randrange(2**33), pick.randrange(2**20)
            at = [g.give(n, "i64") for n in (seed, step, site)]
            keep = philox.uniform(seed, step, site, np.arange(x.numbers.size)).reshape(shape) >= 0.25
            x = g.op(f"act.dropout {x.name} p 2.5e-01 rng({', '.join(at)}) : RESULT",
                     np.where(keep, x.numbers / 0.75, 0), d)
        elif kind == "swiglu":
            y = g.input(shape, d)
            x = g.op(f"act.swiglu {y.name}, {x.name} : RESULT", activations["silu"](y.numbers) * x.numbers, d)
        else:
            y = g.input(shape, d)
            name = pick.choice(["silu", "gelu", "gelu_new"])
            x = g.op(f"act.activation_grad {name} {x.name}, {y.name} : RESULT",
                     cases_elementwise.ACTIVATIONS[name][1](y.numbers) * x.numbers, d)
    if pick.random() < 0.2:
        to = pick.choice([t for t in ("f32", "bf16", "f16") if t != d])
        x = g.op(f"act.cast {x.name} : {x.type} to RESULT", x.numbers, to)
    return x


def linear(pick, d, ks=SIZES):
    """`ks`: of how many terms sums may be; of none but SIZES of 4-bit numbers, of heads beside each other, or LoRA's."""
    g, plain = Group(), ks is not SIZES
    rows = tuple(pick.choice(SIZES) for _ in range(pick.choice([1, 1, 2])))
    rows = rows if np.prod(rows) <= 400 else rows[:1]
    n, k = pick.choice(SIZES), pick.choice(ks)
    in_out, nf4 = pick.random() < 0.4, pick.random() < 0.25 and not plain
    wholly = pick.random() < 0.6
    if nf4 and wholly:  # a row of the weight is whole blocks
        n, k = (64 * pick.choice([1, 2, 3]), k) if in_out else (n, 64 * pick.choice([1, 2, 3]))
    if pick.random() < 0.25 and not plain:
        # Heads beside each other, as the output of unfused attention has them.
        b, s, heads = pick.choice([1, 1, 2]), pick.choice(SIZES), pick.choice([1, 2, 4, 8])
        width = pick.choice([16, 32, 48, 64, 80, 96, 112, 128] if nf4 and wholly else SIZES)
        if nf4 and wholly and not in_out:
            heads = max(heads, 64 // (width & -width))
        k = heads * width
        x = g.input((b, heads, s, width), d, k**-0.5)
        x = g.op(f"act.transpose {x.name} [0, 2, 1, 3] : {x.type} -> RESULT", x.numbers.swapaxes(1, 2), d)
        x = g.op(f"act.reshape {x.name} : {x.type} -> RESULT", x.numbers.reshape(b, s, k), d)
    else:
        x = g.input((*rows, k), d, k**-0.5)
    shape = (k, n) if in_out else (n, k)
    if nf4:
        nested = pick.random() < 0.5
        data, w = cases_shape.nf4_bytes(shape, 64, nested)
        kind = tensor(shape, f"!act.nf4<nested = {str(nested).lower()}>")
        name, w = g.give(data, kind), wide(w.astype(DTYPES[d]))
    else:
        weight = g.input(shape, d)
        name, w, kind = weight.name, weight.numbers, weight.type
    operands, types = f"{x.name}, {name}", [x.type, kind]
    product = x.numbers @ (w if in_out else w.T)
    if pick.random() < 0.4:
        bias = g.input((n,), d)
        operands += f" bias({bias.name})"
        types.append(bias.type)
        product = product + bias.numbers
    if not in_out and pick.random() < 0.25 and not plain:
        rank = pick.choice([1, 4, 16, 20])
        a, b = g.input((rank, k), d, k**-0.5), g.input((n, rank), d)
        operands += f" lora({a.name}, {b.name}, 5.0e-01)"
        types += [a.type, b.type]
        rounded = lambda v: wide(np.asarray(v).astype(DTYPES[d]))
        low = rounded(rounded(x.numbers @ a.numbers.T) @ b.numbers.T)
        product = rounded(product) + rounded(0.5 * low)
    return g, g.op(f"act.linear {operands}{' in_out' * in_out} : ({', '.join(types)}) -> RESULT", product, d)


def matmul(pick, d, ks=SIZES):
    g = Group()
    lead = tuple(pick.choice([1, 2, 3]) for _ in range(pick.choice([0, 0, 1, 2])))
    m, n, k = (pick.choice(c) for c in (SIZES, SIZES, ks))
    tl, tr, shared = pick.random() < 0.4, pick.random() < 0.5, bool(lead) and pick.random() < 0.4
    x = g.input((*lead, k, m) if tl else (*lead, m, k), d, k**-0.5)
    own = () if shared else lead
    y = g.input((*own, n, k) if tr else (*own, k, n), d)
    product = (x.numbers.swapaxes(-1, -2) if tl else x.numbers) @ (y.numbers.swapaxes(-1, -2) if tr else y.numbers)
    flags = " transpose_lhs" * tl + " transpose_rhs" * tr
    return g, g.op(f"act.matmul {x.name}, {y.name}{flags} : ({x.type}, {y.type}) -> RESULT", product, d)


def product(pick):
    g, x = pick.choice([linear, matmul])(pick, pick.choice(["bf16", "bf16", "f16", "f32"]))
    return g.case(follow(g, x, pick))


def of_heads(pick, d):
    """The projection of heads that lie before tokens, and the gradient of its weight."""
    g = Group()
    gradient = pick.random() < 0.5
    b, s, heads, width = pick.choice([(16, 64, 3, 20), (4, 384, 2, 80), (3, 1024, 3, 24), (1, 2048, 3, 16), (32, 36, 2, 40)]
                                     if gradient else [(2, 37, 16, 64), (1, 65, 12, 128), (3, 20, 26, 80), (1, 9, 9, 128)])
    x = g.input((b, heads, s, width), d, (b * s if gradient else heads * width)**-0.5)
    x = g.op(f"act.transpose {x.name} [0, 2, 1, 3] : {x.type} -> RESULT", x.numbers.swapaxes(1, 2), d)
    x = g.op(f"act.reshape {x.name} : {x.type} -> RESULT", x.numbers.reshape(b, s, -1), d)
    n = pick.choice(SIZES)
    if not gradient:
        w = g.input((n, heads * width), d)
        return g, g.op(f"act.linear {x.name}, {w.name} : ({x.type}, {w.type}) -> RESULT", x.numbers @ w.numbers.T, d)
    x = g.op(f"act.reshape {x.name} : {x.type} -> RESULT", x.numbers.reshape(b * s, -1), d)
    dy = g.input((b * s, n), d)
    sides = [(dy, x), (x, dy)][pick.randrange(2)]
    return g, g.op(f"act.matmul {sides[0].name}, {sides[1].name} transpose_lhs : ({sides[0].type}, {sides[1].type}) -> RESULT",
                   sides[0].numbers.T @ sides[1].numbers, d)


def prologue(pick):
    """A product, or a weight's gradient, of what its kernel computes itself: rows given their statistics, or any ops of
    one element."""
    g, d = Group(), pick.choice(["bf16", "bf16", "f16", "f32"])
    b, s, k, n = pick.choice([1, 1, 2, 3]), pick.choice(SIZES), pick.choice(SIZES * 2 + LONG), pick.choice(SIZES)
    gradient = pick.random() < 0.4
    x = g.input((b, s, k), d, (b * s if gradient else k)**-0.5)
    if pick.random() < 0.5:
        w, layer = g.input((k,), d), pick.random() < 0.5
        mean = x.numbers.mean(-1).astype(np.float32) * layer
        centred = x.numbers - wide(mean)[..., None]
        rstd = np.random.default_rng(pick.randrange(1000)).random((b, s)).astype(np.float32) + 0.5
        normal, kind = centred * wide(rstd)[..., None] * w.numbers, tensor((b, s), "f32")
        bias = g.input((k,), d, (b * s if gradient else k)**-0.5) if layer else None
        operands = f"mean({g.give(mean, kind)}) rstd({g.give(rstd, kind)}) bias({bias.name})" if layer else f"rstd({g.give(rstd, kind)})"
        types = [x.type, w.type, kind] + [kind, w.type] * layer
        x = g.op(f"act.normalize {x.name}, {w.name} {operands} : ({', '.join(types)}) -> RESULT",
                 normal + bias.numbers if layer else normal, d)
    else:
        x = follow(g, x, pick)
    if not gradient:
        w = g.input((n, k), x.dtype)
        x = g.op(f"act.linear {x.name}, {w.name} : ({x.type}, {w.type}) -> RESULT", x.numbers @ w.numbers.T, x.dtype)
    else:
        x = g.op(f"act.reshape {x.name} : {x.type} -> RESULT", x.numbers.reshape(b * s, -1), x.dtype)
        dy = g.input((b * s, n), x.dtype)
        sides = [(dy, x), (x, dy)][pick.randrange(2)]
        x = g.op(f"act.matmul {sides[0].name}, {sides[1].name} transpose_lhs : ({sides[0].type}, {sides[1].type}) -> RESULT",
                 sides[0].numbers.T @ sides[1].numbers, x.dtype)
    case = g.case(follow(g, x, pick))
    # One group, whatever is formed of such ops.
    given = ", ".join(f"%{i} = %{i} : {t}" for i, t in enumerate(case.types))
    text = (f'%r = act.group "prologue" ({given}) -> {case.results[0]} {{\n{case.text}\n'
            f"act.yield {case.returns} : {case.results[0]}\n}}")
    return dataclasses.replace(case, text=text, returns="%r", as_group=True)


def cut(pick):
    """Long sums of few blocks, which are made in parts."""
    d = pick.choice(["bf16", "bf16", "f16", "f32"])
    g, x = of_heads(pick, d) if pick.random() < 0.3 else pick.choice([linear, matmul])(pick, d, LONG)
    return dataclasses.replace(g.case(follow(g, x, pick)), as_group=True)


def many(pick):
    """Products of so many blocks that programs are numbered by groups of rows, the last of which may be fewer."""
    d, g = pick.choice(["bf16", "f16", "f32"]), Group()
    *lead, m, n, k = pick.choice([(2112, 1600, 48), (3, 900, 1100, 32), (1410, 2500, 16), (2, 130, 9000, 24), (1030, 2200, 64)])
    x, y = g.input((*lead, m, k), d, k**-0.5), g.input((*lead, n, k), d)
    x = g.op(f"act.matmul {x.name}, {y.name} transpose_rhs : ({x.type}, {y.type}) -> RESULT",
             x.numbers @ y.numbers.swapaxes(-1, -2), d)
    return g.case(follow(g, x, pick, 1))


def elementwise(pick):
    """A chain, and a value in the middle of it as another result."""
    g = Group()
    shape = tuple(pick.choice(SIZES) for _ in range(pick.choice([1, 2, 2, 3])))
    shape = shape if np.prod(shape) <= 40000 else shape[:1]
    x = g.input(shape, pick.choice(["bf16", "f16", "f32"]))
    first = follow(g, x, pick)
    last = follow(g, first, pick)
    results = [v for v in (first, last) if v is not x]
    return g.case(*dict.fromkeys(results)) if results else elementwise(pick)


def one_of(pick, cases):
    """Of what models are trained in, in float types that kernels have."""
    cases = [c for c in cases if not c.plain_only and not any("f64" in t for t in c.types + c.results)]
    return pick.choice(cases)


def leading(pick, most):
    """Dimensions before the last one, of `most` rows at most."""
    lead = tuple(pick.choice(SIZES) for _ in range(pick.choice([1, 1, 2])))
    return lead if np.prod(lead) <= most else (min(lead[0], most),)


def rotated(pick):
    """A projection to heads that turn with their positions."""
    d = pick.choice(["f32", "bf16", "f16"])
    g = Group()
    b, s, k = pick.choice([1, 1, 2]), pick.choice(SIZES), pick.choice(SIZES * 2 + LONG)
    heads, width = pick.choice([1, 2, 3, 5, 8]), 16 * pick.choice([1, 2, 3, 4, 5, 6, 7, 8, 16])
    x, w = g.input((b, s, k), d, k**-0.5), g.input((heads * width, k), d)
    x = g.op(f"act.linear {x.name}, {w.name} : ({x.type}, {w.type}) -> RESULT", x.numbers @ w.numbers.T, d)
    if pick.random() < 0.3:
        y = g.input((heads * width,), d)
        x = g.op(f"act.add {x.name}, {y.name} : ({x.type}, {y.type}) -> RESULT", x.numbers + y.numbers, d)
    x = g.op(f"act.reshape {x.name} : {x.type} -> RESULT", x.numbers.reshape(b, s, heads, width), d)
    angle = np.random.default_rng(pick.randrange(1000)).random((s, width // 2)) * 6
    cos, sin = (f(angle).astype(np.float32) for f in (np.cos, np.sin))
    kind, inverse = tensor(cos.shape, "f32"), pick.random() < 0.2
    names = [g.give(table, kind) for table in (cos, sin)]
    c, s = wide(cos)[:, None], wide(sin)[:, None] * (-1 if inverse else 1)
    u, v = x.numbers[..., :width // 2], x.numbers[..., width // 2:]
    x = g.op(f"act.rope {x.name}, {', '.join(names)}{' inverse' * inverse} : {x.type}, {kind}",
             np.concatenate([u * c - v * s, v * c + u * s], -1), d)
    return dataclasses.replace(g.case(x), as_group=k in LONG)


def norm(pick):
    width = pick.choice(SIZES + [768, 1000, 1024, 2048, 3072, 5000])
    return one_of(pick, cases_norm.norms([(*leading(pick, 60000 // width + 1), width)]))


def normed(pick):
    """The gradients of a norm's input, weight and bias, of one pass over its rows."""
    width = pick.choice([n for n in SIZES if n >= 64] + [80, 72, 88, 136, 576, 768, 1000, 1024, 2048, 3072, 5000, 9000, 16384])
    shape, d = (*leading(pick, 300000 // width + 1), width), pick.choice(["f32", "bf16", "f16"])
    g = Group()
    dy, x, w = g.input(shape, d), g.input(shape, d), g.input(shape[-1:], d)
    axes, layer = tuple(range(len(shape) - 1)), pick.random() < 0.5
    mean = x.numbers.mean(-1).astype(np.float32) * layer
    centred = x.numbers - wide(mean)[..., None]
    rstd = (1 / np.sqrt((centred ** 2).mean(-1) + 1e-5)).astype(np.float32)
    kind = tensor(shape[:-1], "f32")
    statistics = [g.give(s, kind) for s in ([mean, rstd] if layer else [rstd])]
    normal, dn = centred * wide(rstd)[..., None], dy.numbers * w.numbers
    want = dn - normal * (dn * normal).mean(-1, keepdims=True) - dn.mean(-1, keepdims=True) * layer
    dx = g.op(f"act.{'layer' if layer else 'rms'}_norm_grad {dy.name}, {x.name}, {w.name}, {', '.join(statistics)} : "
              f"({dy.type}, {x.type}, {w.type}, {', '.join([kind] * len(statistics))}) -> RESULT",
              wide(rstd)[..., None] * want, d)
    by_name = f"mean({statistics[0]}) rstd({statistics[1]})" if layer else f"rstd({statistics[0]})"
    sums = [g.op(f"act.norm_weight_grad {dy.name}, {x.name} {by_name} : "
                 f"({dy.type}, {x.type}, {', '.join([kind] * len(statistics))}) -> RESULT", (dy.numbers * normal).sum(axes), d)]
    if layer:
        sums.append(g.op(f"act.sum_to {dy.name} : {dy.type} -> RESULT",
                         dy.numbers.sum(axes, keepdims=True), d))
    after = follow(g, dx, pick, 2) if pick.random() < 0.7 else dx
    return g.case(*([dx, *sums] if after is dx else [*sums, after]))


def rope(pick):
    return one_of(pick, cases_primitives.rotations(pick.choice([1, 2, 3]), pick.choice(SIZES[:-4]),
                                                   pick.choice([1, 2, 3, 5]), 2 * pick.choice([1, 3, 8, 20, 32, 40, 64])))


def embedding(pick):
    rows = pick.choice(SIZES + [300, 1000])
    return one_of(pick, cases_loss.embeddings(rows, pick.choice(SIZES), leading(pick, 300), pick.randrange(rows)))


def loss(pick):
    return one_of(pick, cases_loss.losses(leading(pick, 60), pick.choice([5, 9, 16, 33, 64, 100, 257, 1000, 3001])))


def softmax(pick):
    shape = leading(pick, 80) + (pick.choice(SIZES + [300, 1000]),)
    return one_of(pick, cases_primitives.softmaxes(shape))


def total(pick):
    to = [pick.choice([1, 1, 2, 3, 7, 16, 65]) for _ in range(pick.choice([1, 2, 3]))]
    of = [n * pick.choice([1, 1, 2, 5, 33]) for n in to]
    return one_of(pick, cases_shape.sums("drawn", tuple(to), tuple(of)))


def update(pick):
    return one_of(pick, cases_optimizer.updates((pick.choice(SIZES), pick.choice(SIZES))))


FAMILIES = [product, product, product, prologue, cut, many, rotated, elementwise, norm, normed, rope, embedding, loss, softmax, total, update]


def draw(pick, number):
    """(family and what it is, case): families in turn, so that few draws have them all."""
    family = FAMILIES[number % len(FAMILIES)]
    case = family(pick)
    ops = [line.split("act.")[1].split()[0] for line in case.text.splitlines() if "act." in line]
    return f"{family.__name__} {'+'.join(ops)} {' '.join(dict.fromkeys(case.types))}", case
