# SPDX-License-Identifier: Apache-2.0
"""Kernels whose blocks have layouts, made into PTX and run on the simulator."""
import pathlib
import subprocess
import sys


def arguments():
    """FOLDER [COUNT [SEED]] of the command line."""
    folder = pathlib.Path(sys.argv[1])
    count, seed = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 40), (3, 0)))
    folder.mkdir(parents=True, exist_ok=True)
    return folder, count, seed


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def make(folder, layouts, kernels, target):
    """A file of PTX for each function of the texts."""
    (folder / "k.mlir").write_text("\n".join([*layouts, "gpu.module @kernels {", *kernels, "}", ""]))
    run("act-opt", folder / "k.mlir", "--pass-pipeline=builtin.module(gpu.module(tile-lower-to-threads))",
        "-o", folder / "threads.mlir")
    run("act-opt", folder / "threads.mlir", f"--emit-ptx=dir={folder} target={target} cache-dir=none", "-o", "/dev/null")


def simulate(folder, name, warps, arguments, order):
    run("actrt-sim", folder / f"{name}.ptx", "--block", 32 * warps, "--smem", 65536, "--seed", order,
        *(w for a in arguments for w in ("--arg", a)))
