#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU seconds that act-plan takes for planning problems, one line per instance.

  bench/plan.py [FOLDER] [--tool build/bin/act-plan] [--minimize] [--nodes N]

FOLDER has files NAME.CAPACITY.csv, as the challenging instances published with
MiniMalloc (../shared/data/alloc if none is named; where there is none, this says
so and is content). Every plan is checked here, pair by pair. With --minimize the
lowest arena is looked for, not one of the file's capacity.
"""
import argparse
import csv
import io
import pathlib
import resource
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def planned(tool, file, options):
    """What act-plan wrote, what it said, and its user CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([tool, str(file), *options], capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return run.stdout if run.returncode == 0 else None, run.stderr.strip(), seconds


def height(text):
    """The arena's height, of a plan that is checked by the definition."""
    rows = [{k: int(row[k]) for k in ("lower", "upper", "size", "offset")}
            for row in csv.DictReader(io.StringIO(text))]
    for i, x in enumerate(rows):
        for y in rows[:i]:
            if (x["lower"] < y["upper"] and y["lower"] < x["upper"] and
                    x["offset"] < y["offset"] + y["size"] and
                    y["offset"] < x["offset"] + x["size"]):
                sys.exit(f"two buffers share bytes: {x} {y}")
    return max((r["offset"] + r["size"] for r in rows), default=0)


def live(file):
    """Most bytes alive at one time."""
    rows = list(csv.DictReader(open(file)))
    return max((sum(int(r["size"]) for r in rows
                    if int(r["lower"]) <= t < int(r["upper"]))
                for t in {int(r["lower"]) for r in rows}), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=root / "../shared/data/alloc")
    parser.add_argument("--tool", default=str(root / "build/bin/act-plan"))
    parser.add_argument("--minimize", action="store_true")
    parser.add_argument("--nodes")
    args = parser.parse_args()
    files = sorted(args.folder.glob("*.*.csv")) if args.folder.is_dir() else []
    if not files:
        print(f"no instances NAME.CAPACITY.csv in {args.folder}: nothing is measured")
        return
    print(f"{'instance':<10}{'buffers':>8}{'capacity':>10}{'live':>10}{'height':>10}{'CPU s':>8}")
    total = worst = 0.0
    failed = 0
    for file in files:
        name, capacity = file.name.split(".")[:2]
        options = ["--minimize"] if args.minimize else [f"--capacity={capacity}"]
        if args.nodes:
            options.append(f"--nodes={args.nodes}")
        text, said, seconds = planned(args.tool, file, options)
        total, worst = total + seconds, max(worst, seconds)
        buffers = sum(1 for _ in open(file)) - 1
        line = f"{name:<10}{buffers:>8}{capacity:>10}{live(file):>10}"
        if text is None:
            failed += 1
            print(f"{line}{'none':>10}{seconds:>8.2f}  {said}")
            continue
        note = "" if not args.minimize else "  " + said.split(": ")[1]
        print(f"{line}{height(text):>10}{seconds:>8.2f}{note}")
    print(f"{'total':<48}{total:>8.2f}\n{'worst':<48}{worst:>8.2f}")
    sys.exit(1 if failed else 0)


main()
