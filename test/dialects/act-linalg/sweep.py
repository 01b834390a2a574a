#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sweep.py BUILD [--seed N] [--count N] [--ops N] [--schedules N] [--target sm_80,sm_89]
[--alternate] [--copy-warps N] [--part K/N] [--only TEXT] [--list] [-j N]
[--device cuda:0] [--compile-to FOLDER | --compiled FOLDER]: kernels drawn
at random, as PTX in the simulator with all its checks: --count of attention, forward and
backward, and --ops of the others.

A case of attention has a type, head sizes (of queries and keys, and of values), lengths
that are no multiples of anything, heads that share keys, and any of the options, a score
region made at random among them; EDGES are those that chance would not find. Values are
f64's by dense formulas (cases_attention.py). PyTorch's math attention on the same numbers
in the same type says how near they can be come to: the root of the mean square of a
kernel's error is to be at most that of PyTorch's (or of what rounding the right values
makes), and its largest error at most a unit in the last place of the largest value more
than PyTorch's largest. That is the math attention which computes in the type itself
(torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp), as is usual for such bounds; by
default PyTorch's computes in f32 and rounds once. In f32, where PyTorch has better
exponentials than the hardware's, errors are 2e-5 of the largest value at most, and the
few numbers of dsinks and dbias, sums of what may cancel, have twice PyTorch's.

The others (cases_drawn.py) are held to f64's values, rounded where act's are.

What was compiled is assembled where there is a ptxas. Each case runs under --schedules
orders of what the ISA leaves open. Every other one, from the second on, draws also how
numbers are rounded, inside of a matrix instruction, too; results of the rest have the
same bits, all of them. --seed and a case's number name it: --seed 0 --only '#17 ' is that
one.

With --device cuda:0 the kernels run on a card (--schedules times, with the same bits each
time). --compile-to only compiles; --compiled takes what that made, of the same draws, and
needs libact_runtime alone of act."""
import argparse
import concurrent.futures
import dataclasses
import multiprocessing
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import torch

import cases_attention
import cases_drawn
import harness
from cases_attention import Options

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
ULP = {"f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}


class Region:
    """A function of score, batch, head, query and key, made at random: as MLIR, and on
    what has numpy's operators (`m` is numpy or torch)."""

    def __init__(self, pick):
        self.pick, self.lines, self.count, self.hides = pick, [], 0, False
        text, self.function = self.score(pick.randrange(1, 5))
        self.lines.append(f"%r = arith.addf {text}, {self.number(0)} : FLOAT")

    def pair(self):
        def apply(s, b, h, i, j):
            return self.function(torch if isinstance(s, torch.Tensor) else np, s, b, h, i, j)
        return "\n".join(self.lines), apply

    def emit(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def number(self, value):
        return self.emit(f"arith.constant {value:e} : FLOAT")

    def score(self, depth):
        """An expression that depends on the score, smooth and of moderate size."""
        if depth == 0:
            return "%s", lambda m, s, *at: s
        x, f = self.score(depth - 1)
        kind = self.pick.choice(["affine", "place", "tanh", "head", "square", "choose", "sqrt"])
        a, c = (round(self.pick.uniform(-1.2, 1.2), 2) for _ in range(2))
        if self.hides:  # what is hidden stays hidden: minus infinity, and nothing that is no number
            kind, a = {"square": "place", "sqrt": "place"}.get(kind, kind), abs(a) or 1.0
        if kind == "affine":
            y = self.emit(f"arith.mulf {x}, {self.number(a)} : FLOAT")
            return (self.emit(f"arith.addf {y}, {self.number(c)} : FLOAT"),
                    lambda m, s, *at: f(m, s, *at) * a + c)
        if kind == "tanh":
            y = self.emit(f"math.tanh {x} : FLOAT")
            return (self.emit(f"arith.addf {y}, {x} : FLOAT"),
                    lambda m, s, *at: m.tanh(f(m, s, *at)) + f(m, s, *at))
        if kind == "square":  # x^2 / (1 + x^2)
            q = self.emit(f"arith.mulf {x}, {x} : FLOAT")
            d = self.emit(f"arith.addf {q}, {self.number(1)} : FLOAT")

            def square(m, s, *at):
                y = f(m, s, *at) * f(m, s, *at)
                return y / (y + 1)
            return self.emit(f"arith.divf {q}, {d} : FLOAT"), square
        if kind == "sqrt":
            q = self.emit(f"arith.mulf {x}, {x} : FLOAT")
            d = self.emit(f"arith.addf {q}, {self.number(0.5)} : FLOAT")
            return (self.emit(f"math.sqrt {d} : FLOAT"),
                    lambda m, s, *at: m.sqrt(f(m, s, *at) * f(m, s, *at) + 0.5))
        if kind == "place":  # - |a| (i - j) / 16
            n = self.emit("arith.subi %i, %j : index")
            n = self.emit(f"arith.index_cast {n} : index to i64")
            n = self.emit(f"arith.sitofp {n} : i64 to FLOAT")
            slope = -abs(a) / 16
            n = self.emit(f"arith.mulf {n}, {self.number(slope)} : FLOAT")
            return (self.emit(f"arith.addf {x}, {n} : FLOAT"),
                    lambda m, s, b, h, i, j: f(m, s, b, h, i, j) + slope * (i - j))
        if kind == "head":
            n = self.emit("arith.addi %h, %b : index")
            n = self.emit(f"arith.index_cast {n} : index to i64")
            n = self.emit(f"arith.uitofp {n} : i64 to FLOAT")
            n = self.emit(f"arith.mulf {n}, {self.number(c)} : FLOAT")
            return (self.emit(f"arith.subf {x}, {n} : FLOAT"),
                    lambda m, s, b, h, i, j: f(m, s, b, h, i, j) - c * (h + b))
        # What every third key is asked differently; sometimes it is hidden.
        three = self.emit("arith.constant 3 : index")
        zero = self.emit("arith.constant 0 : index")
        n = self.emit(f"arith.remui %j, {three} : index")
        p = self.emit(f"arith.cmpi eq, {n}, {zero} : index")
        if self.pick.random() < 0.3:
            self.hides = True
            other = self.emit("arith.constant 0xNINF : FLOAT")
            value = lambda m, y: float("-inf")
        else:
            other = self.emit(f"arith.mulf {x}, {self.number(a)} : FLOAT")
            value = lambda m, y: y * a
        where = lambda m, c, x, y: m.where(c, m.full_like(y, x) if np.isscalar(x) else x, y)
        return (self.emit(f"arith.select {p}, {other}, {x} : FLOAT"),
                lambda m, s, b, h, i, j: where(m, j % 3 == 0, value(m, f(m, s, b, h, i, j)),
                                               f(m, s, b, h, i, j)))


def draw(pick):
    """Arguments of cases_attention.attention."""
    sizes = pick.choice([range(16, 257, 16), range(16, 129, 16), [64, 128], range(8, 41, 4)])
    D = pick.choice(list(sizes))
    DV = pick.choice(list(sizes)) if pick.random() < 0.2 else D
    group, G = pick.choice([1, 1, 2, 3, 4]), pick.choice([1, 1, 2])
    B, S = pick.choice([1, 1, 2]), pick.randrange(1, 200)
    packed = pick.random() < 0.2
    T = S if packed or pick.random() < 0.4 else pick.randrange(1, 260)
    if packed:
        B = 1
    o = Options(scale=round(D**-0.5, 4))
    numbers = np.random.default_rng(pick.randrange(2**32))
    o.causal = pick.random() < 0.5
    if pick.random() < 0.2:
        o.window = pick.randrange(1, 150)
    o.top_left = not packed and bool(o.causal or o.window) and pick.random() < 0.2
    if pick.random() < 0.2:
        o.softcap = pick.choice([2.0, 30.0])
    if packed:
        cuts = sorted(pick.randrange(S + 1) for _ in range(pick.randrange(4)))
        o.cu = [0] + cuts + [S]
    elif pick.random() < 0.3:
        shape = pick.choice([(B, T), (B, S, T), (1, S, T)])
        o.mask = numbers.random(shape) < 0.7
    if pick.random() < 0.2:
        o.sinks = numbers.standard_normal(G * group)
    if pick.random() < 0.2:
        # The gradient of what is for all keys is a sum that is 0.
        o.bias = numbers.standard_normal([n if pick.random() < 0.6 else 1
                                          for n in (B, G * group, S)] + [T])
    if pick.random() < 0.2:
        o.dropout = 0.25
    if pick.random() < 0.25:
        o.region = Region(pick).pair()
    dtype = pick.choice(["bf16", "bf16", "bf16", "f16", "f32"])
    return dict(B=B, S=S, T=T, H=G * group, G=G, D=D, DV=DV, dtype=dtype, o=o, packed=packed)


def edge(S, T=None, D=64, dtype="bf16", H=2, G=1, DV=None, packed=False, **options):
    return dict(B=1, S=S, T=T or S, H=H, G=G, D=D, DV=DV, dtype=dtype, packed=packed,
                o=Options(**{"scale": round(D**-0.5, 4), **options}))


def diagonal(hidden):
    """A region as Region.pair(): keys behind the query have the score `hidden`."""
    text = (f"%behind = arith.cmpi ugt, %j, %i : index\n%hidden = arith.constant {hidden:e} : FLOAT\n"
            "%r = arith.select %behind, %hidden, %s : FLOAT")

    def apply(s, b, h, i, j):
        m = torch if isinstance(s, torch.Tensor) else np
        return m.where(j > i, m.full_like(s, hidden), s)
    return text, apply


def edges(copy_warps):
    for D in list(range(16, 257, 16)) + [512]:
        yield edge(70, 90, D=D, causal=True)
    for S, T in ((1, 1), (1, 300), (300, 1), (2, 129), (64, 64), (127, 257), (257, 127)):
        yield edge(S, T)
        yield edge(S, T, causal=True)
    for cu in ([0, 0, 0, 70], [0, 70, 70, 70], [0, 1, 2, 70], [0, 20, 70], [0, 0], [0, 64, 65]):
        yield edge(70, packed=True, cu=cu, causal=True)
    yield edge(70, mask=np.zeros((1, 70), bool))
    yield edge(70, mask=np.zeros((1, 70), bool), H=4, sinks=np.ones(4))
    yield edge(70, DV=16, D=256)
    yield edge(70, DV=256, D=16)
    # Four rings of 32 KiB, which are all needed until the end where others fill them.
    for D in (16, 64, 80, 128, 176, 256) + ((512,) if not copy_warps else ()):
        yield edge(70, 90, D=D, H=1, dtype="f32", causal=True)
    # Rows that are whole tiles of 8, in which dq is added up.
    for S, D, H in ((72, 80, 4), (8, 64, 2), (200, 128, 1), (40, 16, 2), (136, 40, 2), (64, 256, 2), (72, 72, 2)):
        yield edge(S, 90, D=D, H=H, causal=True)
    yield edge(72, D=64, dtype="f32")
    yield edge(80, packed=True, cu=[0, 20, 80], causal=True)
    # A mask of a number as others use it, which is no infinity.
    numbers = np.random.default_rng(3)
    for dtype, hidden in (("bf16", -1e9), ("bf16", -3.3e38), ("f16", -6e4), ("f32", -1e30)):
        bias = numbers.standard_normal((1, 1, 1, 300))
        bias[..., :200] = hidden
        yield edge(70, 300, dtype=dtype, bias=bias, bias_grad=False)
    # Rows that see nothing but numbers like it.
    bias = np.zeros((1, 1, 1, 80))
    bias[..., 0] = -3.3e38
    yield edge(80, causal=True, bias=bias, bias_grad=False)
    # Slots of a ring that are no whole groups of eight rows of a panel of 128 bytes.
    for D, DV, causal in ((64, 80, False), (64, 80, True), (128, 144, False)):
        yield edge(130, 48, D=D, DV=DV, H=1, causal=causal)
    # A bias that is for all rows, whose gradient is summed up; for all keys that is 0.
    for D, dtype in ((160, "bf16"), (256, "bf16"), (192, "f32")):
        yield edge(150, 170, D=D, dtype=dtype, bias=numbers.standard_normal((1, 2, 1, 170)))
    yield edge(150, 170, D=128, bias=numbers.standard_normal((1, 1, 1, 1)), sinks=numbers.standard_normal(2))
    # A score region with a mask of its own, of a number that is no infinity.
    for dtype, hidden in (("bf16", -1e9), ("f16", -40.0), ("f32", -1e9)):
        yield edge(170, dtype=dtype, H=1, causal=True, region=diagonal(hidden))
    # Scores that are products, without a factor: some blocks have a mask between them and what is subtracted.
    yield edge(170, dtype="f32", H=1, causal=True, scale=1.0)
    yield edge(170, 130, D=32, causal=True, scale=1.0)
    # Programs that take turns go around rows that blocks divide: in one ring, and in rings of unlike size.
    for S, T, D, H, G in ((512, 384, 64, 2, 1), (128, 640, 128, 2, 2), (256, 512, 32, 4, 1), (192, 320, 128, 1, 1), (460, 330, 64, 2, 1)):
        yield edge(S, T, D=D, H=H, G=G)
    yield edge(256, 384, D=64, dropout=0.25, bias=numbers.standard_normal((1, 1, 1, 384)))
    # Widths of which warps have unlike parts.
    for D, DV, dtype in ((208, 256, "bf16"), (240, 256, "bf16"), (160, 16, "f32"), (224, 112, "f32"), (224, 208, "f32"),
                         (240, 256, "f32")):
        yield edge(70, D=D, DV=DV, dtype=dtype)


def describe(a):
    o = a["o"]
    on = [f.name for f in dataclasses.fields(o) if f.name not in ("scale", "keep", "bias_grad")
          and not (getattr(o, f.name) is None or getattr(o, f.name) in (False, 0, "")
                   if not isinstance(getattr(o, f.name), (np.ndarray, tuple, list)) else False)]
    values = "" if a["DV"] in (None, a["D"]) else f"/{a['DV']}"
    return (f"{a['dtype']} b{a['B']} {a['S']}x{a['T']} heads {a['H']}/{a['G']} of {a['D']}{values} "
            + " ".join(on))


def by_torch(inputs, a):
    """out, dq, dk, dv, [dsinks], [dbias] as PyTorch's math attention in the type says."""
    o, dtype = a["o"], TORCH[a["dtype"]]
    batched = lambda x: x[None] if a["packed"] else x
    leaf = lambda x: torch.tensor(np.asarray(x, np.float64)).to(dtype).requires_grad_()
    do, q, k, v = (leaf(batched(x)) for x in inputs[:4])
    sinks = leaf(o.sinks) if o.sinks is not None else None
    bias = leaf(o.bias) if o.bias is not None else None
    root = o.scale**0.5
    heads = lambda x, n: x.repeat_interleave(n, 2).transpose(1, 2)
    group = a["H"] // a["G"]
    s = (heads(q, 1) * root) @ (heads(k, group) * root).transpose(2, 3)
    if o.softcap:
        s = torch.tanh(s / o.softcap) * o.softcap
    if bias is not None:
        s = s + bias
    if o.region:
        at = [torch.tensor(x) for x in np.meshgrid(*map(np.arange, s.shape), indexing="ij")]
        s = cases_attention.region_of(o)[1](s, *at).to(dtype)
    seen = torch.tensor(np.broadcast_to(
        cases_attention.visible(o, a["B"], a["S"], a["T"]), s.shape).copy())
    s = s.masked_fill(~seen, float("-inf"))
    if sinks is not None:
        s = torch.cat([s, sinks[None, :, None, None].expand(*s.shape[:3], 1)], 3)
    hidden = torch.isneginf(s).all(3, keepdim=True)
    p = torch.softmax(s.masked_fill(hidden, 0), 3).masked_fill(hidden, 0)
    if sinks is not None:
        p = p[..., :-1]
    if o.dropout:
        p = torch.where(torch.tensor(o.keep), p / (1 - o.dropout), 0)
    out = (p @ heads(v, group)).transpose(1, 2)
    wanted = [x for x in (q, k, v, sinks, bias) if x is not None]
    grads = torch.autograd.grad(out, wanted, do.detach())
    return [x.detach().double().numpy() for x in (out, *grads)]


def errors(got, want):
    e = np.nan_to_num(np.asarray(got, np.float64)) - want
    return np.sqrt(np.mean(e * e)), np.abs(e).max(initial=0)


def compare(what, got, want, other, dtype):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not np.isfinite(got).all():
        return [f"{what}: not finite"]
    other = other.reshape(want.shape)
    (rms, most), (rms1, most1) = errors(got, want), errors(other, want)
    ulp = ULP[dtype] * 2.0**np.floor(np.log2(max(np.abs(want).max(initial=0), 2.0**-6)))
    # What rounding the results does to them by itself: of few, chance says how much of half an ulp.
    each = ULP[dtype] * 2.0**np.floor(np.log2(np.maximum(np.abs(want), 2.0**-6)))
    rounding = np.sqrt(np.mean(each * each) / (12 if want.size >= 64 else 4)) if want.size else 0
    found = []
    if dtype == "f32":  # PyTorch's exponentials are nearer than ex2.approx
        rms1 = most1 = 2e-5 * max(np.abs(want).max(initial=0), 0.1)
    elif what.startswith(("dsinks", "dbias")):  # sums of what may cancel, of which there are few
        rms1, most1 = 2 * rms1, 2 * most1
    if rms > max(rms1, rounding):
        found.append(f"{what}: RMS {rms:.2e}, PyTorch's {rms1:.2e}, an ulp {ulp:.2e}")
    if most > most1 + ulp:
        found.append(f"{what}: at most {most:.2e}, PyTorch's {most1:.2e}, an ulp {ulp:.2e}")
    return found


def compare_lse(what, got, want):
    """f32, of which PyTorch's math attention has none; rows that see nothing have -inf."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not np.array_equal(np.isneginf(got), np.isneginf(want)):
        return [f"{what}: -inf for other rows"]
    seen = np.isfinite(want)
    worst = np.max(np.abs(got - want)[seen] / np.maximum(1, np.abs(want[seen])), initial=0)
    return [f"{what}: off by {worst:.2e}"] if not worst <= 1e-4 else []


def assemble(cache, target, ptxas):
    """Problems of ptxas with the kernels in the cache."""
    problems = []
    for n, entry in enumerate(sorted(cache.rglob("*.ptx"))):
        text = entry.read_text()
        ptx = cache / f"{n}.{target}"
        ptx.write_text(text[text.index(".version"):])
        # The target is the PTX's own but for what runs on later ones, too.
        try:
            done = subprocess.run([ptxas, f"-arch={target}", ptx, "-o", f"{ptx}.cubin"],
                                  capture_output=True, text=True, timeout=300)
            if done.returncode:
                problems.append(f"ptxas: {done.stderr[:300]}")
        except subprocess.TimeoutExpired:
            problems.append(f"ptxas takes more than 300 s for {len(text.splitlines())} lines")
    return problems


def leaks(case, clean, inputs, results, arguments, kernels):
    """What of the `clean` results changes when inputs of other packed sequences are huge, NaN or infinite: no bit may.
    The first `inputs` and `results` have tokens along the first of three dimensions or the last of two."""
    tokens, dtype = arguments["S"], arguments["dtype"]
    borders = sorted({n for n in arguments["o"].cu or [] if 0 < n < tokens})
    if not borders:
        return []
    huge, last = 6e4 if dtype == "f16" else 1e19, borders[-1]
    runs = [(0, last, bad) for bad in (huge, np.nan, np.inf)] + [(last, tokens, bad) for bad in (np.nan, np.inf)]
    if len(borders) > 1:
        runs.append((*borders[:2], np.nan))
    by_tokens = lambda x: x if x.ndim == 3 else x.T
    whole, found = list(case.inputs), []
    for low, high, bad in runs:
        for i in range(inputs):
            case.inputs[i] = np.array(whole[i])
            rows = by_tokens(case.inputs[i])
            rows[:low] = bad
            rows[high:] = bad
            rows[:low:3] *= -1
            rows[high::3] *= -1
        changed = kernels.call(case)
        case.inputs[:] = whole
        found += [f"{case.name}: {bad} outside of {low} to {high} changes result {i}" for i in range(results)
                  if by_tokens(clean[i])[low:high].tobytes() != by_tokens(changed[i])[low:high].tobytes()]
    return found


def check(arguments, kernels, schedules):
    """Problems of one draw on one target."""
    forward, backward = cases_attention.attention("case", **arguments)
    inputs = backward.inputs
    torch_out, *torch_grads = by_torch(inputs, arguments)
    problems, o = [], arguments["o"]
    for case, others, names in ((forward, [torch_out], ["out"]),
                                (backward, torch_grads, ["dq", "dk", "dv", "dsinks", "dbias"])):
        try:
            if o.sinks is None and case is backward:
                names = names[:3] + names[4:]
            for seed in range(schedules):
                kernels.seed = seed
                results = kernels.call(case)
                clean = results if seed == 0 else clean
                if case is forward:
                    problems += compare_lse(f"lse with seed {seed}", results[1], case.expected[1])
                for name, got, want, other in zip(names, results, case.expected, others):
                    problems += compare(f"{name} with seed {seed}", got, want, other,
                                        arguments["dtype"])
                if kernels.rounds_plainly() and any(a.tobytes() != b.tobytes() for a, b in zip(results, clean)):
                    problems.append(f"{case.name}: run {seed} has other bits than the first")
            kernels.seed = 0
            problems += leaks(case, clean, *((3, 2) if case is forward else (6, 3)), arguments, kernels)
        except harness.Refused as why:
            problems.append(f"{case.name}: {why}")
        kernels.seed = 0
    return problems


def seeded(name, seed):
    return zlib.crc32(f"{seed} {name}".encode())


def rings():
    """Lengths with which the slots of rings come round, with and without a diagonal."""
    return [("ring 0 ", edge(400, 520, D=64, H=2, causal=True)), ("ring 1 ", edge(300, 530, D=128, H=1))]


def attention(count, seed, copy_warps):
    """(name, arguments) of cases."""
    drawn = [(f"edge {n} ", a) for n, a in enumerate(edges(copy_warps))]
    for n in range(count):
        drawn.append((f"#{n} ", draw(random.Random(f"{seed} {n}"))))
    return drawn


def attention_draws(drawn, seed):
    """(name, check): what check(kernels, schedules) returns are its problems."""
    for name, arguments in drawn:
        name += describe(arguments)

        def run(kernels, schedules, name=name, arguments=arguments):
            # Numbers by the case, whatever ran before.
            cases_attention.rng = np.random.default_rng(seeded(name, seed))
            return check(arguments, kernels, schedules)
        yield name, run


def op_draws(count, seed, described):
    """The same. A draw has its values, too, so that it is made when it runs, but for its
    description: names have those only if `described`."""
    def draw_op(n):
        cases_drawn.seed_all(seeded(n, seed))
        return cases_drawn.draw(random.Random(f"op {seed} {n}"), n)

    for n in range(count):
        def run(kernels, schedules, n=n):
            what, case = draw_op(n)
            try:
                problems = list(harness.under_seeds(case, kernels, schedules))
            except harness.Refused as why:
                problems = [str(why)]
            return [f"{what}: {p}" for p in problems]
        yield f"op #{n} {draw_op(n)[0] if described else ''}", run


def make_kernels(options, folder, target):
    lower = options.build / "bin/act-lower-linalg"
    if options.compile_to or options.device:
        return harness.CompiledKernels(lower, folder, options.compile_to or options.compiled or folder, target,
                                       None if options.compile_to else runtime(options), options.copy_warps)
    return harness.BlockKernels(
        lower, folder, [f"--target={target}", f"--device=sim:{target}", f"--cache-dir={folder / 'cache'}"],
        options.copy_warps, target)


def runtime(options):
    """One for all cases of a process."""
    if not hasattr(runtime, "opened"):
        runtime.opened = harness.actrt.Runtime(options.build / "lib/libact_runtime.so", 1, options.device)
    return runtime.opened


def begin(*state):
    run_one.state = state


def run_one(number):
    """In a process of its own, as what draws numbers is global. Whether there were problems."""
    runs, options, ptxas = run_one.state
    name, run, target = runs[number]
    start = time.time()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kernels = make_kernels(options, folder, target)
        problems = run(kernels, options.schedules)
        if options.compile_to:  # results are zeros
            problems = []
        elif ptxas and not kernels.on_card:
            problems += assemble(folder / "cache", target, ptxas)
    print(f"{name} {target}: {'; '.join(problems) or 'ok'} ({time.time() - start:.1f} s)", flush=True)
    return bool(problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--ops", type=int, default=120)
    parser.add_argument("--schedules", type=int, default=3)
    parser.add_argument("--target", default="sm_80,sm_89")
    parser.add_argument("--alternate", action="store_true",
                        help="each case on one of the targets, in turn")
    parser.add_argument("--device", help="cuda:0; otherwise each target's simulator")
    parser.add_argument("--compile-to", type=pathlib.Path)
    parser.add_argument("--compiled", type=pathlib.Path)
    parser.add_argument("--copy-warps", type=int, default=0,
                        help="so many warps more copy, in every kernel that has a loop for them")
    parser.add_argument("--part", default="1/1", metavar="K/N",
                        help="every Nth case from the Kth on: the whole is N runs")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-j", type=int, default=1)
    options = parser.parse_args()
    np.seterr(all="ignore")
    if options.compile_to:
        options.compile_to.mkdir(parents=True, exist_ok=True)
        options.schedules = 1
    ptxas = shutil.which("ptxas")
    print(f"assembled by {ptxas}" if ptxas else "not assembled: there is no ptxas")
    cases = attention(options.count, options.seed, options.copy_warps)
    draws = [*attention_draws(cases, options.seed), *op_draws(options.ops, options.seed, options.only or options.list),
             *attention_draws(rings(), options.seed)]
    targets = options.target.split(",")
    part, parts = map(int, options.part.split("/"))
    draws = draws[part - 1::parts]
    runs = []
    for number, (name, run) in enumerate(draws):
        turn = number % len(targets)
        if options.only in name:
            runs += [(name, run, target) for target in
                     (targets[turn:turn + 1] if options.alternate else targets)]
    if options.list:
        print("\n".join(dict.fromkeys(name for name, _, _ in runs)))
        return 0

    with concurrent.futures.ProcessPoolExecutor(
            options.j, multiprocessing.get_context("fork"), initializer=begin, initargs=(runs, options, ptxas)) as pool:
        failed = sum(pool.map(run_one, range(len(runs))))
    ran = len(runs)
    print(f"{ran} passed, 0 failed" if not failed else f"{ran - failed} passed, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
