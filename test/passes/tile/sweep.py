#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sweep.py BUILD [--count N] [--seed S] [--all] [--only FAMILY,..] [--keep DIR] [--device cuda:0]:
random kernels on blocks, compiled and run on the simulator with all its checks under several
scheduling seeds and on the host, and compared with numpy. Their PTX is assembled where
there is a ptxas. --device names a card in place of the simulator.

Kernel i of a family is a function of (seed, family, i) alone; `--case FAMILY:I` runs
one. --all goes on until it is interrupted or --minutes are over. The exit status says
whether all was well.
"""
import argparse
import concurrent.futures
import math
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "sweep"))
import kernels  # noqa: E402
from program import Array  # noqa: E402
from reference import Ref, differences, from_file  # noqa: E402, F401

TARGETS = ["sm_80", "sm_80", "sm_80", "sm_89", "sm_90a"]


def pick_target(rng):
    return TARGETS[int(rng.integers(len(TARGETS)))]


def build(family, seed, number):
    rng = np.random.default_rng([seed, zlib.crc32(family.encode()), number])
    program = kernels.FAMILIES[family](rng)
    program.expect()
    return program, pick_target(rng)


def launch(act_run, program, device, folder, timeout):
    """Runs k.mlir of the folder: the exit status (None: not done in time) and what was said."""
    arguments = []
    for i, a in enumerate(program.arguments):
        if isinstance(a, Array):
            np.save(folder / f"{i}.npy", a.file())
            arguments.append(f"{'inout' if a.out else 'in'}:{folder / f'{i}.npy'}")
        else:
            arguments.append(f"{a.kind}:{a.number}")
    command = [act_run, "kernel", str(folder / "k.mlir"), *device, "--cache-dir", str(folder / "cache"), "--threads", "1"]
    for a in arguments:
        command += ["--arg", a]
    (folder / "command").write_text(" ".join(command) + "\n")
    return run(command, timeout)


def run(command, seconds):
    """Of processor time at most, for a busy machine is no finding; ten times as long on the
    clock. The exit status (None: not done in time) and what was said."""
    late = None, f"not done after {seconds} s"
    try:
        done = subprocess.run(["prlimit", f"--cpu={math.ceil(seconds)}", *map(str, command)], capture_output=True,
                              text=True, errors="replace", timeout=10 * seconds)
    except subprocess.TimeoutExpired:
        return late
    return late if done.returncode == -signal.SIGXCPU else (done.returncode, done.stderr + done.stdout)


def wrong(program, folder):
    """What of the arrays is not as expected, or None; and how many numbers were compared."""
    compared = 0
    for i, a in enumerate(program.arguments):
        if not isinstance(a, Array):
            continue
        got = np.load(folder / f"{i}.npy")
        got, tail = got[:a.val.size], got[a.val.size:]
        if not np.array_equal(tail, a.tail):
            return f"argument {i} is written behind its end", compared
        want = Ref(a.val, a.err)
        bad = differences(got, want, a.dtype)
        compared += int(np.isfinite(a.err).sum())
        if len(bad):
            at = int(bad[0][0])
            return (f"{len(bad)} of {got.size} elements of argument {i} differ, at {at}: "
                    f"{got[at]} ({a.dtype}), expected {want.val[at]} within {want.err[at]}"), compared
    return None, compared


def assemble(ptxas, target, cache):
    """What ptxas says against the PTX in the cache, or None."""
    for n, entry in enumerate(sorted(cache.rglob("*.ptx"))):
        text, ptx = entry.read_text(), cache / str(n)
        ptx.write_text(text[text.index(".version"):])
        run = subprocess.run([ptxas, f"-arch={target}", ptx, "-o", f"{ptx}.cubin"], capture_output=True, text=True)
        if run.returncode:
            return f"ptxas for {target}: {run.stderr[:400]}"
    return None


def failure(act_run, program, target, folder, devices, timeout, ptxas=None):
    """What is wrong, or None; and how many numbers were compared."""
    (folder / "k.mlir").write_text(program.text())
    compared = 0
    for name, device in devices:
        status, said = launch(act_run, program, device, folder, timeout)
        if status:
            lines = [line for line in said.splitlines() if line.strip()]
            said = f"exit {status}: " + "\n    ".join(lines[:6])
        why, count = (None, 0) if status == 0 else (said, 0)
        if not why:
            why, count = wrong(program, folder)
        compared += count
        if why:
            return f"{name}: {why}", compared
    return ptxas and assemble(ptxas, target, folder / "cache"), compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=12, help="kernels of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=2, help="scheduling seeds of each kernel")
    parser.add_argument("--device", help="a card, for whose own target the kernels are then made")
    parser.add_argument("--only", default=",".join(kernels.FAMILIES))
    parser.add_argument("--case", help="FAMILY:NUMBER")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the kernels that fail")
    parser.add_argument("-j", type=int, default=2)
    o = parser.parse_args()
    act_run = str(o.build / "bin/act-run")
    wheel = next(o.build.glob("venv/lib/python3*/site-packages/triton/backends/nvidia/bin/ptxas"), None)
    ptxas = shutil.which("ptxas") or wheel
    work = pathlib.Path(tempfile.mkdtemp(prefix="act-tile-sweep-"))
    end = time.monotonic() + 60 * o.minutes

    def one(case):
        family, number = case
        if time.monotonic() > end:
            return None
        folder = work / f"{family}-{number}"
        folder.mkdir()
        program, target = build(family, o.seed, number)
        devices = [(f"seed {seed}", ["--target", target, "--seed", str(seed)]) for seed in range(o.schedules)]
        if o.device:
            devices, target = [(o.device, ["--device", o.device])], o.device
        devices.append(("host", ["--device", "host"]))
        why, compared = failure(act_run, program, target, folder, devices, o.timeout, None if o.device else ptxas)
        if why and o.keep:
            shutil.copytree(folder, o.keep / f"{family}-{number}", dirs_exist_ok=True)
        shutil.rmtree(folder)
        return case, target, why, compared

    def cases():
        if o.case:
            family, number = o.case.split(":")
            yield family, int(number)
            return
        number = 0
        while o.all or number < o.count:
            for family in o.only.split(","):
                yield family, number
            number += 1

    failed = done = total = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
            waiting, source = set(), cases()
            while True:
                while len(waiting) < 2 * o.j and time.monotonic() < end:
                    case = next(source, None)
                    if case is None:
                        break
                    waiting.add(pool.submit(one, case))
                if not waiting:
                    break
                ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ready:
                    if future.result() is None:
                        continue
                    (family, number), target, why, compared = future.result()
                    done += 1
                    total += compared
                    if why:
                        failed += 1
                        print(f"FAIL {family}:{number} on {target} {why}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{done - failed} of {done} kernels agree with numpy, {total} numbers compared, seed {o.seed}; "
          + (f"on {o.device}" if o.device else f"assembled by {ptxas}" if ptxas else "not assembled: there is no ptxas"))
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
