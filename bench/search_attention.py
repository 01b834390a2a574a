# SPDX-License-Identifier: Apache-2.0
"""Attention by warp groups as bench/search.py sees it: shapes, schedules, and a model of their time.

The keys that are taken at a time, and backward the keys of a program, are a rule of shapes and types
(fitGroups in passes/act-to-tile/SumOrder.cpp); `step_of` is that rule. A schedule leaves them.
"""
import dataclasses
import heapq
import itertools
import json
import math

import numpy as np

PROCESSORS, SHARED, REGISTERS, GROUP = 132, 232448, 65536, 64
# What a computing thread may hold with so many groups, of what the launch gives and copying warps give away.
GROUP_REGISTERS = {1: 255, 2: 240, 3: 160}
# Spills of up to so many bytes are a register or two around a loop.
SPILLED = 128
# Of first operands (AttentionSchedule.a).
PLACES = ("", "registers", "shared")


def up(number, unit):
    return math.ceil(number / unit) * unit


@dataclasses.dataclass(frozen=True)
class Attention:
    backward: bool
    width: int
    values: int
    causal: bool
    queries: int
    keys: int
    heads: int  # of all sequences
    sequences: int = 1

    @property
    def flops(self):
        pairs = self.queries * self.keys
        if self.causal:
            pairs -= self.queries * (self.queries - 1) // 2
        products = (3 * self.width + 2 * self.values) if self.backward else self.width + self.values
        return 2 * pairs * products * self.heads

    def __str__(self):
        widths = f"{self.width}" + f"/{self.values}" * (self.values != self.width)
        sizes = f"{self.queries}" + f"x{self.keys}" * (self.keys != self.queries)
        return f"{'backward' if self.backward else 'forward'} {widths} {'causal' if self.causal else 'full'} {self.heads}x{sizes}"

    def own(self):
        """As the table has it."""
        return dict(kind="backward" if self.backward else "forward", width=self.width, values=self.values,
                    causal=self.causal, queries=self.queries, keys=self.keys, heads=self.heads)

    @staticmethod
    def of(entry):
        return Attention(entry["kind"] == "backward", entry["width"], entry["values"], entry["causal"],
                         entry["queries"], entry["keys"], entry["heads"])

    def shape(self, rows, width):
        return self.sequences, rows, self.heads // self.sequences, width

    def module(self):
        def tensor(rows, width):
            return f"tensor<{'x'.join(map(str, self.shape(rows, width)))}xbf16>"
        q, k, v, o = (tensor(self.queries, self.width), tensor(self.keys, self.width), tensor(self.keys, self.values),
                      tensor(self.queries, self.values))
        lse = f"tensor<{self.sequences}x{self.heads // self.sequences}x{self.queries}xf32>"
        how = f"scale {self.width**-0.5:e}" + " causal" * self.causal
        inputs, results = [("q", q), ("k", k), ("v", v)], [("o", o), ("l", lse)]
        lines = [f"  %o, %l = act.attention %q, %k, %v {how} : ({q}, {k}, {v}) -> ({o}, {lse})"]
        if self.backward:
            inputs, results = inputs + [("g", o)], results + [("dq", q), ("dk", k), ("dv", v)]
            lines.append(f"  %dq, %dk, %dv = act.attention_grad %g, %q, %k, %v, %o, %l {how}\n"
                         f"    : ({o}, {q}, {k}, {v}, {o}, {lse}) -> ({q}, {k}, {v})")
        named = [", ".join(f'{before}{t} {{act.name = "{n}"}}' for n, t, before in each) for each in
                 ([(n, t, f"%{n}: ") for n, t in inputs], [(n, t, "") for n, t in results])]
        types = ", ".join(t for _, t in results)
        return f"func.func @forward({named[0]}) -> ({named[1]}) {{\n" + "\n".join(lines) + \
            f"\n  return {', '.join(f'%{n}' for n, _ in results)} : {types}\n}}\n"


@dataclasses.dataclass(frozen=True)
class AttentionSchedule:
    groups: int
    stages: int
    rotated: bool = False
    turns: bool = False
    persistent: bool = False
    stores: bool = False
    a: str = ""  # where first operands are read: "registers", "shared", or each where it is

    def __str__(self):
        flags = [name for name in ("rotated", "turns", "persistent", "stores") if getattr(self, name)]
        return ", ".join([f"{self.groups} groups", f"{self.stages} stages", *([f"a in {self.a}"] if self.a else []), *flags])

    def own(self, p):
        """As the table has it."""
        a = {"a": self.a} if self.a else {}
        if p.backward:
            return dict(stages=self.stages, stores=self.stores) | a
        return dict(groups=self.groups, stages=self.stages, rotated=self.rotated, turns=self.turns) | \
            ({"persistent": True} if self.persistent else {}) | a

    @staticmethod
    def of(p, entry):
        return AttentionSchedule(order_of(p)[0] if p.backward else entry["groups"], entry["stages"],
                                 *(entry.get(n, False) for n in ("rotated", "turns", "persistent", "stores")),
                                 entry.get("a", ""))


def operands(p, a):
    """Registers of a thread for operands that stay in them: queries, or backward keys and values."""
    return (p.width + p.values * p.backward) // 4 if a == "registers" else 0


def holds(p, step, groups, rotated):
    """Numbers that a thread holds, as haveRegisters counts them (SumOrder.cpp)."""
    columns = up(max(p.width, p.values) if p.backward else p.values, 16)
    if p.backward:
        return columns + max(step + step // 4, step // 2 + step * columns // (2 * GROUP * groups)) + 16
    return columns // 2 + step // 2 + step // (4 if rotated else 8) + 32


def shared_bytes(p, step, s):
    """Of a program: the ring's slots, and what stays, which a persistent program has as often."""
    rows, both = GROUP * s.groups, 2 * (p.width + p.values)
    if p.backward:
        return s.stages * step * (both + 8 + 4 * p.width * s.stores) + rows * both + 2 * rows * step * (1 + (s.a == "shared"))
    stays, beside = rows * p.width * 2, 4096 * 4 * s.groups
    if s.a == "shared":
        stays += 2 * rows * step
    if s.persistent:
        return s.stages * (step * both + stays) + beside
    return s.stages * step * both + max(stays, beside)


def order_of(p):
    """(groups, step) that fitGroups plans by: the step stays, and backward the groups do, too."""
    rows = p.keys if p.backward else p.queries
    for many, step, groups in itertools.product((True, False), range(128, 0, -16), (3, 2, 1)):
        if groups > math.ceil(rows / GROUP) or (groups > 1) != many:
            continue
        columns = up(max(p.width, p.values), 16)
        if p.backward and (step % GROUP or groups > 2 or (step < GROUP * groups and columns % (GROUP * groups))):
            continue
        if holds(p, step, groups, not p.backward) > GROUP_REGISTERS[groups]:
            continue
        if shared_bytes(p, step, AttentionSchedule(groups, 2)) > SHARED:
            continue
        if not p.backward:
            step = next((even for even in range(step, 0, -16) if 4 * even >= 3 * step and p.keys % even == 0), step)
        return groups, step
    return None


def candidates(p):
    """Schedules that leave every bit as it is and that there is room for."""
    found = order_of(p)
    if not found:
        return
    own, step = found
    if p.backward:
        every = (AttentionSchedule(own, stages, stores=stores, a=a)
                 for stages, stores, a in itertools.product((1, 2, 3), (True, False), PLACES))
    else:
        # Rotated, the next product's operand is carried in registers.
        every = (AttentionSchedule(groups, stages, rotated, turns, persistent, a=a)
                 for groups, stages, (rotated, turns), persistent, a in itertools.product(
                     (1, 2, 3), (1, 2, 3), ((True, True), (True, False), (False, False)), (False, True), PLACES)
                 if groups <= math.ceil(p.queries / GROUP) and not (turns and groups == 1)
                 and not (rotated and a == "shared"))
    for s in every:
        if holds(p, step, s.groups, s.rotated) + operands(p, s.a) <= GROUP_REGISTERS[s.groups] and shared_bytes(p, step, s) + 1024 <= SHARED:
            yield s


# Prototypes of this form on an H200, 2026-11-27 (persistent, two stages, the kernel alone), TFLOP/s, median.
# Forward: width, causal, tokens, heads, groups, keys at a time, turns.
MEASURED_FORWARD = [
    (64, False, 2048, 256, 2, 128, 1, 398.2), (64, False, 2048, 256, 2, 176, 1, 419.8),
    (64, False, 2048, 256, 3, 128, 0, 457.4), (64, False, 2048, 256, 3, 128, 1, 454.4),
    (64, False, 4096, 128, 2, 128, 1, 410.8), (64, False, 4096, 128, 2, 176, 1, 447.7),
    (64, False, 4096, 128, 3, 128, 0, 485.0), (64, False, 4096, 128, 3, 128, 1, 498.3),
    (64, False, 16384, 32, 2, 128, 1, 434.0), (64, False, 16384, 32, 2, 176, 1, 483.6),
    (64, False, 16384, 32, 3, 128, 0, 534.5), (64, False, 16384, 32, 3, 128, 1, 543.3),
    (64, True, 2048, 256, 2, 128, 1, 375.8), (64, True, 2048, 256, 3, 128, 0, 360.5),
    (64, True, 2048, 256, 3, 128, 1, 385.2), (64, True, 4096, 128, 2, 128, 1, 430.2),
    (64, True, 4096, 128, 3, 128, 0, 404.8), (64, True, 4096, 128, 3, 128, 1, 438.8),
    (64, True, 16384, 32, 2, 128, 1, 445.4), (64, True, 16384, 32, 3, 128, 0, 446.9),
    (64, True, 16384, 32, 3, 128, 1, 469.8), (128, False, 2048, 128, 2, 128, 0, 573.1),
    (128, False, 2048, 128, 2, 128, 1, 592.9), (128, False, 2048, 128, 2, 176, 0, 584.5),
    (128, False, 2048, 128, 2, 176, 1, 643.2), (128, False, 4096, 64, 2, 128, 0, 672.0),
    (128, False, 4096, 64, 2, 128, 1, 687.1), (128, False, 4096, 64, 2, 176, 0, 614.0),
    (128, False, 4096, 64, 2, 176, 1, 684.3), (128, False, 16384, 16, 2, 128, 0, 650.5),
    (128, False, 16384, 16, 2, 128, 1, 656.7), (128, False, 16384, 16, 2, 176, 0, 675.5),
    (128, False, 16384, 16, 2, 176, 1, 728.4), (128, True, 2048, 128, 2, 128, 0, 507.8),
    (128, True, 2048, 128, 2, 128, 1, 517.3), (128, True, 4096, 64, 2, 128, 0, 658.5),
    (128, True, 4096, 64, 2, 128, 1, 668.3), (128, True, 16384, 16, 2, 128, 0, 700.1),
    (128, True, 16384, 16, 2, 128, 1, 701.9)]
# Backward, with a warp that adds to dq: width, causal, tokens, heads, rows at a time; those of 128 in turn.
MEASURED_BACKWARD = [
    (128, False, 4096, 64, 64, 552.8), (128, False, 4096, 64, 80, 593.5), (128, True, 4096, 64, 64, 498.9),
    (128, False, 16384, 16, 64, 553.8), (128, False, 16384, 16, 80, 597.7), (128, True, 16384, 16, 64, 553.8),
    (64, False, 4096, 128, 128, 534.9), (64, True, 4096, 128, 128, 484.5),
    (64, False, 16384, 32, 128, 540.7), (64, True, 16384, 32, 128, 534.5)]


def is_measured(p, s):
    """Whether a schedule has the form of what was measured, or of FlashAttention-3, which has no turns where heads
    are wider than 128."""
    if s.stages != 2 or s.a or p.backward:
        return s.stages == 2 and not s.a and s.stores
    return s.rotated and s.turns == (p.values <= 128) and s.groups == (3 if p.values <= 64 else 2)


class AttentionModel:
    """Seconds of attention. A round, in which each group of a multiprocessor does one block of keys (backward:
    of rows), takes as long as the root of the sum of squares of three times:

    - `mma`: the tensor cores', for all groups;
    - `issue`: that of all groups' other instructions, four a clock. SASS is counted once a kernel is compiled;
    - `path`: what one group waits for, `latency` and `key` for each key at a time; backward `back`. Without turns
      it is longer by `unordered`; without rotation by the second product and `serial`.

    It is no shorter than shared memory takes for what products read (128 bytes a clock) and the copies do
    (`fill`). Backward, a group that adds by itself waits for its turn (`turn`). Programs begin when another one
    ends, and take `begin` beside their rounds, with `start` where programs are not persistent. A launch takes
    `launch` seconds. Persistent programs are dealt out beforehand, and wait for the slowest multiprocessor
    (`drift`).

    `serial` is what FlashAttention-3 (H100) and TLX lose without rotation at heads of 128: 16 and 22 %.
    `exchange` is a store of probabilities to shared memory, its fence and a barrier.
    `start` is what products of 4096 lose where they are not persistent: an mbarrier's, a copy's and a register
    exchange's latency among it. `arrive` is the latency of a copy, which one stage does not hide."""
    clock, launch, fill = 1.74e9, 1.0e-5, 29.0
    serial, start, turn, arrive, drift, exchange = 300.0, 1100.0, 500.0, 800.0, 1.005, 200.0
    instructions = {False: 0.21, True: 0.40}  # per score, before they are counted
    # Fitted by --fit.
    latency, key, unordered, begin, back = 1060.0, 3.94, 0.125, 3360.0, 3130.0

    def round(self, p, s, step, instructions, residents):
        groups, scores = s.groups * residents, GROUP * step
        products = (3 * p.width + 2 * p.values) if p.backward else p.width + p.values
        mma = groups * scores * products / 2048
        issue = groups * scores * instructions / 4
        if p.backward:
            path = self.back + (0 if s.stores else self.turn)
            read = 0
        else:
            path = self.latency + self.key * step + (0 if s.rotated else scores * p.values / 2048 + self.serial)
            if groups > 1 and not (s.turns and residents == 1):
                path *= 1 + self.unordered
            # Scores read their queries too, unless they are in registers; probabilities are.
            read = groups * (p.width / 16 * (2048 * (s.a != "registers") + 32 * step) + step / 16 * 32 * p.values)
        if s.a == "shared":
            # What is stored is read once by each product, 2048 bytes for 16 of its depth.
            path += self.exchange
            issue += groups * self.exchange / 8
            read += groups * (1 + p.backward) * step / 16 * 2 * 2048
        copied = residents * step * 2 * (p.width + p.values)
        if s.stages == 1:
            path += self.arrive + copied / self.fill
        return max(math.sqrt(mma**2 + issue**2 + path**2), read / 128, copied / self.fill)

    def rounds(self, p, s, step):
        """Of each program, the longest first, for one head."""
        own = GROUP * s.groups
        if not p.causal:
            along = math.ceil((p.queries if p.backward else p.keys) / step)
            return [along] * math.ceil((p.keys if p.backward else p.queries) / own)
        later = p.keys - p.queries  # keys before the first query
        if p.backward:
            return [math.ceil((p.queries - max(0, i - later) // step * step) / step) for i in range(0, p.keys, own)]
        return sorted((math.ceil(min(p.keys, i + own + later) / step) for i in range(0, p.queries, own)), reverse=True)

    def seconds(self, p, s, step=None, kernel=None):
        """With a `kernel`: as many instructions as were counted, and as many programs as its registers allow."""
        step = step or order_of(p)[1]
        instructions, residents = self.instructions[p.backward], 1
        products = (3 * p.width + 2 * p.values) if p.backward else p.width + p.values
        if kernel and kernel.always:
            instructions = kernel.always * 2 * products / 1e6
        if s.groups == 1:
            # A quarter of the multiprocessor has a quarter of the registers, for whole warps.
            warps, registers = 5 + s.stores, up(kernel.registers if kernel else holds(p, step, 1, s.rotated) + 32, 8)
            residents = max([1] + [n for n in range(2, 5) if math.ceil(n * warps / 4) * 32 * registers <= REGISTERS // 4
                                   and n * (shared_bytes(p, step, s) + 1024) <= SHARED])
        round_ = self.round(p, s, step, instructions, residents)
        begin = self.begin + (0 if s.persistent else self.start)
        slots = PROCESSORS * residents
        if s.persistent:
            ends, at = [0.0] * slots, 0
            for n in self.rounds(p, s, step):
                for _ in range(p.heads):
                    ends[at % slots] += n * round_ + begin
                    at += 1
            clocks = max(ends) * self.drift + self.start
        else:
            ends = [0.0] * slots
            for n in self.rounds(p, s, step):
                for _ in range(p.heads):
                    heapq.heapreplace(ends, ends[0] + n * round_ + begin)
            clocks = max(ends)
        return clocks / self.clock + self.launch

    def measured(self):
        """(what, TFLOP/s, TFLOP/s by the model)"""
        for d, causal, tokens, heads, groups, step, turns, tflops in MEASURED_FORWARD:
            p, s = Attention(False, d, d, causal, tokens, tokens, heads), AttentionSchedule(groups, 2, True, bool(turns), True)
            yield f"{p}: {64 * groups}x{step}{', turns' * turns}", tflops, p.flops / self.seconds(p, s, step) / 1e12
        for d, causal, tokens, heads, step, tflops in MEASURED_BACKWARD:
            p, s = Attention(True, d, d, causal, tokens, tokens, heads), AttentionSchedule(2, 2, persistent=True, stores=True)
            yield f"{p}: {step}x128", tflops, p.flops / self.seconds(p, s, step) / 1e12

    def doubt(self):
        """What the model is off by, as a factor: the root of the mean square of logarithms."""
        errors = [math.log(by / tflops) for _, tflops, by in self.measured()]
        return math.exp(math.sqrt(sum(e * e for e in errors) / len(errors)))

    def fit(self):
        return fitted(self, ("latency", "key", "unordered", "begin", "back"), 0.01,
                      lambda: (by / tflops for _, tflops, by in self.measured()))


def fitted(model, names, last, errors):
    """The model's constants with the least squared logarithm of `errors`, found by trying neighbours; steps of a
    fifth, halved down to `last`."""
    def loss():
        return sum(math.log(e)**2 for e in errors())
    least, width = loss(), 0.2
    while width > last:
        better = False
        for name, sign in itertools.product(names, (-1, 1)):
            before = getattr(model, name)
            setattr(model, name, before * (1 + sign * width))
            if (now := loss()) < least:
                least, better = now, True
            else:
                setattr(model, name, before)
        width = width if better else width / 2
    return {name: getattr(model, name) for name in names}


def ranks(pairs):
    """Of pairs of measured and predicted numbers: the share of all two that are in the same order."""
    both = [(x - a) * (y - b) for (x, y), (a, b) in itertools.combinations(pairs, 2) if x != a]
    return sum(product > 0 for product in both) / len(both)


def shapes():
    """Attention of training steps, of bench/card.py (heads 2048 wide together) and longer, each once."""
    found = []
    for width, values in ((64, 64), (96, 96), (128, 128), (192, 128), (256, 256)):
        heads = 2048 // width if width != 192 else 16
        for backward, causal, (sequences, tokens) in itertools.product(
                (False, True), (False, True), ((4, 4096), (1, 16384), (1, 4096), (1, 2048))):
            p = Attention(backward, width, values, causal, tokens, tokens, heads * sequences, sequences)
            if order_of(p):
                found.append(p)
    return found


class Work:
    """Attention as bench/card.py runs it."""

    def __init__(self, p):
        self.p, self.parts = p, {"wanted": None, "other": None}

    def part_of(self, kernel):
        return "wanted" if ("attention_grad" in kernel) == self.p.backward else "other"

    def inputs(self):
        import card
        numbers = np.random.default_rng(0)
        p = self.p
        wanted = {"q": (p.queries, p.width), "k": (p.keys, p.width), "v": (p.keys, p.values)}
        if p.backward:
            wanted["g"] = (p.queries, p.values)
        return {n: card.bf16(numbers.standard_normal(p.shape(*s), np.float32)) for n, s in wanted.items()}


def line(p, s):
    """An entry of the table."""
    return json.dumps(p.own() | s.own(p))
