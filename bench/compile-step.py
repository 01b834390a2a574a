#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to make the kernels of a training step: from a module of the act
dialect to PTX, in processor seconds of act-opt, its start included.

    bench/compile-step.py [--build FOLDER] [--target sm_80] [--rounds N] [--instructions] [MODEL.json...]

The models are Llama-3.2-1B and Llama-3.1-8B without arguments, b = 1, s = 2048, with
attention fused and --remat=selective; what is timed is --emit-ptx on that module.
"cold" has no cache, "cached" finds every kernel in one, "start" is act-opt that only
reads and writes the module. The least of the rounds counts. Kernels that are equal
but for their layer are one, so depth costs nothing.

Where the package triton is there, single kernels follow, attention and its gradient
and a product, beside Triton's for the same blocks: from act IR to PTX, and from the source to
PTX, both in a process that has compiled before; ptxas is left out on both sides. That of
act is what each of 8 more in a module takes; "first" is a process's first one, without
the start of act-opt. A gradient of act's is the kernel with the five products and one
that converts dq; Triton's is one that adds to dq in any order.

With --instructions it is the single kernels alone, in millions of instructions that
valgrind's callgrind counts, which do not depend on what else the machine does: half an
hour.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
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


def module(arguments, steps, results):
    """A function whose lines are `steps`; `results` are its values' types by names."""
    lines = "\n".join(f"  {line}" for line in steps)
    types = ", ".join(results.values())
    return f"func.func @forward({arguments}) -> ({types}) {{\n{lines}\n  return {', '.join(results)} : {types}\n}}\n"


def attention(count, mask):
    """So many attentions of different scales, each of the one before."""
    x, lse = "tensor<8x4096x1x128xbf16>", "tensor<8x1x4096xf32>"
    steps = [f"%x{n + 1}, %lse{n} = act.attention %x{n}, %k, %v scale {0.08 + 0.001 * n} {mask}"
             f" : ({x}, {x}, {x}) -> ({x}, {lse})" for n in range(count)]
    return module(f"%x0: {x}, %k: {x}, %v: {x}", steps, {f"%x{count}": x})


def gradients(count):
    """Of such attentions, each for what the one before gives queries."""
    x, lse = "tensor<8x4096x1x128xbf16>", "tensor<8x1x4096xf32>"
    steps = [f"%d{n + 1}, %dk{n}, %dv{n} = act.attention_grad %d{n}, %q, %k, %v, %o, %lse scale {0.08 + 0.001 * n}"
             f" : ({', '.join([x] * 5)}, {lse}) -> ({x}, {x}, {x})" for n in range(count)]
    results = [f"%d{count}", *(f"%d{of}{n}" for of in "kv" for n in range(count))]
    return module(f"%d0: {x}, %q: {x}, %k: {x}, %v: {x}, %o: {x}, %lse: {lse}", steps, dict.fromkeys(results, x))


def products(count):
    """So many products of different widths, each of the one before."""
    x = [f"tensor<4096x{4096 + 128 * n}xbf16>" for n in range(count + 1)]
    w = [f"tensor<{4096 + 128 * (n + 1)}x{4096 + 128 * n}xbf16>" for n in range(count)]
    steps = [f"%x{n + 1} = act.linear %x{n}, %w{n} : ({x[n]}, {w[n]}) -> {x[n + 1]}" for n in range(count)]
    return module(", ".join([f"%x0: {x[0]}", *(f"%w{n}: {w[n]}" for n in range(count))]), steps,
                  {f"%x{count}": x[count]})


BLOCKS = dict(D=128, BM=128, BN=64)
# name → (the module with so many, Triton's program, its constants)
ALONE = {
    "attention D 128, full": (lambda n: attention(n, ""), "attention", dict(**BLOCKS, CAUSAL=False, APART=False)),
    "attention D 128, causal": (lambda n: attention(n, "causal"), "attention", dict(**BLOCKS, CAUSAL=True, APART=True)),
    "its gradient, full": (gradients, "attention_backward", dict(D=128, BM=32, BN=128)),
    "product": (products, "matmul", dict(BM=128, BN=128, BK=64))}
MORE = 8
FIRST = "matmul", dict(BM=32, BN=32, BK=32)  # makes a process one that has compiled before


def compile_of_triton(program, constants, target):
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    from triton_programs import compile_program

    compile_program(program, constants, "bf16", target, num_warps=8, num_stages=2)


def act_opt_of(tools, target, folder, text):
    """act-opt that reads the module alone, and what makes it emit PTX."""
    file = folder / "alone.mlir"
    file.write_text(text)
    return ([tools / "act-opt", file, "--mlir-disable-threading", "-o", "/dev/null"],
            f"--emit-ptx=dir={folder} target={target} cache-dir=none")


def instructions(command):
    """Millions of instructions of the command, without its children."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)],
                          check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]) / 1e6


def count_alone(tools, target, folder):
    def of_triton(*programs):
        text = (f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r})\n"
                f"compile = __import__('compile-step').compile_of_triton\n"
                f"for program, constants in {[FIRST, *programs]!r}: compile(program, constants, {target!r})")
        return instructions([sys.executable, "-c", text])

    def of_act(text):
        read, emit = act_opt_of(tools, target, folder, text)
        return instructions([*read, emit])

    first = of_triton()
    print(f"{'one kernel to PTX, instructions':<33}{'act M':>8}{'Triton M':>10}{'ratio':>7}")
    for name, (modules, *program) in ALONE.items():
        ours = (of_act(modules(1 + MORE)) - of_act(modules(1))) / MORE
        theirs = of_triton(program) - first
        print(f"{name:<33}{ours:>8.0f}{theirs:>10.0f}{theirs / ours:>7.1f}", flush=True)


def measure_alone(tools, target, rounds, folder):
    def of_triton(program, constants):
        before = spent(resource.RUSAGE_SELF)  # ptxas is a child
        compile_of_triton(program, constants, target)
        return spent(resource.RUSAGE_SELF) - before

    def of_act(text):
        """Beyond what act-opt takes to read the module and to write nothing."""
        read, emit = act_opt_of(tools, target, folder, text)
        return min(seconds([*read, emit]) for _ in range(rounds)) - min(seconds(read) for _ in range(rounds))

    of_triton(*FIRST)
    print(f"\n{'one kernel to PTX':<26}{'first s':>8}{'act s':>8}{'Triton s':>10}{'ratio':>7}")
    for name, (modules, program, constants) in ALONE.items():
        theirs = min(of_triton(program, constants) for _ in range(rounds))
        first = of_act(modules(1))
        ours = (of_act(modules(1 + MORE)) - first) / MORE
        print(f"{name:<26}{first:>8.3f}{ours:>8.3f}{theirs:>10.3f}{theirs / ours:>7.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=MODELS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instructions", action="store_true")
    o = parser.parse_args()
    if o.instructions:
        with tempfile.TemporaryDirectory() as folder:
            count_alone(o.build / "bin", o.target, pathlib.Path(folder))
        return
    print(ROW.format("model", "kernels", "PTX lines", "cold s", "cached s", "start s"))
    for model in o.models:
        with tempfile.TemporaryDirectory() as folder:
            measure(o.build / "bin", model, o.target, o.rounds, pathlib.Path(folder))
    if importlib.util.find_spec("triton"):
        with tempfile.TemporaryDirectory() as folder:
            measure_alone(o.build / "bin", o.target, o.rounds, pathlib.Path(folder))


if __name__ == "__main__":
    main()
