#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast budgets are planned, and how far from the least recomputation.

  bench/budgets.py [CONFIG.json...] [--seq 4096] [--bin build/bin]

For each model (Llama-3.1-8B, -70B and -405B if none is named), budgets between the
smallest feasible one and the peak without recomputation, evenly in the logarithm.
Seconds are of the processor, of the whole act-opt, the report included.
"""
import argparse
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
MODELS = [root / f"examples/models/llama-3.1-{n}.json" for n in ("8b", "70b", "405b")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="*", type=pathlib.Path, default=MODELS)
    parser.add_argument("--seq", default="4096")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
    args = parser.parse_args()
    print(f"{'model':<18}{'budget':>10}{'peak':>10}{'recompute':>12}{'optimal within':>16}{'CPU s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "m.mlir")
        for config in args.configs:
            run = subprocess.run([args.bin / "act-import", config, "--batch", "1", "--seq", args.seq,
                                  "-o", model], capture_output=True, text=True)
            if run.returncode:
                sys.exit(run.stderr)

            def opt(policy):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                run = subprocess.run([args.bin / "act-opt", model, "--fuse-attention", f"--remat={policy}",
                                      "--memory-report=format=json", "-o", "/dev/null"],
                                     capture_output=True, text=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                return run.stdout + run.stderr, seconds

            least = int(re.search(r"smallest feasible budget known is (\d+)", opt("budget=1")[0])[1])
            most = int(re.search(r'"peak_bytes": (\d+)', opt("none")[0])[1])
            for i in range(args.steps):
                budget = round(least * (most / least) ** (i / args.steps))
                text, seconds = opt(f"budget={budget}")
                peak = int(re.search(r'"peak_bytes": (\d+)', text)[1])
                note = re.search(r"recompute \+([\d.]+ %), optimal within ([\d.]+ %)", text)
                print(f"{config.stem:<18}{budget / 1e9:>7.2f} GB{peak / 1e9:>7.2f} GB{'+' + note[1]:>12}"
                      f"{note[2]:>16}{seconds:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
