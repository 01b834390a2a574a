#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz.py BUILD [--seconds S | --hours H | --count N] [--seed N] [--only KIND,..]
[--case KIND:NUMBER] [--schedules N] [--keep DIR] [--log FILE]: random kernels on blocks,
on the simulator in several orders and on the host.

The kernels are those of the sweep, stranger ones (sweep/wild.py), and, as kind
`damaged`, the text of either with words exchanged or damaged. Of kind `resized` are either
with names for extents, with their own sizes and with others. Case i of a kind is a function of
(seed, kind, i) alone. What is a finding:

  - a compiler or a launch that ends by a signal, or does not end;
  - an error without a place in the file;
  - a finding of the simulator, on an undamaged kernel;
  - an element of a result that the simulator or the host has other than the
    reference says, whose bound is 0 where all roundings are exact: so both devices
    are compared, bit by bit where they must agree;
  - an undamaged kernel that the simulator takes and the host does not.

Refusals with a place are counted, and the log ends with them. The exit status says
whether nothing was found.
"""
import argparse
import collections
import concurrent.futures
import importlib.util
import pathlib
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "sweep"))
sys.path.insert(0, str(HERE))
import kernels  # noqa: E402
import sweep  # noqa: E402
import wild  # noqa: E402

PLACE = re.compile(r"k\.mlir:\d+:\d+: |k\.mlir: |parameters, but")
NUMBERS = ["0", "-1", "1", "2", "3", "5", "7", "8", "16", "31", "64", "100", "1024", "?", "-3", "4294967296"]
TYPES = ["f32", "f64", "bf16", "f16", "i1", "i8", "i16", "i32", "i64", "index", "f8E4M3FN", "f8E5M2", "i7", "tensor<16xf32>",
         "tensor<8x16xbf16>", "tensor<1xi1>", "tensor<0xf32>", "tensor<f32>", "vector<4xf32>", "memref<4xf32>",
         "!tile.ptr<f32>", "!tile.view<8x4xf32>", "!tile.view<?x?xbf16>", "tensor<8xindex>", "none",
         "!tile.view<8x4xf32, strides = [1, ?]>", "!tile.shared<8x8xf32>"]
ATTRIBUTES = ["neg_inf", "nan", "1.0e308", "dense<1> : tensor<4xi32>", "dense<[1, 2]> : tensor<2xi32>",
              "#tile.schedule<warps = 3>", "#tile.schedule<warps = 32, stages = 9>", "array<i64: 0, 1, 1>", "x", "y", "z"]


def damager():
    """test/fuzz/mlir-text.py, with words of kernels and numbers that can be compiled."""
    spec = importlib.util.spec_from_file_location("mlir_text", HERE.parent.parent / "fuzz/mlir-text.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.NUMBERS, module.TYPES, module.ATTRIBUTES = NUMBERS, TYPES, ATTRIBUTES
    return module


TEXT = damager()
# What may differ between devices: order of sums, functions, what the ops leave open.
INEXACT = re.compile(r"math\.|tile\.dot|reduce (add|mul)|scan (add|mul)|fpto|arith\.sh|arith\.remf|bitcast|atomic_add|tile\.reduce %")
DIVISION = re.compile(r"arith\.(?:(?:ceil|floor)?div|rem)[su]i %\w+, (%\w+)")


def may_differ(text):
    """Also a quotient by what may be 0, or of the smallest number by -1."""
    return INEXACT.search(text) or any(
        not re.search(rf"{m.group(1)} = arith\.constant (dense<)?(?!-1\b)-?[1-9]", text) for m in DIVISION.finditer(text))


# Words that often stand for each other: what is made so is valid more often.
ALIKE = [["f32", "f64", "f16", "bf16"], ["i1", "i8", "i16", "i32", "i64"],
         ["arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf", "arith.minnumf", "math.powf",
          "math.copysign", "math.atan2"],
         ["arith.addi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi", "arith.ceildivsi",
          "arith.minui", "arith.maxsi", "math.ipowi"], ["arith.shli", "arith.shrsi", "arith.shrui"],
         ["math.exp", "math.exp2", "math.log", "math.sqrt", "math.rsqrt", "math.tanh", "math.sin", "math.erf", "math.floor",
          "math.absf", "math.tan", "math.sinh", "math.cbrt", "math.log10", "arith.negf", "math.isnan", "math.acosh"],
         ["math.absi", "math.ctpop", "math.ctlz", "math.cttz"],
         ["arith.extf", "arith.truncf", "arith.bitcast", "arith.sitofp", "arith.fptosi", "arith.extsi", "arith.trunci",
          "arith.index_cast", "arith.fptoui"],
         ["add", "max", "min", "mul", "and", "or"], ["x", "y", "z"], ["0", "1"], ["tile.reduce", "tile.scan"],
         ["tile.store", "tile.atomic_add"], ["tile.trans", "tile.split"], ["scf.for", "scf.if", "scf.while"],
         ["warps = 1", "warps = 2", "warps = 3", "warps = 4", "warps = 16", "warps = 32", "warps = 64"],
         ["stages = 1", "stages = 2", "stages = 5", "stages = 9"], ["copy = 1", "copy = 2", "copy = 3", "copy = 40"]]


def exchange_words(text, r):
    """The text with words in place of others like them, everywhere or at one place."""
    for _ in range(r.choice([1, 1, 2, 3])):
        groups = [[w for w in words if re.search(rf"(?<![\w.]){re.escape(w)}(?![\w.])", text)] for words in ALIKE]
        there = [(i, w) for i, words in enumerate(groups) for w in words]
        if not there:
            break
        i, old = r.choice(there)
        new = r.choice(ALIKE[i])
        places = list(re.finditer(rf"(?<![\w.]){re.escape(old)}(?![\w.])", text))
        if r.random() < 0.5 or old in ("x", "0", "1"):
            places = [r.choice(places)]
        for m in reversed(places):
            text = text[:m.start()] + new + text[m.end():]
    # tensor<8x16xf32>: the word is at the end of another one.
    if r.random() < 0.3:
        types = ALIKE[0] + ALIKE[1]
        old, new = r.choice(types), r.choice(types)
        text = re.sub(rf"(?<=x){old}(?=[>,])", new, text)
        text = re.sub(rf"(?<![\w.]){old}(?![\w.])", new, text)
    return text


WHOLE = {**kernels.FAMILIES, **wild.FAMILIES}
KINDS = [*WHOLE, *["damaged"] * 8, *["resized"] * 4]
ACCESS = re.compile(r"tile\.(?:load|store|atomic_add)[^\n]*?\]")
EXTENT = re.compile(r" : (\d+)(?=[,\]])")


def name_extents(text):
    """The text with a name for each number that is an extent of an access, and these names' sizes."""
    sizes = {}

    def name(match):
        sizes[f"E{match[1]}"] = int(match[1])
        return f" : E{match[1]} = {match[1]}"
    text = ACCESS.sub(lambda access: EXTENT.sub(name, access[0]), text)
    given = ", ".join(f"{n} = {size}" for n, size in sizes.items())
    return re.sub(r"kernel attributes \{", f"kernel attributes {{tile.block_sizes = {{{given}}}, ", text, count=1), sizes


def program_of(family, rng):
    program = WHOLE[family](rng)
    program.expect()
    return program


def rng_of(seed, kind, number):
    return np.random.default_rng([seed, zlib.crc32(kind.encode()), number])


def verdict(status, said):
    """'ok', 'refused', or what is wrong."""
    if status == 0:
        return "ok"
    lines = [line for line in said.splitlines() if line.strip()]
    text = "\n    ".join(lines[:6])
    if status == 1 and PLACE.search(said):
        return "refused"
    return text if status is None else f"exit {status}: {text}"


def refusal(said):
    """The message without what differs from kernel to kernel."""
    line = next((line for line in said.splitlines() if "error" in line), said)
    line = re.sub(r".*k\.mlir(:\d+:\d+)?: ", "", line)
    return re.sub(r"%?\d+", "N", re.sub(r"(tensor|!tile\.view)<[^>]*>", "T", line))[:110]


class Case:
    """One kernel: what is found, how many numbers were compared, what was refused."""

    def __init__(self, options, kind, number, folder):
        self.o, self.kind, self.number, self.folder = options, kind, number, folder
        self.rng = rng_of(options.seed, kind, number)
        self.target = sweep.pick_target(self.rng)
        self.found, self.compared, self.refusals, self.ran = None, 0, [], 0

    def devices(self):
        seeds = [int(s) for s in self.rng.integers(0, 1 << 30, self.o.schedules)]
        return [(f"{self.target}, seed {s}", ["--target", self.target, "--seed", str(s)]) for s in seeds] + [
            ("host", ["--device", "host"])]

    def run(self):
        if self.kind == "damaged":
            self.damaged()
        elif self.kind == "resized":
            self.resized()
        else:
            program = program_of(self.kind, self.rng)
            self.whole(program, program.text())

    def whole(self, program, text):
        (self.folder / "k.mlir").write_text(text)
        taken = False
        for name, device in self.devices():
            status, said = sweep.launch(self.o.act_run, program, device, self.folder, self.o.timeout)
            what = verdict(status, said)
            if what == "refused":
                self.refusals.append(f"{name.split(',')[0]}: {refusal(said)}")
                if name == "host" and taken:
                    self.found = f"host refuses what the simulator runs: {refusal(said)}"
                continue
            if what == "ok":
                taken = True
                self.ran += 1
                what, count = sweep.wrong(program, self.folder)
                self.compared += count
            if what:
                self.found = f"{name}: {what}"
                return

    def damaged(self):
        family = list(WHOLE)[int(self.rng.integers(len(WHOLE)))]
        program, taken = program_of(family, self.rng), 0
        text = program.text()
        r = random.Random(int(self.rng.integers(1 << 60)))
        pool = sorted({t for t in TEXT.TOKEN.findall(text) if t.strip()})
        if r.random() < 0.6:
            text = exchange_words(text, r)
        else:
            text = TEXT.damage(text, r, pool, [t for t in pool if t[0].isdigit()] or ["1"])
        (self.folder / "k.mlir").write_text(text)
        for name, device in [self.devices()[0], self.devices()[-1]]:
            command = [self.o.act_run, "kernel", str(self.folder / "k.mlir"), *device, "--cache-dir", "none",
                       "--threads", "1", "--max-instructions", "1000000"]
            (self.folder / "command").write_text(" ".join(command) + "\n")
            status, said = sweep.run(command, self.o.timeout)
            what = verdict(status, said)
            if what in ("ok", "refused") or status == 2:  # 2: a kernel that races is one
                compiled = what != "refused" or "parameters, but" in said
                taken += compiled
                if not compiled:
                    self.refusals.append(f"damaged, {name.split(',')[0]}: {refusal(said)}")
                continue
            self.found = f"{name}: {what}"
            return
        self.ran += taken
        if taken == 2:
            self.same(program, text)

    def resized(self):
        """Names change nothing; with other sizes both devices say the same."""
        family = list(WHOLE)[int(self.rng.integers(len(WHOLE)))]
        program = program_of(family, self.rng)
        text, sizes = name_extents(program.text())
        self.whole(program, text)
        if self.found or not sizes:
            return
        r = random.Random(int(self.rng.integers(1 << 60)))
        names = r.sample(sorted(sizes), r.randint(1, len(sizes)))
        self.same(program, text, "--block-size", ",".join(
            f"{name}={r.choice([1, 2, 3, 5, 8, 16, 31, 32, 48, 64, 128, 2 * sizes[name], max(1, sizes[name] // 2)])}" for name in names))

    def same(self, program, text, *options):
        """Both devices on the arrays that the kernel had before it was changed."""
        results = []
        for name, device in [self.devices()[0], self.devices()[-1]]:
            limit = ["--max-instructions", "100000000" if options else "10000000"]
            status, said = sweep.launch(self.o.act_run, program, [*device, *options, *limit], self.folder, self.o.timeout)
            refused = options and verdict(status, said) == "refused"
            if refused:
                self.refusals.append(f"{options[0]}: {refusal(said)}")
                return
            if status not in (0, 1, 2) or options and status == 1:
                self.found = f"{name}, with arguments: {verdict(status, said)}"
                return
            if status:  # other arguments, a race, an array that is too small
                return
            results.append([np.load(self.folder / f"{i}.npy") for i, a in enumerate(program.arguments)
                            if isinstance(a, sweep.Array)])
        # A damaged combiner may be any function: then a scan depends on its order.
        if may_differ(text) or (not options and "tile.scan %" in text):
            return
        for i, (a, b) in enumerate(zip(*results)):
            t = [a for a in program.arguments if isinstance(a, sweep.Array)][i].dtype
            if str(t) not in text:
                return  # the kernel says what the array's bytes are; another type here
            x, y = (sweep.from_file(v, t) for v in (a, b))
            equal = (x == y) | ((x != x) & (y != y))
            self.compared += equal.size
            if not equal.all():
                at = int(np.argwhere(~equal)[0][0])
                self.found = f"{int((~equal).sum())} elements of array {i} ({t}) differ, at {at}: {x[at]} on sim, {y[at]} on host"
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0, help="of processor time")
    parser.add_argument("--hours", type=float, default=0, help="of processor time")
    parser.add_argument("--count", type=int, default=0, help="kernels in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=2, help="orders that the simulator tries")
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--case", help="KIND:NUMBER")
    parser.add_argument("--timeout", type=float, default=120, help="processor seconds of one run")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what is found")
    parser.add_argument("--log", type=pathlib.Path, help="the output, too")
    parser.add_argument("-j", type=int, default=2)
    o = parser.parse_args()
    o.act_run = str(o.build / "bin/act-run")
    budget = o.seconds + 3600 * o.hours
    if not (budget or o.count or o.case):
        parser.error("expected --seconds, --hours, --count or --case")
    log = o.log.open("w") if o.log else None
    work = pathlib.Path(tempfile.mkdtemp(prefix="act-tile-fuzz-"))

    def say(text):
        print(text, flush=True)
        if log:
            print(text, file=log, flush=True)

    def spent():
        a, b = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
        return a.ru_utime + a.ru_stime + b.ru_utime + b.ru_stime

    def cases():
        if o.case:
            kind, number = o.case.split(":")
            yield kind, int(number)
            return
        kinds, numbers, done = o.only.split(","), collections.Counter(), 0
        while not o.count or done < o.count:
            kind = kinds[done % len(kinds)]
            yield kind, numbers[kind]
            numbers[kind] += 1
            done += 1

    def one(kind, number):
        folder = work / f"{kind}-{number}"
        folder.mkdir()
        case = Case(o, kind, number, folder)
        case.run()
        if case.found and o.keep:
            shutil.copytree(folder, o.keep / f"{kind}-{number}", dirs_exist_ok=True)
        shutil.rmtree(folder)
        return case

    ended = collections.Counter()
    refusals, started = collections.Counter(), time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
            waiting, source = set(), cases()
            while True:
                while len(waiting) < 2 * o.j and not (budget and spent() > budget):
                    case = next(source, None)
                    if case is None:
                        break
                    waiting.add(pool.submit(one, *case))
                if not waiting:
                    break
                ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ready:
                    case = future.result()
                    ended["kernels"] += 1
                    ended["damaged"] += case.kind == "damaged"
                    ended["runs"] += case.ran
                    ended["numbers"] += case.compared
                    refusals.update(case.refusals)
                    if case.found:
                        ended["found"] += 1
                        say(f"FOUND {case.kind}:{case.number} (--seed {o.seed}) {case.found}")
    except KeyboardInterrupt:
        pass  # what was seen until here
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for text, n in refusals.most_common(12):
        say(f"refused {n} times: {text}")
    say(f"{ended['kernels']} kernels, {ended['damaged']} of them damaged, {ended['runs']} compiled and run, "
        f"{ended['numbers']} numbers compared, {spent():.0f} processor seconds, "
        f"{time.monotonic() - started:.0f} s; {ended['found']} findings, seed {o.seed}")
    return 1 if ended["found"] or not ended["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
