# SPDX-License-Identifier: Apache-2.0
"""run_kernels.py ACTRT_SIM [--seeds N] [--only PATTERN] [--target T] [-j N] [--list]:
runs every case of kernels/cases on every architecture that it is for, and compares
with numpy. A case passes when actrt-sim exits as expected (0: no finding) under every
seed and all results are what they must be."""
import argparse
import concurrent.futures
import fnmatch
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "kernels"))
import launch  # noqa: E402


def failures(case, sim, seeds, targets, folder, timeout):
    """Lines that say what was wrong, none when the case passes; and the runs made."""
    lines, runs = [], 0
    prepared = launch.Prepared(case, folder)
    for ptx, target in case.runs():
        if targets and target not in targets:
            continue
        for seed in range(seeds):
            runs += 1
            code, stdout, stderr, wrong = prepared.run(sim, ptx, target, seed, timeout)
            if code == case.exit and (code != 0 or not wrong):
                continue
            reason = f"exit {code}, expected {case.exit}" if code != case.exit else "wrong result"
            lines.append(f"FAIL {case.name} {ptx.name} on {target} seed {seed}: {reason}")
            lines += ["  " + line for line in (stderr.splitlines()[:6] + wrong[:3])]
            break  # one seed's failure says enough
    return lines, runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sim", help="actrt-sim, or a build folder that holds bin/actrt-sim")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--target", action="append")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    sim = pathlib.Path(options.sim)
    sim = str(sim / "bin/actrt-sim" if sim.is_dir() else sim)

    cases = [c for c in launch.load_cases() if fnmatch.fnmatch(c.name, options.only)]
    missing = [c.name for c in cases if not c.runs()]
    for name in missing:
        print(f"FAIL {name}: no PTX file; see kernels/compile.sh")
    if options.list:
        for c in cases:
            print(c.name, *(f"{p.name}@{t}" for p, t in c.runs()))
        return 1 if missing else 0

    work = pathlib.Path(tempfile.mkdtemp(prefix="act-kernels-"))
    failed, runs = len(missing), 0
    try:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            def one(index):
                try:
                    return failures(cases[index], sim, options.seeds, options.target,
                                    work / str(index), options.timeout)
                except Exception as error:  # the case itself is at fault
                    return [f"FAIL {cases[index].name}: {type(error).__name__}: {error}"], 0
            for lines, count in pool.map(one, range(len(cases))):
                runs += count
                failed += bool(lines)
                for line in lines:
                    print(line, flush=True)
    finally:
        shutil.rmtree(work)
    print(f"{len(cases) - failed} of {len(cases)} cases pass, {runs} runs")
    return 1 if failed or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
