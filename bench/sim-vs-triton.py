#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same block programs in the simulator and in Triton's interpreter.

    build/venv/bin/python bench/sim-vs-triton.py [--build FOLDER] [--rounds N] [--only NAME]
                                                 [--processor-time]

Both run an attention forward of one head (1024 x 1024 x 64) and a matrix product
(256 x 256 x 512), as programs.py beside the simulator's tests has them, in f16: of
bf16 the interpreter of Triton 3.9 multiplies the codes. It runs the programs block by
block with numpy (TRITON_INTERPRET=1); the simulator runs the PTX that Triton's
compiler makes of them for sm_80, which needs no GPU. The smaller the blocks, the more
of the interpreter's time is its own; the larger, the more is numpy's.

What is timed (with --processor-time in processor seconds, which a busy machine
does not change): for the interpreter the launch, after one that is not counted; for
the simulator the whole of actrt-sim, reading and writing files included. Both may
use all cores of this process. They take turns, and the medians over the rounds
count. Results are compared, so that a fast wrong answer does not win.

Needs actrt-sim and the packages torch, triton and numpy.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from triton_programs import PROGRAMS, compile_program

ROOT = Path(__file__).resolve().parent.parent
LENGTH, D, SCALE = 1024, 64, 0.18
M, N, K = 256, 256, 512
# name → (program, constants, warps)
WORK = {f"attention {bm}x{bn}": ("attention", dict(D=D, BM=bm, BN=bn, CAUSAL=False), 4)
        for bm, bn in ((64, 32), (64, 64), (128, 64))}
WORK |= {f"matmul {b}x{b}x{b}": ("matmul", dict(BM=b, BN=b, BK=b), 4) for b in (32, 64)}


def compile_to_ptx(folder):
    """Runs in a process of its own, in which the programs are not interpreted."""
    for name, (program, constants, warps) in WORK.items():
        kernel = compile_program(program, constants, "fp16", "sm_80", num_warps=warps)
        (folder / f"{name}.ptx").write_text(kernel.asm["ptx"])
        (folder / f"{name}.smem").write_text(str(kernel.metadata.shared))


def processor_seconds():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class Both:
    """One of WORK, ready to run either way."""

    def __init__(self, name, folder, sim, clock):
        import numpy as np
        import programs
        import torch
        self.np, self.sim, self.clock, self.folder, self.name = np, sim, clock, folder, name
        self.program, self.constants, self.warps = WORK[name]
        self.function = getattr(programs, self.program)
        torch.manual_seed(0)
        if self.program == "attention":
            shapes, result = [(1, LENGTH, D)] * 3, (1, LENGTH, D)
            self.grid, self.scalars = (LENGTH // self.constants["BM"], 1), [LENGTH, SCALE]
            self.spare = [torch.empty(1, LENGTH)]
        else:
            shapes, result = [(M, K), (K, N)], (M, N)
            self.grid, self.scalars = (M // self.constants["BM"], N // self.constants["BN"]), [M, N, K]
            self.spare = []
        self.inputs = [torch.randn(s).to(torch.float16) for s in shapes]
        self.out = torch.empty(result)
        for i, x in enumerate(self.inputs):
            np.save(folder / f"in{i}.npy", x.numpy())

    def interpret(self):
        start = self.clock()
        self.function[self.grid](*self.inputs, self.out, *self.spare, *self.scalars, **self.constants)
        return self.clock() - start

    def simulate(self, checks):
        def shape(t):
            return ",".join(map(str, t.shape))
        words = [f"in:{self.folder}/in{i}.npy" for i in range(len(self.inputs))]
        words += [f"out:f32[{shape(self.out)}]:{self.folder}/out.npy"]
        words += [f"out:f32[{shape(t)}]:{self.folder}/spare.npy" for t in self.spare]
        words += [f"{'f32' if isinstance(s, float) else 'i32'}:{s}" for s in self.scalars] + ["ptr:0", "ptr:0"]
        line = [self.sim, self.folder / f"{self.name}.ptx", "--target", "sm_80", "--kernel", self.program,
                "--grid", ",".join(map(str, self.grid)), "--block", str(32 * self.warps),
                "--smem", (self.folder / f"{self.name}.smem").read_text(), "--checks", checks]
        for w in words:
            line += ["--arg", w]
        start = self.clock()
        done = subprocess.run(line, capture_output=True, text=True)
        took = self.clock() - start
        if done.returncode:
            sys.exit(f"actrt-sim on {self.name}: exit {done.returncode}\n{done.stderr}")
        got = self.np.load(self.folder / "out.npy")
        worst = abs(got - self.out.numpy()).max() / abs(self.out.numpy()).max()
        if not worst < 0.02:
            sys.exit(f"{self.name}: the results differ by {worst:.3g} of the largest value")
        return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--compile", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        return compile_to_ptx(options.compile)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # triton's compiler wants a cache folder; this one is gone afterwards.
        subprocess.run([sys.executable, __file__, "--compile", folder], check=True,
                       env=dict(os.environ, TRITON_CACHE_DIR=str(folder / "cache")))
        clock = processor_seconds if options.processor_time else time.perf_counter
        os.environ["TRITON_INTERPRET"] = "1"
        sys.path.insert(0, str(PROGRAMS))
        print(f"{'':22}{'interpreter':>13}{'all checks':>12}{'ratio':>7}{'no checks':>12}{'ratio':>7}")
        for name in WORK:
            if options.only not in name:
                continue
            both = Both(name, folder, options.build / "bin" / "actrt-sim", clock)
            both.interpret()
            times = [(both.interpret(), both.simulate("all"), both.simulate("none"))
                     for _ in range(options.rounds)]
            theirs, checked, plain = (statistics.median(t) for t in zip(*times))
            print(f"{name:22}{theirs:11.3f} s{checked:10.3f} s{theirs / checked:7.1f}"
                  f"{plain:10.3f} s{theirs / plain:7.1f}", flush=True)


if __name__ == "__main__":
    main()
