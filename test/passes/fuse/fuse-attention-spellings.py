# SPDX-License-Identifier: Apache-2.0
"""Writes one attention in many ways: each must become the same act.attention.

  fuse-attention-spellings.py ACT_OPT [COUNT [FIRST_SEED]] [--break]

A meaning (shapes, masks, softcap, dropout) is drawn, then a spelling of it: where
the scale stands and as what, how the mask is applied, who is transposed where,
how key heads are repeated. After --fuse-attention the module must have one
act.attention with the meaning's options, no other op of the original attention,
and no transpose; and an evaluation of both modules in numpy, which knows nothing
of the pass, must agree.

With --break one or two operands, axes, permutations or flags of every program are
changed first, so that most are no attention any more. Whatever the pass makes of
them must agree with them.
"""
import random
import re
import subprocess
import sys

import numpy as np


# --- writing ---------------------------------------------------------------

class Writer:
    """Emits ops on values, which are (name, shape, element) triples."""

    def __init__(self, rng):
        self.rng, self.lines, self.args, self.count = rng, [], [], 0

    def argument(self, name, shape, element):
        self.args.append((f"%{name}", shape, element))
        return self.args[-1]

    def scalar(self, name):
        self.args.append((f"%{name}", None, "i64"))
        return f"%{name}"

    def emit(self, op, operands, text, shape, element, arrow=None):
        self.count += 1
        name = f"%v{self.count}"
        ops = ", ".join(v[0] for v in operands)
        types = [self.type(v) for v in operands]
        result = self.type((name, shape, element))
        if arrow == "functional":
            tail = f"({', '.join(types)}) -> {result}"
        elif arrow == "->":
            tail = f"{types[0]} -> {result}"
        elif arrow == "to":
            tail = f"{types[0]} to {result}"
        else:
            tail = ", ".join(types[:1] + (types[1:2] if op == "rope" else []))
            if not operands:
                tail = result
        self.lines.append(f"{name} = act.{op} {ops}{text} : {tail}")
        return (name, shape, element)

    @staticmethod
    def type(value):
        if value[1] is None:
            return value[2]
        return "tensor<" + "".join(f"{n}x" for n in value[1]) + value[2] + ">"

    def transpose(self, x, perm):
        shape = [x[1][p] for p in perm]
        return self.emit("transpose", [x], f" {list(perm)}", shape, x[2], "->")

    def reshape(self, x, shape):
        return x if list(shape) == list(x[1]) else self.emit("reshape", [x], "", shape, x[2], "->")

    def expand(self, x, shape):
        return x if list(shape) == list(x[1]) else self.emit("expand", [x], "", shape, x[2], "->")

    def cast(self, x, element):
        return x if element == x[2] else self.emit("cast", [x], "", x[1], element, "to")

    def constant(self, value, shape, element):
        self.count += 1
        infinity = {"f32": "0xFF800000", "bf16": "0xFF80"}[element]
        text = infinity if value == "-inf" else f"{value:.6e}"
        result = (f"%v{self.count}", shape, element)
        self.lines.append(f"{result[0]} = act.constant dense<{text}> : {self.type(result)}")
        return result

    def binary(self, op, x, y):
        shape = list(np.broadcast_shapes(tuple(x[1]), tuple(y[1])))
        return self.emit(op, [x, y], "", shape, x[2], "functional")

    def select(self, c, x, y):
        shape = list(np.broadcast_shapes(*(tuple(v[1]) for v in (c, x, y))))
        return self.emit("select", [c, x, y], "", shape, x[2], "functional")

    def matmul(self, x, y, tl=False, tr=False):
        m = x[1][-1] if tl else x[1][-2]
        n = y[1][-2] if tr else y[1][-1]
        text = (" transpose_lhs" if tl else "") + (" transpose_rhs" if tr else "")
        return self.emit("matmul", [x, y], text, list(x[1][:-2]) + [m, n], x[2], "functional")

    def swap(self, x):
        perm = list(range(len(x[1])))
        perm[-1], perm[-2] = perm[-2], perm[-1]
        return self.transpose(x, perm)

    def multiply(self, x, factor):
        """x * factor in one of the ways."""
        how = self.rng.choice(["scale", "mul", "commuted", "div", "tensor"])
        if how == "scale":
            return self.emit("scale", [x], f" by {factor:.6e}", x[1], x[2])
        if how == "div":
            return self.binary("div", x, self.constant(1 / factor, [], x[2]))
        c = self.constant(factor, x[1] if how == "tensor" else [], x[2])
        return self.binary("mul", *((c, x) if how == "commuted" else (x, c)))


class Spelling:
    """One program, and the options that its attention has."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.w = w = Writer(rng)
        pick = rng.choice
        self.packed = rng.random() < 0.2
        self.b = 1 if self.packed else pick([1, 2])
        self.s = pick([3, 5])
        self.t = self.s if self.packed else pick([self.s, self.s, 6])
        self.kv, self.group = pick([(4, 1), (2, 2), (1, 3), (1, 1), (2, 3)])
        self.a, self.d, self.dv = self.kv * self.group, 16, pick([16, 16, 8, 24])
        self.element = pick(["f32", "bf16"])
        self.causal = rng.random() < 0.6
        self.window = pick([2, 4]) if self.causal and rng.random() < 0.3 else None
        self.padded = not self.packed and rng.random() < 0.4
        self.softcap = 8.0 if rng.random() < 0.25 else None
        self.dropout = rng.random() < 0.25
        self.bias = rng.random() < 0.25
        self.rope = self.s == self.t and rng.random() < 0.5
        # Where the scale stands; all of these multiply to 1/4.
        self.factors = pick([{"scores": 0.25}, {"q": 0.25}, {"k": 0.25}, {"q": 0.5, "k": 0.5},
                             {"rope": 0.25}, {"rope": 0.5, "scores": 0.5},
                             {"q": 2.0, "scores": 0.125}])
        # Whole program in f32, or only around the softmax, or not at all.
        self.upcast = pick(["none", "softmax", "all"]) if self.element == "bf16" else "none"
        self.repeat = pick(["expand", "reshape", "early", "grouped"])
        self.flatten = not self.packed and self.repeat != "grouped" and rng.random() < 0.3
        self.output = self.write()

    def heads(self, name, tokens, heads):
        """A projection's output as [b, heads, tokens, d], rotated perhaps."""
        w, rng = self.w, self.rng
        lead = [] if self.packed else [self.b]
        source = rng.random() < 0.7
        d = self.dv if name == "v" else self.d
        x = w.argument(name, lead + [tokens, heads * d] if source
                       else lead + [tokens, heads, d], self.element)
        x = w.reshape(x, lead + [tokens, heads, d])
        n = len(lead)
        perm = list(range(n)) + [n + 1, n, n + 2]
        rotate = self.rope and name != "v"
        early = rotate and rng.random() < 0.5
        if rotate and name == "q" and "rope" in self.factors:
            x = w.multiply(x, self.factors["rope"])
        if early:
            x = w.emit("rope", [x, self.cos, self.sin], "", x[1], x[2])
        if name != "q" and self.repeat == "early" and heads != self.a:
            x = w.expand(x, lead + [tokens, self.a, d])
            heads = self.a
        x = w.transpose(x, perm)
        if rotate and not early:
            x = w.emit("rope", [x, self.cos, self.sin], " heads_first", x[1], x[2])
        if name == "q" and not rotate and "rope" in self.factors:
            x = w.multiply(x, self.factors["rope"])
        if name in self.factors:
            x = w.multiply(x, self.factors[name])
        if self.upcast == "all":
            x = w.cast(x, "f32")
        return x

    def repeated(self, x, tokens):
        """Key or value heads repeated to those of the query."""
        w, lead = self.w, ([] if self.packed else [self.b])
        heads, d = x[1][len(lead)], x[1][-1]
        if self.repeat == "grouped":
            x = w.reshape(x, lead + [self.kv, 1, tokens, d])
            return w.expand(x, lead + [self.kv, self.group, tokens, d])
        if heads == self.a:
            return x
        if self.repeat == "expand":
            return w.expand(x, lead + [self.a, tokens, d])
        x = w.reshape(x, lead + [heads, 1, tokens, d])
        x = w.expand(x, lead + [heads, self.group, tokens, d])
        return w.reshape(x, lead + [self.a, tokens, d])

    def masks(self):
        """Elementary masks, as [s, t], or [b, 1, .., 1, t]."""
        w, out = self.w, []
        if self.causal:
            text = f" window({self.window})" if self.window else ""
            out.append(w.emit("causal_mask", [], text, [self.s, self.t], "i1"))
            if self.window and self.rng.random() < 0.3:
                out.append(w.emit("causal_mask", [], "", [self.s, self.t], "i1"))
        if self.packed:
            out.append(w.emit("segment_mask", [self.cu], "", [self.s, self.s], "i1", "->"))
        if self.padded:
            rank = 5 if self.repeat == "grouped" else 4
            out.append(w.reshape(self.pad, [self.b] + [1] * (rank - 2) + [self.t]))
        self.rng.shuffle(out)
        return out

    def masked(self, x):
        """The scores, masked in one of the ways."""
        w, rng = self.w, self.rng
        masks = self.masks()
        while len(masks) > 1 and rng.random() < 0.6:
            y, z = masks.pop(), masks.pop()
            masks.append(w.binary("and", y, z))
        for mask in masks:
            rank4 = len(mask[1]) > 2
            how = rng.choice(["select", "add", "commuted", "sub", "bert", "tensor"])
            fill = rng.choice(["-inf", -1e9, -1e4, -3e38])
            if how == "select":
                x = w.select(mask, x, w.constant(fill, [], x[2]))
            elif how == "tensor":
                c = w.constant(fill, mask[1], x[2])
                x = w.select(mask, x, c)
            elif how in ("add", "commuted"):
                bias = w.select(mask, w.constant(0, [], x[2]), w.constant(fill, [], x[2]))
                if rng.random() < 0.3 and not rank4:
                    bias = w.reshape(bias, [1] * (len(x[1]) - 2) + bias[1])
                x = w.binary("add", *((bias, x) if how == "commuted" else (x, bias)))
            else:
                m = w.cast(mask, x[2])
                one = w.constant(1, [], x[2])
                bias = w.multiply(w.binary("sub", one, m), -16384.0 if how == "bert" else 16384.0)
                x = w.binary("add" if how == "bert" else "sub", x, bias)
        return x

    def write(self):
        w, rng, b, s, t, a, d = self.w, self.rng, self.b, self.s, self.t, self.a, self.d
        if self.rope:
            self.cos = w.argument("cos", [s, d // 2], "f32")
            self.sin = w.argument("sin", [s, d // 2], "f32")
        if self.packed:
            self.cu = w.argument("cu", [3], "i32")
        if self.padded:
            self.pad = w.argument("pad", [b, t], "i1")
        if self.dropout:
            rngs = [w.scalar(n) for n in ("seed", "step", "site")]
        q = self.heads("q", s, a)
        k = self.repeated(self.heads("k", t, self.kv), t)
        v = self.repeated(self.heads("v", t, self.kv), t)
        lead = ([] if self.packed else [b]) + [a]
        if self.repeat == "grouped":
            lead = lead[:-1] + [self.kv, self.group]
            q = w.reshape(q, lead + [s, d])
        if self.flatten:
            q, k, v = (w.reshape(x, [b * a] + list(x[1][-2:])) for x in (q, k, v))

        # Scores as [.., s, t] or [.., t, s].
        turned = rng.random() < 0.3
        x, y = (k, q) if turned else (q, k)
        tl, tr = rng.random() < 0.3, rng.random() < 0.7
        scores = w.matmul(w.swap(x) if tl else x, y if tr else w.swap(y), tl, tr)
        if turned and (self.masks_exist() or self.dropout or rng.random() < 0.5):
            scores, turned = w.swap(scores), False
        if self.flatten and (self.padded or rng.random() < 0.5):
            scores = w.reshape(scores, lead + list(scores[1][-2:]))
        early = rng.random() < 0.5
        if self.upcast == "softmax" and early:
            scores = w.cast(scores, "f32")
        if "scores" in self.factors:
            scores = w.multiply(scores, self.factors["scores"])
        if self.softcap:
            scores = w.multiply(scores, 1 / self.softcap)
            scores = w.emit("tanh", [scores], "", scores[1], scores[2])
            scores = w.multiply(scores, self.softcap)
        late = rng.random() < 0.5
        if late:
            scores = self.masked(scores)
        if self.bias:
            shape = [n if rng.random() < 0.7 else 1 for n in scores[1]]
            bias = w.argument("bias", shape[rng.choice([0, 0, 1]):], scores[2])
            scores = w.binary("add", *rng.sample([scores, bias], 2))
        if not late:
            scores = self.masked(scores)
        if self.upcast == "softmax":
            scores = w.cast(scores, "f32")
        axis = len(scores[1]) - (2 if turned else 1)
        p = w.emit("softmax", [scores], f" axis {axis}", scores[1], scores[2])
        late = rng.random() < 0.5
        if late:
            p = w.cast(p, v[2])
        if self.dropout:
            p = w.emit("dropout", [p], f" p 0.25 rng({', '.join(rngs)})", p[1], p[2])
        p = w.cast(p, v[2])
        p = w.reshape(p, list(v[1][:-2]) + list(p[1][-2:]))

        # p v, or its transpose as v^T p^T.
        if rng.random() < 0.3:
            o = self.transposed_product(v, p, turned)
            o = w.swap(o)
        else:
            o = self.product(p, v, turned)
        o = w.reshape(o, ([] if self.packed else [b]) + [a, s, self.dv])
        n = len(o[1]) - 3
        self.back = rng.random() < 0.9
        if self.back:
            o = w.transpose(o, list(range(n)) + [n + 1, n, n + 2])
            o = w.reshape(o, list(o[1][:-2]) + [a * self.dv])
        return o

    def masks_exist(self):
        return self.causal or self.padded or self.packed

    def product(self, p, v, turned):
        """p v where p is [.., s, t], or [.., t, s] when turned."""
        w, rng = self.w, self.rng
        if rng.random() < 0.3:
            p, turned = w.swap(p), not turned
        tr = rng.random() < 0.3
        return w.matmul(p, w.swap(v) if tr else v, turned, tr)

    def transposed_product(self, v, p, turned):
        """v^T p^T."""
        w, rng = self.w, self.rng
        if rng.random() < 0.3:
            p, turned = w.swap(p), not turned
        tl = rng.random() < 0.5
        return w.matmul(v if tl else w.swap(v), p, tl, not turned)

    def text(self):
        args = ", ".join(f"{v[0]}: {Writer.type(v)}" for v in self.w.args)
        body = "\n  ".join(self.w.lines)
        out = self.output
        return (f"func.func @f({args}) -> {Writer.type(out)} {{\n  {body}\n"
                f"  return {out[0]} : {Writer.type(out)}\n}}\n")

    def expected(self):
        return {"scale": 0.25, "causal": self.causal, "window": self.window,
                "softcap": self.softcap, "dropout": 0.25 if self.dropout else None}


# --- evaluating ------------------------------------------------------------

def numbers(text):
    return [int(n) for n in re.findall(r"-?\d+", text)]


def shape_of(type_text):
    inner = re.match(r"tensor<(.*?)(?:, #.*)?>$", type_text).group(1)
    return [int(n) for n in inner.split("x")[:-1]]


def kept(shape):
    """Which elements dropout keeps: any function of the row-major index."""
    index = np.arange(int(np.prod(shape)), dtype=np.int64)
    return ((index * 2654435761 % 4294967296) / 4294967296 >= 0.25).reshape(shape)


def softmax(x, axis):
    high = x.max(axis=axis, keepdims=True)
    e = np.exp(x - np.where(np.isfinite(high), high, 0))
    total = e.sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


def causal(s, t, window):
    i, j = np.arange(s)[:, None] + t - s, np.arange(t)[None]
    return (j <= i) & (i - j < (window or t + s))


def segments(cu, t):
    owner = np.searchsorted(cu, np.arange(t), side="right")
    return owner[:, None] == owner[None]


def attribute(attrs, name, number=float):
    found = re.search(rf"\b{name} = ([-+.\deE]+)", attrs)
    return number(found.group(1)) if found else None


def attention(env, attrs, operands):
    sizes = numbers(re.search(r"operandSegmentSizes = array<i32: ([^>]*)>", attrs).group(1))
    it = iter(operands)
    q, k, v, mask, cu, _, bias, seed, _, _ = [env[next(it)] if n else None for n in sizes]
    if cu is not None:
        q, k, v = q[None], k[None], v[None]
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    score = np.einsum("bsad,btad->bast", q, k) * attribute(attrs, "scale")
    cap = attribute(attrs, "softcap")
    if cap:
        score = cap * np.tanh(score / cap)
    if bias is not None:
        score = score + bias
    s, t = score.shape[2:]
    allowed = np.ones(score.shape, bool)
    if re.search(r"\bcausal\b", attrs):
        allowed &= causal(s, t, None)
    window = attribute(attrs, "window", int)
    if window:
        allowed &= causal(s, t, window) | ~causal(s, t, None)
    if cu is not None:
        allowed &= segments(cu, t)
    if mask is not None:
        allowed &= mask[:, None, None]
    p = softmax(np.where(allowed, score, -np.inf), 3)
    if seed is not None:
        p = np.where(kept(p.shape), p / 0.75, 0)
    o = np.einsum("bast,btad->bsad", p, v)
    return o[0] if cu is not None else o


def rope(x, cos, sin, heads_first):
    x = x if heads_first else np.swapaxes(x, -2, -3)
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    x = np.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)
    return x if heads_first else np.swapaxes(x, -2, -3)


def expand(x, shape):
    for axis, n in enumerate(shape):
        x = np.repeat(x, n // x.shape[axis], axis)
    return x


def constant(attrs, shape):
    text = re.search(r"value = dense<([^>]*)>", attrs).group(1)
    value = -np.inf if text.startswith("0xFF8") else float(text)
    return np.full(shape, value)


def evaluate(generic, arguments):
    """The returned value of the one function of a module in generic form.
    Types are ignored: everything is f64."""
    env, ops = {}, []
    names = re.search(r"\^bb0\((.*)\):", generic).group(1)
    for name in re.findall(r"(%\w+):", names):
        env[name] = arguments[len(env)]
    line = re.compile(r'(?:(%\w+) = )?"([\w.]+)"\(([^)]*)\)(?: <\{(.*)\}>)? : \((.*)\) -> (.*)$')
    for text in generic.splitlines():
        found = line.match(text.strip())
        if not found:
            continue
        result, op, operand_text, attrs, _, type_text = found.groups()
        operands, attrs = re.findall(r"%\w+", operand_text), attrs or ""
        if op == "func.return":
            return env[operands[0]], ops
        ops.append(op)
        x = [env[o] for o in operands]
        shape = shape_of(type_text)
        if op == "act.transpose":
            y = np.transpose(x[0], numbers(attrs.split(":")[1]))
        elif op == "act.matmul":
            lhs = np.swapaxes(x[0], -1, -2) if "transpose_lhs" in attrs else x[0]
            rhs = np.swapaxes(x[1], -1, -2) if "transpose_rhs" in attrs else x[1]
            y = lhs @ rhs
        else:
            y = {
                "act.constant": lambda: constant(attrs, shape),
                "act.reshape": lambda: x[0].reshape(shape),
                "act.expand": lambda: expand(x[0], shape),
                "act.cast": lambda: x[0].astype(float),
                "act.scale": lambda: x[0] * attribute(attrs, "factor"),
                "act.mul": lambda: x[0] * x[1],
                "act.div": lambda: x[0] / x[1],
                "act.add": lambda: x[0] + x[1],
                "act.sub": lambda: x[0] - x[1],
                "act.tanh": lambda: np.tanh(x[0]),
                "act.and": lambda: x[0] & x[1],
                "act.select": lambda: np.where(x[0], x[1], x[2]),
                "act.softmax": lambda: softmax(x[0], attribute(attrs, "axis", int)),
                "act.dropout": lambda: np.where(kept(x[0].shape), x[0] / 0.75, 0),
                "act.rope": lambda: rope(x[0], x[1], x[2], "heads_first" in attrs),
                "act.causal_mask": lambda: causal(*shape, attribute(attrs, "window", int)),
                "act.segment_mask": lambda: segments(x[0], shape[0]),
                "act.attention": lambda: attention(env, attrs, operands),
            }[op]()
        assert list(y.shape) == shape, f"{text}: {y.shape}"
        env[result] = y
    raise ValueError("no return")


def arguments_of(spelling):
    rng = np.random.default_rng(spelling.rng.randrange(2**32))
    for name, shape, element in spelling.w.args:
        if element == "i64":
            yield np.int64(1)
        elif element == "i32":
            yield np.array([0, 2, spelling.s])
        elif element == "i1":
            # A query that sees nothing is 0 or a mean, by spelling: leave it one key.
            mask = np.ones(shape, bool)
            mask[-1, -1] = False
            yield mask
        else:
            yield rng.standard_normal(shape)


# --- comparing -------------------------------------------------------------

def act_opt(tool, text, *flags):
    done = subprocess.run([tool, *flags, "--mlir-print-op-generic"], input=text,
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def check(tool, seed):
    spelling = Spelling(seed)
    text = spelling.text()
    try:
        before = act_opt(tool, text)
        after = act_opt(tool, text, "--fuse-attention")
        arguments = list(arguments_of(spelling))
        expected, _ = evaluate(before, arguments)
        actual, ops = evaluate(after, arguments)
        allowed = {"act.attention", "act.reshape", "act.rope"}
        if spelling.upcast == "all":
            allowed.add("act.cast")
        if not spelling.back:
            allowed.add("act.transpose")
        if spelling.bias:
            allowed |= {"act.transpose", "act.expand"}
        assert ops.count("act.attention") == 1 and set(ops) <= allowed, sorted(set(ops) - allowed)
        fused = next(line for line in after.splitlines() if '"act.attention"' in line)
        found = {name: attribute(fused, name) for name in ("scale", "window", "softcap", "dropout")}
        found["causal"] = bool(re.search(r"\bcausal\b", fused))
        assert found == spelling.expected(), (found, spelling.expected())
        error = np.abs(expected - actual).max()
        assert error < 1e-9, f"values differ by {error}"
    except AssertionError as error:
        sys.exit(f"seed {seed}: {error}\n{text}")


def broken(spelling):
    """The program with a part of one line replaced by another of its kind."""
    rng, w = spelling.rng, spelling.w
    types = {v[0]: Writer.type(v) for v in w.args}
    at = rng.randrange(len(w.lines))
    for line in w.lines[:at]:
        types[line.split(" = ")[0]] = re.split(r" (?:->|to|:) ", line)[-1]
    head, tail = w.lines[at].split(" = ", 1)
    body, signature = tail.split(" : ", 1)
    flag = re.search(r" transpose_[lr]hs| heads_first", body)
    if "softmax" in body and rng.random() < 0.5:
        body = re.sub(r"axis (\d)", lambda m: f"axis {rng.randrange(int(m.group(1)) + 1)}", body)
    elif flag and rng.random() < 0.5:
        body = body.replace(flag.group(0), "")
    elif "transpose %" in body and rng.random() < 0.7:
        perm = numbers(body[body.index("["):])
        rng.shuffle(perm)
        body = body[:body.index("[")] + str(perm)
    else:
        names = re.findall(r"%\w+", body)
        old = rng.choice(names) if names else None
        same = [n for n in types if old and types.get(n) == types[old] and n != old]
        if same:
            body = re.sub(re.escape(old) + r"\b", rng.choice(same), body, count=1)
    w.lines[at] = f"{head} = {body} : {signature}"


def check_broken(tool, seed):
    """Whether the pass fused the broken program; None if it is not valid."""
    spelling = Spelling(seed)
    for _ in range(spelling.rng.choice([1, 1, 2])):
        broken(spelling)
    text = spelling.text()
    try:
        before = act_opt(tool, text)
    except AssertionError:
        return None
    after = act_opt(tool, text, "--fuse-attention")
    arguments = list(arguments_of(spelling))
    expected, _ = evaluate(before, arguments)
    actual, ops = evaluate(after, arguments)
    # -inf times 0, where masked scores are what is returned, is not a number in both.
    if not np.allclose(expected, actual, rtol=1e-9, atol=1e-9, equal_nan=True):
        sys.exit(f"seed {seed}: values differ\n{text}")
    return "act.attention" in ops


def main():
    np.seterr(all="ignore")
    breaks = "--break" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--break"]
    tool = arguments[0]
    count = int(arguments[1]) if len(arguments) > 1 else 200
    first = int(arguments[2]) if len(arguments) > 2 else 0
    seeds = range(first, first + count)
    if breaks:
        fused = [check_broken(tool, seed) for seed in seeds]
        print(f"{fused.count(True)} of {count - fused.count(None)} broken programs fused rightly")
        return
    for seed in seeds:
        check(tool, seed)
    print(f"{count} spellings fused")


main()
