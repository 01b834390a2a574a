#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well, and how fast, the arenas of training steps are planned.

  bench/plan-models.py [CONFIG.json...] [--bin build/bin]

Each model (those of examples/models if none is named) is imported for one sequence
and for two of 512 tokens, with attention fused and not, and differentiated under every
policy; act-opt plans its arena. The buffers are then planned by act-plan alone, for its
user CPU seconds. A line sums up a model; an arena above its bound is named.
"""
import argparse
import csv
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
POLICIES = ["none", "selective", "attention", "attention-core", "layer", "sqrt",
            "segments=3", "segments=8"]
BUFFER = re.compile(r'\{bytes = (\d+) : i64, first = (\d+) : i64, last = (\d+) : i64, name = "([^"]*)"')
TOTAL = re.compile(r"act\.plan = \{arena_bytes = (\d+).*?lower_bound_bytes = (\d+)", re.S)


def call(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def seconds(tool, file):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = call(tool, file, "--minimize", "--json")
    assert run.returncode == 0, run.stderr
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="*", type=pathlib.Path,
                        default=sorted((root / "examples/models").glob("*.json")))
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
    args = parser.parse_args()
    print(f"{'model':<22}{'arenas':>7}{'at bound':>9}{'buffers, at most':>17}{'worst CPU s':>12}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        model, step, problem = (pathlib.Path(folder) / n for n in ("m.mlir", "s.mlir", "p.csv"))
        for config in args.configs:
            arenas = tight = most = 0
            worst = 0.0
            for shape in (["--batch", 1], ["--batch", 2, "--seq", 512]):
                run = call(args.bin / "act-import", config, *shape, "-o", model)
                if run.returncode:
                    print(f"{config.stem:<22}{run.stderr.strip().split(': ')[-1]}")
                    break
                for fuse in (["--fuse-attention"], []):
                    for policy in POLICIES:
                        run = call(args.bin / "act-opt", model, *fuse, "--autodiff",
                                   f"--remat={policy}", "--optimizer=adamw", "--form-kernels",
                                   "--plan-memory", "-o", step)
                        if run.returncode:
                            sys.exit(run.stderr)
                        text = step.read_text()
                        arena, bound = map(int, TOTAL.search(text).groups())
                        buffers = BUFFER.findall(text)
                        with open(problem, "w", newline="") as f:
                            rows = csv.writer(f)
                            rows.writerow(["id", "lower", "upper", "size"])
                            for size, first, last, name in buffers:
                                rows.writerow([name, first, int(last) + 1, -(-int(size) // 64) * 64])
                        time, plan = seconds(args.bin / "act-plan", problem)
                        assert plan["height"] == arena, (plan["height"], arena)
                        arenas, tight = arenas + 1, tight + (arena == bound)
                        most, worst = max(most, len(buffers)), max(worst, time)
                        if arena > bound:
                            missed += 1
                            print(f"  {config.stem} {' '.join(map(str, shape + fuse))} {policy}: "
                                  f"{arena} bytes, bound {bound}")
            if arenas:
                print(f"{config.stem:<22}{arenas:>7}{tight:>9}{most:>17}{worst:>12.3f}")
    sys.exit(1 if missed else 0)


main()
