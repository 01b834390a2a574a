#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""skip-empty-dots-run.py FOLDER: @table of skip-empty-dots.mlir on the simulator.

256 tokens in blocks of 32 add up rows of a table of 128, which two programs have
half each. Numbers are small integers, so sums are exact in any order."""
import json
import pathlib
import subprocess
import sys

import numpy as np

TABLE = pathlib.Path(__file__).with_name("skip-empty-dots.mlir")
rng = np.random.default_rng(3)


def run(folder, ids):
    """(sums as expected?, dots made)"""
    gradient = rng.integers(-8, 9, (256, 16)).astype(np.float32)
    np.save(folder / "gradient.npy", (gradient.view(np.uint32) >> 16).astype(np.uint16))
    np.save(folder / "ids.npy", ids.astype(np.int32))
    done = subprocess.run(
        ["act-run", "kernel", TABLE, "--entry", "table", "--cache-dir", "none", "--json",
         "--arg", f"in:{folder / 'gradient.npy'}", "--arg", f"in:{folder / 'ids.npy'}",
         "--arg", f"out:f32[128,16]:{folder / 'out.npy'}"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    want = np.zeros((128, 16), np.float32)
    inside = (ids >= 0) & (ids < 128)
    np.add.at(want, ids[inside], gradient[inside])
    flops = json.loads(done.stdout)["counters"]["tensor_flops"].get("bf16", 0)
    return np.array_equal(np.load(folder / "out.npy"), want), flops / (2 * 64 * 32 * 16)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
far = np.full(256, 1000)
cases = {"none": far, "negative": np.full(256, -1), "every": rng.integers(0, 128, 256),
         "ends": far.copy(), "past the ends": far.copy(), "two": far.copy()}
cases["ends"][[0, 40, 70, 255]] = [0, 63, 64, 127]  # of each program's half
cases["past the ends"][[0, 40]] = [128, -1]
cases["two"][[5, 6, 200]] = [3, 3, 70]
expected = {"none": 0, "negative": 0, "every": 16, "ends": 4, "past the ends": 0, "two": 2}
wrong = 0
for name, ids in cases.items():
    right, dots = run(folder, ids)
    if not right or dots != expected[name]:
        wrong += 1
        print(f"{name}: sums {'right' if right else 'wrong'}, {dots} dots of {expected[name]}")
sys.exit(wrong > 0)
