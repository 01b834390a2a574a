#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the products and attention of whole training steps are made of, without a card.

    build/venv/bin/python bench/kernel-steps.py [--build FOLDER] [--target sm_90a] [--ptxas FILE]
                                                [MODEL.json ...]

The steps are those of Llama-3.2-1B and Llama-3.1-8B, or of the models given: 4096 tokens
of one sequence, bf16, AdamW, --remat=selective. Each kernel that multiplies matrices has a
line: how often a step launches it (the artifact lists all launches), the rows, columns
and sum of the product (attention: tokens, heads and the width of one), the useful GFLOP of
a launch, and threads, stages, whether programs are persistent, registers and spilled
bytes. "always" and "total" are the SASS instructions per MFLOP of the hot loop, as
kernels.py counts them; - where no loop has a product, and what a block computes beyond an
edge counts as useful. Several tensors may share a kernel: its name is of the first.

At last each class as a whole: the mean, weighted by useful FLOPs times launches, beside
the goal and the best public kernels of that class (PUBLIC in kernels.py), both for sm_90a.

Needs act-import, act-opt, flatc and the package triton.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import pathlib
import tempfile

from artifacts import launches_of, read_artifact
from kernels import PUBLIC, ROOT, Assembled, run

MODELS = [ROOT / "examples/models" / f"llama-{name}.json" for name in ("3.2-1b", "3.1-8b")]
GOALS = {"product": 97, "forward D 64 full": 865, "forward D 64 causal": 865, "forward D 128 full": 442,
         "forward D 128 causal": 478, "backward D 64 full": 592, "backward D 64 causal": 592,
         "backward D 128 full": 340, "backward D 128 causal": 405}
CLASS = "{:<16}{:<22}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>8}"
ROW = "{:<29}{:<31}{:>9}{:>19}{:>8}{:>8}{:>7}{:>11}{:>5}{:>8}{:>7}{:>6}"
HEADER = ("kernel", "ops", "launches", "shape", "GFLOP", "threads", "stages", "persistent", "regs", "spilled", "always",
          "total")
Line = collections.namedtuple("Line", "kind launches flops kernel")


def shape_of(text):
    return [int(size) for size in text.split("x")[:-1]]


def product_shape(entry):
    """(rows, columns, sum) of the two operands that have as many FLOPs as the kernel, or nothing."""
    flat = [(math.prod(s[:2]), math.prod(s[2:])) if len(s) > 2 else s for s in map(shape_of, entry["shapes"])
            if len(s) > 1]
    for (a, b), (c, d) in itertools.combinations(flat, 2):
        ways = [(b == d, (a, c, b))] if "linear" in entry["ops"] else [(b == c, (a, d, b)), (a == c, (b, d, a))]
        for fits, shape in ways:
            if fits and abs(2 * math.prod(shape) / entry["useful_flops"] - 1) < 0.02:
                return shape
    return None


def class_of(entry):
    """(the class, its shape) of a kernel that multiplies matrices, or nothing."""
    if not entry["useful_flops"]:
        return None
    for op, kind, products in (("attention", "forward", 2), ("attention_grad", "backward", 5)):
        if op in entry["ops"]:
            _, tokens, heads, d = next(s for s in map(shape_of, entry["shapes"]) if len(s) == 4)
            causal = entry["useful_flops"] < 1.5 * products * tokens**2 * heads * d
            return f"{kind} D {d} {'causal' if causal else 'full'}", (tokens, heads, d)
    return ("product", product_shape(entry)) if {"linear", "matmul"} & set(entry["ops"]) else None


def step_kernels(build, model, target, folder):
    """(index entry, launches, the PTX) of each kernel that a training step launches."""
    module, out = folder / "model.mlir", folder / "ptx"
    run(build / "bin/act-import", model, "--batch", 1, "--seq", 4096, "-o", module)
    run(build / "bin/act-opt", module, "--fuse-attention", "--remat=selective", "--optimizer=adamw",
        f"--target={target}", f"--emit-ptx=dir={out} cache-dir=none join-launches=false",
        f"--emit=file={folder / 'step.act'} join-launches=false", "-o", "/dev/null")
    step = read_artifact(folder / "step.act")
    launches = collections.Counter(step["kernels"][l.get("kernel", 0)]["symbol"] for l in launches_of(step))
    known = {entry["entry"]: entry for entry in json.loads((out / "index.json").read_text())}
    assert not set(launches) - set(known), "a launch whose kernel the index has not"
    return [(known[name], count, out / known[name]["file"]) for name, count in launches.items()]


def of_step(build, model, target, folder):
    """Prints a line for each kernel; returns them."""
    found = [(*entry, of) for entry in step_kernels(build, model, target, folder) if (of := class_of(entry[0]))]
    print(f"\n{target}, {model.stem}")
    print(ROW.format(*HEADER))
    lines = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assembled = pool.map(lambda f: Assembled(f[2], target, folder), found)
        for (entry, count, _, (kind, shape)), kernel in zip(found, assembled):
            schedule = entry["schedule"]
            counts = ("-", "-") if kernel.always is None else (f"{kernel.always:.0f}", f"{kernel.total:.0f}")
            print(ROW.format(entry["name"][:28], " ".join(op for op in entry["ops"] if op != "reshape")[:30], count,
                             "x".join(map(str, shape)) if shape else "-", f"{entry['useful_flops'] / 1e9:.1f}",
                             math.prod(entry["block"]), schedule.get("stages", "-"),
                             "yes" if schedule.get("persistent") else "-", kernel.registers, kernel.spilled, *counts),
                  flush=True)
            lines.append(Line(kind, count, entry["useful_flops"], kernel))
    return lines


def show_classes(name, lines, target):
    for kind in dict.fromkeys(line.kind for line in lines):
        own = [line for line in lines if line.kind == kind]
        counted = [line for line in own if line.kernel.always is not None]
        flops = sum(line.launches * line.flops for line in counted)
        means = [sum(line.launches * line.flops * of(line.kernel) for line in counted) / flops if counted else math.nan
                 for of in (lambda kernel: kernel.always, lambda kernel: kernel.total)]
        beside = [GOALS.get(kind, "-"), PUBLIC.get(kind, "-")] if target == "sm_90a" else ["-", "-"]
        print(CLASS.format(name, kind, len(own), f"{sum(line.launches * line.flops for line in own) / 1e12:.2f}",
                           f"{max((line.kernel.always for line in counted), default=math.nan):.0f}",
                           *(f"{mean:.1f}" for mean in means), *beside))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=MODELS, metavar="MODEL.json")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--ptxas", type=pathlib.Path, help="another than the one of Triton's wheel")
    o = parser.parse_args()
    Assembled.ptxas = o.ptxas
    for target in o.target.split(","):
        steps = {}
        for model in o.models:
            with tempfile.TemporaryDirectory() as name:
                steps[model.stem] = of_step(o.build, model, target, pathlib.Path(name))
        print(f"\n{target}, by class, weighted by useful FLOPs")
        print(CLASS.format("step", "class", "kernels", "TFLOP", "worst", "always", "total", "goal", "public"))
        for name, lines in steps.items():
            show_classes(name, lines, target)
        shared = set.intersection(*({line.kind for line in lines} for lines in steps.values()))
        if len(steps) > 1:
            show_classes("all", [line for lines in steps.values() for line in lines if line.kind in shared], target)


if __name__ == "__main__":
    main()
