#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches schedules of products for a target, and writes the table that act-opt uses.

    build/venv/bin/python bench/search.py [--build FOLDER] [--target sm_90a] [--write]
                                          [--device cuda:0] [--log FILE] [--only TEXT]
                                          [--clusters 1,2]
    build/venv/bin/python bench/search.py --fit
    build/venv/bin/python bench/search.py --check 5

Shapes are those of the layers of examples/models (4096 tokens; forward, to the input, to
the weight), of their vocabularies in chunks, and of square matrices. What a kernel reads
beside its sum is part of the shape: a residual, a gate, a gradient that it adds to.

A candidate has the rows and columns of a program's block, warp groups that share the rows,
and how many rows of programs start together. Those that have no room are left out: two
stages of operands in shared memory, a thread's sums and what it reads beside them in
registers. With --clusters, programs may also share copies in clusters, of which the model
knows nothing: only a card can prefer them. (On an H200, pairs of programs took 20 to 50 %
longer in a prototype, so they are not tried unless asked for.) The rest is ranked by the
model of `Model`, whose constants are fitted to measurements of kernels of this form (--fit
prints how well). The best are compiled, and what ptxas spills is left out. On a card (--device) they are timed, each as the median of
20 launches, and the fastest wins; without one the model decides. What was timed is kept in
--log, and not timed again.

--write replaces passes/act-to-tile/schedules/TARGET.json; a shape that is not listed gets
the schedule of the nearest one that is (ScheduleTable.h). --check compiles entries of the
table, spread over it, and fails if one is not used as it stands, spills or is refused.

Blocks leave every bit of a result as it is: a product's sum is in the order of its depth.
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

from kernels import ROOT, run, wheel

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


@dataclasses.dataclass(frozen=True)
class Schedule:
    rows: int
    columns: int
    groups: int
    together: int
    cluster: int = 1

    def stages(self):
        """As many as there is room for beside what warps store their results by."""
        return min(4, (SHARED - 4096 * 4 * self.groups - 256) // (2 * STEP * (self.rows + self.columns)))

    def registers(self, beside):
        return self.rows // self.groups * self.columns // 128 * (2 + beside) // 2

    def __str__(self):
        return f"{self.rows}x{self.columns}, {self.groups} groups, {self.together} together" + \
            f", clusters of {self.cluster}" * (self.cluster > 1)


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
        """Constants with the least squared error of the logarithm, by trying neighbours."""
        names = ("stall", "launch")

        def loss():
            return sum(math.log(e)**2 for e in self.errors())
        least, width = loss(), 0.2
        while width > 0.002:
            better = False
            for name, sign in itertools.product(names, (-1, 1)):
                before = getattr(self, name)
                setattr(self, name, before * (1 + sign * width))
                if (now := loss()) < least:
                    least, better = now, True
                else:
                    setattr(self, name, before)
            width = width if better else width / 2
        return {name: getattr(self, name) for name in names}


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
    for (rows, groups), columns, together, cluster in itertools.product(
            ((64, 1), (128, 2), (256, 2), (192, 3)), (64, 96, 128, 160, 192, 224, 256), (1, 4, 8, 16), clusters):
        s = Schedule(rows, columns, groups, together, cluster)
        programs = math.ceil(p.rows / rows) * math.ceil(p.columns / columns)
        if s.stages() >= 2 and s.registers(p.beside) <= GROUP_REGISTERS[groups] and rows <= 2 * p.rows:
            if programs % cluster == 0:
                yield s


def table(found_by, entries):
    """The table's text: one line for each product."""
    lines = ",\n".join(
        f'  {{"rows": {p.rows}, "columns": {p.columns}, "sum": {p.sum}, "beside": {p.beside}, '
        f'"block": [{s.rows}, {s.columns}], "groups": {s.groups}, "together": {s.together}'
        + f', "cluster": {s.cluster}' * (s.cluster > 1) + "}" for p, s in entries)
    return json.dumps({"target": TARGET, "found_by": found_by})[:-1] + f',\n "products": [\n{lines}\n]}}\n'


class Compiled:
    """A product with a schedule, or with the target's own: its PTX, its entry in the index, and what ptxas says."""

    def __init__(self, build, target, p, s, folder):
        stem = re.sub(r"\W+", "-", f"{p} {s or 'own'}")
        self.module, out = folder / f"{stem}.mlir", folder / stem
        self.module.write_text(module(p))
        flags = f"target={target} cache-dir=none"
        self.flags = ""
        if s:
            file = folder / f"{stem}.json"
            file.write_text(table("bench/search.py, a candidate", [(p, s)]))
            self.flags = f"schedules={file}"
        run(build / "bin/act-opt", self.module, f"--emit-ptx=dir={out} {flags} {self.flags}", "-o", "/dev/null")
        [self.entry] = json.loads((out / "index.json").read_text())
        cubin = out / "kernel.cubin"
        said = subprocess.run([wheel() / "ptxas", "-v", "-arch", target, out / self.entry["file"], "-o", cubin],
                              check=True, capture_output=True, text=True)
        self.spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said.stdout + said.stderr)))

    def fault(self, p, s):
        """Why it is not what was asked for; empty if it is."""
        schedule, grid = self.entry["schedule"], math.ceil(p.rows / s.rows) * math.ceil(p.columns / s.columns)
        if (schedule.get("groups"), schedule.get("cluster", 1)) != (s.groups, s.cluster) or self.entry["grid"][0] != grid:
            return f"is planned otherwise: {schedule}, {self.entry['grid'][0]} programs and not {grid}"
        return f"spills {self.spilled} bytes" if self.spilled else ""


def module(p):
    x, w, y = f"tensor<{p.rows}x{p.sum}xbf16>", f"tensor<{p.columns}x{p.sum}xbf16>", f"tensor<{p.rows}x{p.columns}xbf16>"
    names = ["x", "w"] + [f"r{i}" for i in range(p.beside)]
    arguments = ", ".join(f'%{n}: {t} {{act.name = "{n}"}}' for n, t in zip(names, [x, w] + [y] * p.beside))
    lines = [f"  %0 = act.linear %x, %w : ({x}, {w}) -> {y}"]
    lines += [f"  %{i + 1} = act.add %{i}, %r{i} : ({y}, {y}) -> {y}" for i in range(p.beside)]
    return f'func.func @forward({arguments}) -> ({y} {{act.name = "y"}}) {{\n' + "\n".join(lines) + \
        f"\n  return %{p.beside} : {y}\n}}\n"


class Work:
    """A product as bench/card.py runs it."""
    parts = {"product": None}

    def __init__(self, p):
        self.p = p

    def part_of(self, kernel):
        return "product"

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
            with card.Loaded(Work(p), self.runtime, file) as loaded:
                self.known[key] = loaded.times()["product"] / 1e3
            if self.log:
                with self.log.open("a") as out:
                    print(json.dumps({"product": key[0], "schedule": key[1], "seconds": self.known[key]}), file=out)
        return self.known[key]


def best(p, model, o, card, folder):
    """The schedule, its seconds, and lines about those that were tried."""
    # Blocks that were measured come first, unless the model sees more in others than it is off by.
    def rank(s):
        doubt = 1 if any(m[3:5] == (s.rows, s.columns) for m in MEASURED) else 1.03
        return doubt * model.seconds(p, s), -s.rows * s.columns, -s.together, s.cluster
    ranked, tried = sorted(candidates(p, o.clusters), key=rank), []
    good = []
    for s in ranked:
        if len(good) == o.tries or len(tried) == 3 * o.tries:
            break
        if any(t.rows == s.rows and t.columns == s.columns and t.groups == s.groups for t, _ in tried) and not card:
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


def search(o):
    model = Model()
    card = Card(o.build, o.device, o.log) if o.device else None
    entries = []
    print(f"{'product':<26}{'block':<12}{'groups':>7}{'together':>9}{'TFLOP/s':>9}  left out")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1 if card else 2) as pool:
        wanted = [p for p in shapes() if o.only in str(p)]
        for p, (s, seconds, tried) in zip(wanted, pool.map(
                lambda p: best(p, model, o, card, pathlib.Path(name)), wanted)):
            out = "; ".join(f"{t.rows}x{t.columns}, {t.groups}: {fault}" for t, fault in tried if fault)
            if not s:
                print(f"{p!s:<26}nothing fits  {out}")
                continue
            entries.append((p, s))
            print(f"{p!s:<26}{f'{s.rows}x{s.columns}':<12}{s.groups:>7}{s.together:>9}{p.flops / seconds / 1e12:>9.0f}  {out}",
                  flush=True)
    how = f"timed on {card.runtime.info().name.decode()}" if card else \
        "no card: by the model, whose constants are fitted to an H200's times of 2026-11-27"
    if o.write:
        (TABLES / f"{o.target}.json").write_text(table(
            f"bench/search.py --target {o.target} --write, {datetime.date.today()}, {how}", entries))


def check(o):
    """Compiles entries of the table, with the table that is built in."""
    entries = json.loads((TABLES / f"{o.target}.json").read_text())["products"]
    chosen = [entries[i * len(entries) // o.check] for i in range(min(o.check, len(entries)))]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for e in chosen:
            p = Product(e["rows"], e["columns"], e["sum"], e["beside"])
            s = Schedule(*e["block"], e["groups"], e["together"], e.get("cluster", 1))
            fault = Compiled(o.build, o.target, p, None, pathlib.Path(name)).fault(p, s)
            wrong += bool(fault)
            print(f"{p}: {s}: {fault or 'ok'}")
    print(f"{len(chosen) - wrong} passed, {wrong} failed")
    return wrong > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default=TARGET, choices=[TARGET])
    parser.add_argument("--device", help="a card to time on, such as cuda:0")
    parser.add_argument("--log", type=pathlib.Path, help="what was timed, one line for each kernel")
    parser.add_argument("--clusters", type=lambda text: [int(n) for n in text.split(",")], default=[1],
                        help="programs of a cluster to try: 1, 2, 4, 8")
    parser.add_argument("--tries", type=int, default=3, help="schedules of a product that are timed")
    parser.add_argument("--only", default="", help="products whose name has this text")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--check", type=int)
    o = parser.parse_args()
    if o.check:
        return check(o)
    if not o.fit:
        return search(o)
    model = Model()
    print(", ".join(f"{name} {value:.3g}" for name, value in model.fit().items()))
    for (m, n, k, r, c, t, tflops), error in zip(MEASURED, model.errors()):
        print(f"{m}x{n}x{k} in {r}x{c}, {t} together: {tflops:.0f} TFLOP/s, by the model {tflops * error:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
