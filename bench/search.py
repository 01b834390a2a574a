#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches schedules of products and attention for a target, and writes the table that act-opt uses.

    build/venv/bin/python bench/search.py [--build FOLDER] [--target sm_90a] [--write]
                                          [--device cuda:0] [--log FILE] [--only TEXT]
                                          [--kinds products,attention] [--clusters 1,2]
    build/venv/bin/python bench/search.py --fit
    build/venv/bin/python bench/search.py --check 5

Products are those of the layers of examples/models (4096 tokens; forward, to the input, to
the weight), of their vocabularies in chunks, and of square matrices. What a kernel reads
beside its sum is part of the shape: a residual, a gate, a gradient that it adds to.
Attention has heads of 64 to 256, full and causal, forward, and backward where warp groups
compute it, for 2048 to 16384 tokens (search_attention.py).

A candidate of a product has the rows and columns of a program's block, warp groups that
share the rows, how many rows of programs start together, and whether the first operand is
read from shared memory or registers; forward attention has groups, stages, rotation, turns,
a place of first operands, and may be persistent; backward it has stages, a place, and a
warp that adds to dq or none. Those that have no room in shared memory or registers are left out. With
--clusters, products may also share copies in clusters, of which the model knows nothing:
only a card can prefer them. (On an H200, pairs of programs took 20 to 50 % longer in a
prototype, so they are not tried unless asked for.) The rest is ranked by the models of
`Model` and `AttentionModel`, whose constants are fitted to measurements of kernels of these
forms (--fit prints how well). The best are compiled, and what ptxas spills or serialises
(C75xx) is left out; of attention, the model then takes the instructions of the loop as they
are counted. On a card (--device) they are timed, each as the median of 20 launches, and the
fastest wins; without one the model decides, and forms that were measured come first, unless
it sees more in others than it is off by. What was timed is kept in --log, and not timed
again.

--write replaces the parts of passes/act-to-tile/schedules/TARGET.json that were searched; a
shape that is not listed gets the schedule of the nearest one that is (ScheduleTable.h).
--check compiles entries of each part, spread over it, and fails if one is not used as it
stands, spills or is refused.

On sm_80, sm_86 and sm_89 warps multiply on their own. Of attention there, a schedule has
the queries of a program, warps, stages, early copies and fragments that are fetched ahead
(search_warps.py). All that fit are compiled, and bench/stalls.py ranks them; of those within half
a percent of the fastest, the one with the fewest instructions wins.

Schedules leave every bit of a result as it is: a product's sum is in the order of its depth,
and attention's keys at a time are a rule of its shape.
Needs the package triton, whose ptxas assembles.
"""
import argparse
import dataclasses
import datetime
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import search_attention
import search_warps
from kernels import ROOT, Assembled, run, wheel
from search_attention import Attention, AttentionModel, AttentionSchedule
from search_warps import WarpSchedule

TARGET = "sm_90a"
TABLES = ROOT / "passes/act-to-tile/schedules"
TOKENS, CHUNK = 4096, 1024
MODELS = ("llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "mistral-7b-v0.3", "qwen2.5-7b")
PROCESSORS, SHARED, STEP = 132, 232448, 64
# What a thread may hold of sums and what is beside them: of its own 240, but with three groups of the 128
# that it begins with, which ptxas takes for the limit of one instruction (C7602).
GROUP_REGISTERS = {1: 231, 2: 216, 3: 104}


@dataclasses.dataclass(frozen=True)
class Product:
    rows: int
    columns: int
    sum: int
    beside: int = 0  # 16-bit tensors of the result's size that are read

    @property
    def flops(self):
        return 2 * self.rows * self.columns * self.sum

    def __str__(self):
        return f"{self.rows}x{self.columns}x{self.sum}" + f" +{self.beside}" * bool(self.beside)

    def module(self):
        x, w, y = f"tensor<{self.rows}x{self.sum}xbf16>", f"tensor<{self.columns}x{self.sum}xbf16>", f"tensor<{self.rows}x{self.columns}xbf16>"
        names = ["x", "w"] + [f"r{i}" for i in range(self.beside)]
        arguments = ", ".join(f'%{n}: {t} {{act.name = "{n}"}}' for n, t in zip(names, [x, w] + [y] * self.beside))
        lines = [f"  %0 = act.linear %x, %w : ({x}, {w}) -> {y}"]
        lines += [f"  %{i + 1} = act.add %{i}, %r{i} : ({y}, {y}) -> {y}" for i in range(self.beside)]
        return f'func.func @forward({arguments}) -> ({y} {{act.name = "y"}}) {{\n' + "\n".join(lines) + \
            f"\n  return %{self.beside} : {y}\n}}\n"


@dataclasses.dataclass(frozen=True)
class Schedule:
    rows: int
    columns: int
    groups: int
    together: int
    cluster: int = 1
    a: str = ""  # "registers": the first operand is read from there

    def stages(self):
        """As many as there is room for beside what warps store their results by."""
        return min(4, (SHARED - 4096 * 4 * self.groups - 256) // (2 * STEP * (self.rows + self.columns)))

    def registers(self, beside):
        return self.rows // self.groups * self.columns // 128 * (2 + beside) // 2

    def __str__(self):
        return f"{self.rows}x{self.columns}, {self.groups} groups, {self.together} together" + \
            f", clusters of {self.cluster}" * (self.cluster > 1) + f", a in {self.a}" * bool(self.a)


# Products of bf16 by warp groups of this form (two share a block, 4 stages, persistent), on an H200,
# 2026-11-27: rows, columns, sum; the block; rows of programs together (0: all); TFLOP/s, median.
MEASURED = [
    (4096, 4096, 4096, 128, 256, 8, 762.5), (4096, 4096, 4096, 128, 256, 16, 770.1),
    (4096, 4096, 4096, 128, 256, 0, 758.7), (4096, 4096, 4096, 256, 128, 8, 724.5),
    (8192, 8192, 8192, 128, 256, 8, 762.3), (8192, 8192, 8192, 128, 256, 16, 768.9),
    (8192, 8192, 8192, 128, 256, 0, 689.6), (8192, 8192, 8192, 256, 128, 8, 762.7),
    (4096, 2048, 2048, 128, 256, 8, 570.8), (4096, 2048, 2048, 128, 256, 16, 577.9),
    (4096, 2048, 2048, 128, 256, 0, 575.7), (4096, 2048, 2048, 256, 128, 8, 609.0)]


class Model:
    """Seconds of a product: its programs in waves, each as long as its steps and what is before and
    after them; or as long as memory takes for what the programs of a wave share through the L2 cache.

    A step of 64 takes the tensor cores rows * columns / 32 clocks, times `stall`, or as long as its
    operands take to arrive, `fill` bytes a clock: a kernel with blocks of 64x256 was seen to take 60.
    `begin` clocks pass before a program's steps (a copy from the L2 cache takes 666, an mbarrier 129),
    and each byte of the result takes its part of the memory's bandwidth. A launch takes `launch`
    seconds, with what is before and after it."""
    clock, memory = 1.74e9, 4.2e12
    fill, begin = 60.0, 800.0
    store = PROCESSORS * clock / memory
    stall, launch = 1.14, 1.0e-5  # fitted by --fit

    def seconds(self, p, s):
        down, across = math.ceil(p.rows / s.rows), math.ceil(p.columns / s.columns)
        waves = math.ceil(down * across / PROCESSORS)
        step = max(s.rows * s.columns / 32 * self.stall, 2 * STEP * (s.rows + s.columns) / self.fill)
        if s.a == "registers":  # is there before a product begins
            step += s.rows * STEP * 2 / 128
        program = math.ceil(p.sum / STEP) * step + self.begin + s.rows * s.columns * 2 * (1 + p.beside) * self.store
        together = min(s.together or down, down)
        beside = min(math.ceil(PROCESSORS / together), across)
        moved = waves * p.sum * 2 * (together * s.rows + beside * s.columns) + p.rows * p.columns * 2 * (1 + p.beside)
        return max(waves * program / self.clock, moved / self.memory) + self.launch

    def errors(self):
        """Measured by predicted time, for each measurement."""
        return [flops / (tflops * 1e12) / self.seconds(p, s)
                for p, s, flops, tflops in ((Product(m, n, k), Schedule(r, c, 2, t), 2 * m * n * k, f)
                                            for m, n, k, r, c, t, f in MEASURED)]

    def fit(self):
        return search_attention.fitted(self, ("stall", "launch"), 0.002, self.errors)


def shapes():
    """Products of training steps, each once."""
    found = [Product(n, n, n) for n in (4096, 8192)]
    for name in MODELS:
        c = json.loads((ROOT / f"examples/models/{name}.json").read_text())
        width, wide = c["hidden_size"], c["intermediate_size"]
        heads = c["num_attention_heads"]
        head = c.get("head_dim") or width // heads
        queries, keys = heads * head, c.get("num_key_value_heads", heads) * head
        # Out of each linear, into it, and whether its result is added to or joined with something.
        for out, into, beside in ((queries, width, 0), (keys, width, 0), (width, queries, 1), (wide, width, 0),
                                  (wide, width, 1), (width, wide, 1)):
            found.append(Product(TOKENS, out, into, beside))
            found += [Product(TOKENS, into, out, b) for b in ((0, 1) if into == width else (0, 2))]
            found.append(Product(out, into, TOKENS, 1))
        vocabulary = c["vocab_size"]
        found += [Product(CHUNK, vocabulary, width), Product(CHUNK, width, vocabulary), Product(vocabulary, width, CHUNK, 1)]
    return sorted(set(found), key=lambda p: (p.beside, p.rows, p.columns, p.sum))


def candidates(p, clusters=(1,)):
    for (rows, groups), columns, together, cluster, a in itertools.product(
            ((64, 1), (128, 2), (256, 2), (192, 3)), (64, 96, 128, 160, 192, 224, 256), (1, 4, 8, 16), clusters,
            ("", "registers")):
        s = Schedule(rows, columns, groups, together, cluster, a)
        programs = math.ceil(p.rows / rows) * math.ceil(p.columns / columns)
        if s.stages() >= 2 and s.registers(p.beside) <= GROUP_REGISTERS[groups] and rows <= 2 * p.rows:
            if programs % cluster == 0:
                yield s


def line(p, s):
    """An entry of the table."""
    if isinstance(p, Attention):
        return search_attention.line(p, s)
    return f'{{"rows": {p.rows}, "columns": {p.columns}, "sum": {p.sum}, "beside": {p.beside}, ' \
        f'"block": [{s.rows}, {s.columns}], "groups": {s.groups}, "together": {s.together}' \
        + f', "cluster": {s.cluster}' * (s.cluster > 1) + f', "a": "{s.a}"' * bool(s.a) + "}"


def table(found_by, parts, target=TARGET):
    """The table's text: one line for each entry of each part."""
    text = ",\n".join(f' "{part}": [\n' + ",\n".join(f"  {e}" for e in lines) + "\n]" for part, lines in parts.items())
    return json.dumps({"target": target, "found_by": found_by})[:-1] + f",\n{text}}}\n"


class Compiled:
    """A kernel with a schedule, or with the target's own: its PTX, its entry in the index, and what ptxas says."""

    def __init__(self, build, target, p, s, folder):
        stem = re.sub(r"\W+", "-", f"{p} {s or 'own'}")
        self.module, out = folder / f"{stem}.mlir", folder / stem
        self.module.write_text(p.module())
        flags = f"target={target} cache-dir=none"
        self.flags = ""
        if s:
            file = folder / f"{stem}.json"
            part = "attention" if isinstance(p, Attention) else "products"
            file.write_text(table("bench/search.py, a candidate", {part: [line(p, s)]}))
            self.flags = f"schedules={file}"
        run(build / "bin/act-opt", self.module, f"--emit-ptx=dir={out} {flags} {self.flags}", "-o", "/dev/null")
        index = json.loads((out / "index.json").read_text())
        # Of attention's gradient, the kernel with the products.
        self.entry = max(index, key=lambda e: ("attention_grad" in e["ops"], e["useful_flops"]))
        self.kernel = Assembled(out / self.entry["file"], target, out)

    def fault(self, p, s):
        """Why it is not what was asked for; empty if it is."""
        schedule, kernel = self.entry["schedule"], self.kernel
        if isinstance(s, WarpSchedule):
            found = WarpSchedule(s.rows, schedule["warps"], schedule["stages"], schedule.get("early", False),
                                 schedule.get("ahead", False))
            programs = math.ceil(p.queries / s.rows) * p.heads if s.rows else self.entry["grid"][0]
            return "" if found == s and self.entry["grid"][0] == programs else f"is planned otherwise: {found}"
        if isinstance(p, Attention):
            rows, wanted = p.keys if p.backward else p.queries, dict(
                groups=s.groups, stages=s.stages, rotated=s.rotated, turns=s.turns, persistent=s.persistent, store=s.stores)
            found = {n: schedule.get(n, False) for n in wanted} | {"store": bool(schedule.get("roles", {}).get("store"))}
            grid, most = math.ceil(rows / (64 * s.groups)) * p.heads, search_attention.SPILLED
        else:
            wanted = dict(groups=s.groups, cluster=s.cluster)
            found = dict(groups=schedule.get("groups"), cluster=schedule.get("cluster", 1))
            grid, most = math.ceil(p.rows / s.rows) * math.ceil(p.columns / s.columns), 0
        wanted, found = wanted | {"a": s.a}, found | {"a": schedule.get("a", "")}
        if found != wanted or self.entry["grid"][0] != grid:
            return f"is planned otherwise: {schedule}, {self.entry['grid'][0]} programs and not {grid}"
        if kernel.serialised:
            return f"is serialised ({kernel.serialised})"
        return f"spills {kernel.spilled} bytes" if kernel.spilled > most else ""


class Work:
    """A product as bench/card.py runs it."""
    parts = {"wanted": None}

    def __init__(self, p):
        self.p = p

    def part_of(self, kernel):
        return "wanted"

    def inputs(self):
        import card
        p, numbers = self.p, np.random.default_rng(0)
        shapes = {"x": (p.rows, p.sum), "w": (p.columns, p.sum)}
        shapes.update({f"r{i}": (p.rows, p.columns) for i in range(p.beside)})
        return {n: card.bf16(numbers.standard_normal(shape, np.float32)) for n, shape in shapes.items()}


class Card:
    """Times kernels, and keeps what was timed."""

    def __init__(self, build, device, log):
        sys.path.insert(0, str(ROOT / "test/python"))
        from actrt import Runtime
        self.build, self.log = build, log
        self.runtime = Runtime(build / "lib/libact_runtime.so", 0, device)
        self.known = {}
        if log and log.exists():
            for line in log.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["product"], entry["schedule"]] = entry["seconds"]

    def seconds(self, p, s, compiled, target, folder):
        key = str(p), str(s)
        if key not in self.known:
            import card
            file = folder / "step.act"
            run(self.build / "bin/act-opt", compiled.module, f"--target={target}",
                f"--emit=file={file} {compiled.flags}", "-o", "/dev/null")
            work = search_attention.Work(p) if isinstance(p, Attention) else Work(p)
            with card.Loaded(work, self.runtime, file) as loaded:
                self.known[key] = loaded.times()["wanted"] / 1e3
            if self.log:
                with self.log.open("a") as out:
                    print(json.dumps({"product": key[0], "schedule": key[1], "seconds": self.known[key]}), file=out)
        return self.known[key]


def best(p, model, o, card, folder):
    """The schedule, its seconds, and lines about those that were tried."""
    # Blocks that were measured come first, unless the model sees more in others than it is off by.
    def rank(s):
        doubt = 1 if any(m[3:5] == (s.rows, s.columns) for m in MEASURED) else 1.03
        return doubt * model.seconds(p, s), -s.rows * s.columns, -s.together, s.cluster, s.a
    ranked, tried = sorted(candidates(p, o.clusters), key=rank), []
    good = []
    for s in ranked:
        if len(good) == o.tries or len(tried) == 3 * o.tries:
            break
        if any((t.rows, t.columns, t.groups, t.a) == (s.rows, s.columns, s.groups, s.a) for t, _ in tried) and not card:
            continue  # the same code in another order
        compiled = Compiled(o.build, o.target, p, s, folder)
        fault = compiled.fault(p, s)
        tried.append((s, fault))
        if not fault:
            good.append((card.seconds(p, s, compiled, o.target, folder) if card else model.seconds(p, s), s))
            if not card:
                break
    if not good:
        return None, None, tried
    seconds, s = min(good, key=lambda g: g[0])
    return s, seconds, tried


def best_attention(p, model, o, card, folder):
    """The same for attention."""
    off = model.doubt()

    def rank(s, kernel=None):
        doubt = 1 if search_attention.is_measured(p, s) else off
        return doubt * model.seconds(p, s, kernel=kernel), s.persistent, s.a
    good, tried = [], []
    for s in sorted(search_attention.candidates(p), key=rank):
        # What persistent programs of attention save is a constant that nothing was fitted to.
        if s.persistent and not card:
            continue
        if len(good) == o.tries or len(tried) == 3 * o.tries:
            break
        compiled = Compiled(o.build, o.target, p, s, folder)
        tried.append((s, compiled.fault(p, s)))
        if not tried[-1][1]:
            seconds = card.seconds(p, s, compiled, o.target, folder) if card else model.seconds(p, s, kernel=compiled.kernel)
            good.append(((seconds,) if card else rank(s, compiled.kernel), seconds, s))
    if not good:
        return None, None, tried
    _, seconds, s = min(good, key=lambda g: g[0])
    return s, seconds, tried


def best_of_warps(p, o, folder):
    """The same for attention by warps on their own."""
    good, tried, nvdisasm = [], [], wheel() / "nvdisasm"
    for s in search_warps.candidates(p):
        compiled = Compiled(o.build, o.target, p, s, folder)
        if fault := compiled.fault(p, s):
            tried.append((s, fault))
            continue
        seconds, instructions = search_warps.seconds(p, compiled, o.target, nvdisasm)
        good.append((instructions, seconds, s))
    if not good:
        return None, None, tried
    least = min(seconds for _, seconds, _ in good)
    _, seconds, s = min((g for g in good if g[1] <= 1.005 * least), key=lambda g: g[:2])
    return s, seconds, tried


def search_by_stalls(o):
    entries = []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        wanted = [p for p in search_warps.shapes() if o.only in str(p)]
        for p, (s, seconds, tried) in zip(wanted, pool.map(lambda p: best_of_warps(p, o, pathlib.Path(name)), wanted)):
            if not s:
                print(f"{p!s:<34}nothing fits")
                continue
            entries.append(line(p, s))
            print(f"{p!s:<34}{s!s:<45}{p.flops / seconds / 1e12:>9.0f}  {len(tried)} left out", flush=True)
    if o.write:
        found = f"bench/search.py --target {o.target} --write, {datetime.date.today()}, no card: by bench/stalls.py"
        (TABLES / f"{o.target}.json").write_text(table({"attention": found}, {"attention": list(dict.fromkeys(entries))}, o.target))


def search(o):
    card = Card(o.build, o.device, o.log) if o.device else None
    how = f"timed on {card.runtime.info().name.decode()}" if card else \
        "no card: by the model, whose constants are fitted to an H200's times of 2026-11-27"
    file = TABLES / f"{o.target}.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    found_by, parts = dict(before.get("found_by", {})), {}
    for kind, every, find, model in (("products", shapes, best, Model()),
                                     ("attention", search_attention.shapes, best_attention, AttentionModel())):
        if kind not in o.kinds:
            parts[kind] = [line(*read(e)) for e in before.get(kind, [])]
            continue
        print(f"{kind:<34}{'schedule':<45}{'TFLOP/s':>9}  left out")
        entries = []
        with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1 if card else 2) as pool:
            wanted = [p for p in every() if o.only in str(p)]
            for p, (s, seconds, tried) in zip(wanted, pool.map(
                    lambda p: find(p, model, o, card, pathlib.Path(name)), wanted)):
                out = "; ".join(f"{t}: {fault}" for t, fault in tried if fault)
                if not s:
                    print(f"{p!s:<34}nothing fits  {out}")
                    continue
                entries.append(line(p, s))
                print(f"{p!s:<34}{s!s:<45}{p.flops / seconds / 1e12:>9.0f}  {out}", flush=True)
        parts[kind] = list(dict.fromkeys(entries))
        found_by[kind] = f"bench/search.py --target {o.target} --write, {datetime.date.today()}, {how}"
    if o.write:
        file.write_text(table(found_by, parts))


def read(entry):
    """(shape, schedule) of an entry of the table."""
    if "warps" in entry:
        return Attention.of(entry), WarpSchedule.of(entry)
    if "kind" in entry:
        p = Attention.of(entry)
        return p, AttentionSchedule.of(p, entry)
    return Product(entry["rows"], entry["columns"], entry["sum"], entry["beside"]), \
        Schedule(*entry["block"], entry["groups"], entry["together"], entry.get("cluster", 1), entry.get("a", ""))


def check(o):
    """Compiles entries of the table, with the table that is built in."""
    tables = json.loads((TABLES / f"{o.target}.json").read_text())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for entries in (tables[kind] for kind in o.kinds if kind in tables):
            for e in [entries[i * len(entries) // o.check] for i in range(min(o.check, len(entries)))]:
                p, s = read(e)
                fault = Compiled(o.build, o.target, p, None, pathlib.Path(name)).fault(p, s)
                passed, failed = passed + (not fault), failed + bool(fault)
                print(f"{p}: {s}: {fault or 'ok'}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default=TARGET, choices=[TARGET, "sm_80", "sm_86", "sm_89"])
    parser.add_argument("--device", help="a card to time on, such as cuda:0")
    parser.add_argument("--log", type=pathlib.Path, help="what was timed, one line for each kernel")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["products", "attention"])
    parser.add_argument("--clusters", type=lambda text: [int(n) for n in text.split(",")], default=[1],
                        help="programs of a cluster to try: 1, 2, 4, 8")
    parser.add_argument("--tries", type=int, default=3, help="schedules of a shape that are compiled and timed")
    parser.add_argument("--only", default="", help="shapes whose name has this text")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--check", type=int)
    o = parser.parse_args()
    # As artifacts are assembled, by the newest.
    newest = wheel() / "ptxas-blackwell"
    Assembled.ptxas = newest if newest.exists() and o.target == TARGET else None
    if o.check:
        return check(o)
    if not o.fit:
        return search(o) if o.target == TARGET else search_by_stalls(o)
    model = Model()
    print(", ".join(f"{name} {value:.3g}" for name, value in model.fit().items()))
    for (m, n, k, r, c, t, tflops), error in zip(MEASURED, model.errors()):
        print(f"{m}x{n}x{k} in {r}x{c}, {t} together: {tflops:.0f} TFLOP/s, by the model {tflops * error:.0f}")
    model = AttentionModel()
    print("\nattention: " + ", ".join(f"{name} {value:.3g}" for name, value in model.fit().items()))
    for what, tflops, by in model.measured():
        print(f"{what}: {tflops:.0f} TFLOP/s, by the model {by:.0f}")
    print(f"off by {model.doubt() - 1:.1%}; {search_attention.ranks([m[1:] for m in model.measured()]):.0%} of all pairs "
          "are in the order that was measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
