#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to make the kernels of a training step: from a module of the act
dialect to PTX, in processor seconds of act-opt, its start included.

    bench/compile-step.py [--build FOLDER] [--target sm_80] [--rounds N] [MODEL.json...]

The models are Llama-3.2-1B and Llama-3.1-8B without arguments, b = 1, s = 2048, with
attention fused and --remat=selective; what is timed is --emit-ptx on that module.
"cold" has no cache, "cached" finds every kernel in one, "start" is act-opt that only
reads and writes the module. The least of the rounds counts. Kernels that are equal
but for their layer are one, so depth costs nothing.

Where the package triton is there, two kernels alone follow, an attention forward and a
product, beside Triton's for the same blocks: from act IR to PTX without the start of
act-opt, and from the source to PTX in a process that has compiled before; ptxas is left
out on both sides.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = [ROOT / f"examples/models/{n}.json" for n in ("llama-3.2-1b", "llama-3.1-8b")]
ROW = "{:<16}{:>8}{:>11}{:>9}{:>9}{:>9}"


def spent(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def seconds(command):
    """User and system time of the command."""
    before = spent(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return spent(resource.RUSAGE_CHILDREN) - before


def measure(tools, model, target, rounds, folder):
    forward, module, out = folder / "forward.mlir", folder / "module.mlir", folder / "ptx"
    seconds([tools / "act-import", model, "--batch", 1, "--seq", 2048, "-o", forward])
    seconds([tools / "act-opt", forward, "--fuse-attention", "--remat=selective", "-o", module])

    def compiled(cache):
        return [tools / "act-opt", module, f"--emit-ptx=dir={out} target={target} cache-dir={cache}",
                "-o", "/dev/null"]

    cold = min(seconds(compiled("none")) for _ in range(rounds))
    seconds(compiled(folder / "cache"))
    cached = min(seconds(compiled(folder / "cache")) for _ in range(rounds))
    start = min(seconds([tools / "act-opt", module, "-o", "/dev/null"]) for _ in range(rounds))
    index = json.loads((out / "index.json").read_text())
    lines = sum(len((out / k["file"]).read_text().splitlines()) for k in index)
    print(ROW.format(model.stem, len(index), lines, f"{cold:.2f}", f"{cached:.3f}", f"{start:.3f}"))


# name → (the module, Triton's program, its constants)
ALONE = {
    "attention forward D 128": ("""
func.func @forward(%q: tensor<8x4096x1x128xbf16>, %k: tensor<8x4096x1x128xbf16>, %v: tensor<8x4096x1x128xbf16>) -> tensor<8x4096x1x128xbf16> {
  %r, %lse = act.attention %q, %k, %v scale 8.8388347648318447e-02 causal : (tensor<8x4096x1x128xbf16>, tensor<8x4096x1x128xbf16>, tensor<8x4096x1x128xbf16>) -> (tensor<8x4096x1x128xbf16>, tensor<8x1x4096xf32>)
  return %r : tensor<8x4096x1x128xbf16>
}""", "attention", dict(D=128, BM=128, BN=64, CAUSAL=True)),
    "product": ("""
func.func @forward(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %r = act.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}""", "matmul", dict(BM=128, BN=128, BK=64))}


def measure_alone(tools, target, rounds, folder):
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    from triton_programs import compile_program

    def of_triton(program, constants):
        before = spent(resource.RUSAGE_SELF)  # ptxas is a child
        compile_program(program, constants, "bf16", target, num_warps=8, num_stages=2)
        return spent(resource.RUSAGE_SELF) - before

    of_triton("matmul", dict(BM=32, BN=32, BK=32))
    print(f"\n{'one kernel to PTX':<26}{'act s':>8}{'Triton s':>10}{'ratio':>7}")
    for name, (text, program, constants) in ALONE.items():
        module = folder / "alone.mlir"
        module.write_text(text)
        start = min(seconds([tools / "act-opt", module, "-o", "/dev/null"]) for _ in range(rounds))
        ours = min(seconds([tools / "act-opt", module, "-o", "/dev/null",
                            f"--emit-ptx=dir={folder} target={target} cache-dir=none"])
                   for _ in range(rounds)) - start
        theirs = min(of_triton(program, constants) for _ in range(rounds))
        print(f"{name:<26}{ours:>8.3f}{theirs:>10.3f}{theirs / ours:>7.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=MODELS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    print(ROW.format("model", "kernels", "PTX lines", "cold s", "cached s", "start s"))
    for model in o.models:
        with tempfile.TemporaryDirectory() as folder:
            measure(o.build / "bin", model, o.target, o.rounds, pathlib.Path(folder))
    if importlib.util.find_spec("triton"):
        with tempfile.TemporaryDirectory() as folder:
            measure_alone(o.build / "bin", o.target, o.rounds, pathlib.Path(folder))


main()
