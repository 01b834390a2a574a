#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""warp-groups-mutants.py BUILD [--sample N] [--seeds N] [--only TEXT] [--all] [--at-least PERCENT] [-j N]:
of the kernels of warp-groups-run.py, how many broken ones does the simulator notice?

Their PTX is broken as test/runtime/sim/mutate.py does it, and judged as there: by a check, by the
result, or not. Only mistakes in what synchronises, copies and multiplies, unless --all says otherwise;
kernels with wgmma and a copying role only. First each kernel itself has to run without a finding
under all seeds."""
import argparse
import collections
import concurrent.futures
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
from simulate import MAP_TYPES  # noqa: E402


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
        self.text = (folder / self.entry["file"]).read_text()

    def launch(self, text, folder, seed, most):
        """Exit code, and the first line of what was said."""
        ptx = folder / "mutant.ptx"
        ptx.write_text(text)
        self.kernel.prepare(folder)
        arguments = self.kernel.arguments(folder)
        files = [a.split(":", 1)[1] if not a.startswith("out:") else a.rsplit(":", 1)[1] for a in arguments]

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
                   ",".join(map(str, self.entry["block"])), "--smem", self.entry["shared_bytes"], "--seed", seed,
                   "--threads", 1, "--max-instructions", most, *(x for a in arguments for x in ("--arg", a))]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--at-least", type=float, default=99.0)
    parser.add_argument("-j", type=int, default=2)
    o = parser.parse_args()
    scores, missed, unclean = collections.defaultdict(collections.Counter), [], []
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        compiled = [Compiled(k, o.build, pathlib.Path(name) / str(i))
                    for i, k in enumerate(module(HERE / "warp-groups-run.py").kernels())
                    if o.only in k.name and k.wgmma and "roles" in k.source]
        for c, (verdict, said) in zip(compiled, pool.map(lambda c: c.judge(c.text, o.seeds), compiled)):
            if verdict != "missed":
                unclean.append(f"{c.kernel.name}: {verdict}: {said}")
        opcodes = {c: [s.opcode for s in mutate.statements(c.text, c.entry["entry"]) if s] for c in compiled}
        mutants = [(c, family, f"{c.kernel.name}: {family} #{number}{variant} {opcodes[c][number - 1]}", text)
                   for c in compiled for family, number, variant, text in mutate.mutants_of(c.text, c.entry["entry"])
                   if o.all or family != "delete other"]
        if o.sample:
            mutants = sorted(mutants, key=lambda m: hashlib.sha256(m[2].encode()).hexdigest())[:o.sample]
        for (c, family, label, _), (verdict, _) in zip(mutants, pool.map(lambda m: m[0].judge(m[3], o.seeds), mutants)):
            scores[family][verdict] += 1
            if verdict == "missed":
                missed.append(label)
    everything = sum(scores.values(), collections.Counter())
    mutate.table("family", [*sorted(scores.items()), ("all", everything)])
    print(*(f"missed: {m}" for m in missed), *(f"unclean: {u}" for u in unclean), sep="\n")
    counted = everything["check"] + everything["result"] + everything["missed"]
    noticed = counted - everything["missed"]
    print(f"{noticed} of {counted} noticed, {100 * noticed / max(counted, 1):.1f} %; {len(compiled)} kernels, {o.seeds} seeds, "
          f"{len(unclean)} with findings of their own")
    return not counted or bool(unclean) or 100 * noticed < o.at_least * counted


if __name__ == "__main__":
    sys.exit(main())
