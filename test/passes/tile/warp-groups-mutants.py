#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""warp-groups-mutants.py BUILD [--sample N] [--seeds N] [--kernel-seeds N] [--only TEXT] [--all] [--at-least PERCENT]
[--reasons] [-j N]: of the kernels of warp-groups-run.py, how many broken ones does the simulator notice?

Their PTX is broken as test/runtime/sim/mutate.py does it, and judged as there: by a check, by the
result, or not. Only mistakes in what synchronises, copies and multiplies, unless --all says otherwise;
kernels with wgmma and a copying role only. First each kernel has to run without a finding
itself. What the simulator tolerates counts as a finding: these kernels have none.

Mutants that change nothing are counted apart: by the rules of ptx_equivalence.py, which look at the instructions
alone, or listed in warp-groups-equivalent.txt. They are run as well; one that is noticed is an error, as is
a line of the list that no mutant needs."""
import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test/runtime/sim")]
import mutate  # noqa: E402
import ptx_equivalence  # noqa: E402
from simulate import MAP_TYPES  # noqa: E402

MOST_EQUIVALENT = 15  # percent of all


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


class Compiled:
    """A kernel's PTX, and how to launch it."""

    def __init__(self, kernel, build, folder):
        self.kernel, self.sim = kernel, build / "bin/actrt-sim"
        folder.mkdir()
        (folder / "kernel.mlir").write_text(kernel.source)
        subprocess.run([build / "bin/act-opt", folder / "kernel.mlir", f"--emit-ptx=dir={folder} target=sm_90a cache-dir=none",
                        "-o", "/dev/null"], check=True)
        [self.entry] = json.loads((folder / "index.json").read_text())
        # Of a version that knows all mutants: mbarriers may be relaxed.
        self.text = re.sub(r"^\.version \S+", ".version 8.6", (folder / self.entry["file"]).read_text(), count=1, flags=re.M)
        self.arguments = kernel.arguments(folder)  # writes the inputs, which no launch changes

    def launch(self, text, folder, seed, most):
        """Exit code, and the first line of what was said."""
        ptx = folder / "mutant.ptx"
        ptx.write_text(text)
        self.kernel.prepare(folder)
        arguments = []
        for a in self.arguments:
            kind, path = a.rsplit(":", 1)
            arguments.append(a if kind == "in" else f"{kind}:{folder / pathlib.Path(path).name}")
        files = [a.rsplit(":", 1)[1] for a in arguments]

        def outermost_first(numbers):
            return "x".join(map(str, reversed(numbers)))
        for m in self.entry.get("tensor_maps", []):
            arguments.append(f"tma:{files[m['argument']]}:{MAP_TYPES[m['type']]}:box={outermost_first(m['box'])}"
                             f":sizes={outermost_first(m['sizes'])}:strides={outermost_first(m['strides'][1:])}"
                             f":swizzle={m['swizzle']}")
        grid = self.entry["grid"]
        if self.entry["schedule"].get("persistent"):
            cluster = self.entry["schedule"].get("cluster", 1)
            grid = [min(max(1, 3 // cluster) * cluster, grid[0] * grid[1] * grid[2]), 1, 1]
        command = [self.sim, ptx, "--target", "sm_90a", "--grid", ",".join(map(str, grid)), "--block",
                   ",".join(map(str, self.entry["block"])), "--smem", self.entry["shared_bytes"],
                   "--at-once", self.entry.get("at_once", 0), "--seed", seed,
                   "--threads", 1, "--max-instructions", most, "--benign=error",
                   *(["--ordered-sums"] if self.kernel.takes_turns else []), *(x for a in arguments for x in ("--arg", a))]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        return done.returncode, next((line for line in done.stderr.splitlines() if line.strip()), "")

    def judge(self, text, seeds, most=2_000_000):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for seed in range(seeds):
                code, said = self.launch(text, folder, seed, most)
                if code == 2 or "was stopped after" in said:
                    return "check", said
                if code:
                    return "invalid", said
                if not self.kernel.is_right(folder):
                    return "result", "other numbers"
            return "missed", ""


def equivalents():
    """Patterns of names, and reasons."""
    lines = (HERE / "warp-groups-equivalent.txt").read_text().splitlines()
    return dict(line.split(" :: ", 1) for line in lines if line.strip() and not line.startswith("#"))


@dataclasses.dataclass
class Mutant:
    kernel: Compiled
    family: str
    name: str  # for the list: it counts instructions of the same kind, so that it stays when others come or go
    label: str
    text: str
    reason: str  # why it changes nothing, or None


def mutants_of(c, listed, everything):
    flow = ptx_equivalence.Flow(c.text, c.entry["entry"])
    nth, seen = [], collections.Counter()
    for s in flow.all:
        seen[s.opcode] += 1
        nth.append(f"{s.opcode} {seen[s.opcode]}")
    for family, number, variant, text in mutate.mutants_of(c.text, c.entry["entry"]):
        if everything or family != "delete other":
            name = f"{c.kernel.name}: {family}{variant} {nth[number - 1]}"
            reason = ptx_equivalence.reason(flow, family, number, variant)
            if not reason:
                reason = next((p for p in listed if fnmatch.fnmatchcase(name, p)), None)
            yield Mutant(c, family, name, f"{name}, #{number}", text, reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--kernel-seeds", type=int, default=20, help="for the kernels themselves")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--at-least", type=float, default=99.0, help="percent to be noticed")
    parser.add_argument("--reasons", action="store_true", help="how many change nothing for which reason")
    parser.add_argument("-j", type=int, default=2)
    o = parser.parse_args()
    listed = equivalents()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        compiled = [Compiled(k, o.build, pathlib.Path(name) / str(i))
                    for i, k in enumerate(module(HERE / "warp-groups-run.py").kernels()) if o.only in k.name]
        judged = pool.map(lambda c: c.judge(c.text, o.kernel_seeds), compiled)
        unclean = [f"{c.kernel.name}: {verdict}: {said}" for c, (verdict, said) in zip(compiled, judged) if verdict != "missed"]
        mutants = [m for c in compiled if c.kernel.wgmma and "roles" in c.kernel.source for m in mutants_of(c, listed, o.all)]
        if o.sample:
            mutants = sorted(mutants, key=lambda m: hashlib.sha256(m.label.encode()).hexdigest())[:o.sample]
        # A look at those that are said to change nothing, in case the simulator knows better.
        verdicts = [v for v, _ in pool.map(lambda m: m.kernel.judge(m.text, 2 if m.reason else o.seeds), mutants)]
    return report(o, mutants, verdicts, unclean, listed, len(compiled))


def report(o, mutants, verdicts, unclean, listed, kernels):
    scores, reasons = collections.defaultdict(collections.Counter), collections.Counter()
    missed, wrong = [], []
    for m, verdict in zip(mutants, verdicts):
        if m.reason and verdict in ("check", "result"):
            wrong.append(f"said to change nothing, but noticed: {m.label}: {m.reason}")
        elif m.reason and verdict == "missed":
            verdict = "equivalent"
            reasons[m.reason if m.reason not in listed else "one of the list"] += 1
        scores[m.family][verdict] += 1
        if verdict == "missed":
            missed.append(f"missed: {m.label}")
    whole = not o.sample and not o.only
    if whole:
        wrong += [f"listed, but no mutant: {p}" for p in listed if not any(m.reason == p for m in mutants)]
    everything = sum(scores.values(), collections.Counter())
    mutate.table("family", [*sorted(scores.items()), ("all", everything)])
    counted = everything["check"] + everything["result"] + everything["missed"]
    noticed = counted - everything["missed"]
    if whole and 100 * everything["equivalent"] > MOST_EQUIVALENT * len(mutants):
        wrong.append(f"more than {MOST_EQUIVALENT} % change nothing")
    print(*(f"{count:5} {why}" for why, count in reasons.most_common() if o.reasons), *missed,
          *(f"unclean: {u}" for u in unclean), *wrong, sep="\n")
    print(f"{noticed} of {counted} noticed, {100 * noticed / max(counted, 1):.1f} %; {len(mutants)} mutants; {kernels} kernels, "
          f"{len(unclean)} with findings of their own")
    return not counted or bool(unclean) or bool(wrong) or 100 * noticed < o.at_least * counted


if __name__ == "__main__":
    sys.exit(main())
