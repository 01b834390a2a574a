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
does not change): the launch, in this process, after one that is not counted; on the
simulator's side through the C interface of libact_runtime. Both may use all cores.
They take turns, and the medians over the rounds count. Results are compared, so that
a fast wrong answer does not win.

Needs libact_runtime and the packages torch, triton and numpy.
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
sys.path.insert(0, str(ROOT / "test/python"))
from actrt import F32, I32, POINTER, TO_HOST, Runtime  # noqa: E402

LENGTH, D, SCALE = 1024, 64, 0.18
M, N, K = 256, 256, 512
# name → (program, constants, warps)
WORK = {f"attention {bm}x{bn}": ("attention", dict(D=D, BM=bm, BN=bn, CAUSAL=False, APART=False), 4)
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

    def __init__(self, name, folder, library, clock):
        import numpy as np
        import programs
        import torch
        self.np, self.clock, self.name = np, clock, name
        self.program, self.constants, warps = WORK[name]
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
        self.threads = 32 * warps
        self.shared_bytes = int((folder / f"{name}.smem").read_text())
        ptx = (folder / f"{name}.ptx").read_bytes()
        self.devices = {checks: Runtime(library, 0, "sim:sm_80", checks) for checks in (True, False)}
        self.kernels = {checks: d.function(ptx, self.program) for checks, d in self.devices.items()}
        self.memory = {checks: [d.allocate(x.numpy()) for x in self.inputs] +
                       [d.allocate(x.numpy(), False) for x in (self.out, *self.spare)]
                       for checks, d in self.devices.items()}

    def interpret(self):
        start = self.clock()
        self.function[self.grid](*self.inputs, self.out, *self.spare, *self.scalars, **self.constants)
        return self.clock() - start

    def simulate(self, checks):
        device, memory = self.devices[checks], self.memory[checks]
        # Triton's kernels take two pointers more, to scratch memory.
        arguments = [(POINTER, m) for m in memory]
        arguments += [(F32 if isinstance(s, float) else I32, s) for s in self.scalars]
        arguments += [(POINTER, None)] * 2
        start = self.clock()
        device.launch(self.kernels[checks], self.grid, (self.threads,), self.shared_bytes, arguments)
        device.synchronize()
        took = self.clock() - start
        got = self.np.empty_like(self.out.numpy())
        device.copy(memory[len(self.inputs)], got, TO_HOST)
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
        library = options.build / "lib" / "libact_runtime.so"
        print(f"{'':22}{'interpreter':>13}{'all checks':>12}{'ratio':>7}{'no checks':>12}{'ratio':>7}")
        for name in WORK:
            if options.only not in name:
                continue
            both = Both(name, folder, library, clock)
            def one_round():
                return both.interpret(), both.simulate(True), both.simulate(False)
            one_round()
            times = [one_round() for _ in range(options.rounds)]
            theirs, checked, plain = (statistics.median(t) for t in zip(*times))
            print(f"{name:22}{theirs:11.3f} s{checked:10.3f} s{theirs / checked:7.1f}"
                  f"{plain:10.3f} s{theirs / plain:7.1f}", flush=True)


if __name__ == "__main__":
    main()
