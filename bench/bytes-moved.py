#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernels of a training step move between global memory and a GPU, beside the
least for their blocks (each block of an operand read once by each program that needs
it, each output written once) and the least possible (each input of a group read once).

    build/venv/bin/python bench/bytes-moved.py [MODEL.json] [--batch N] [--seq N] [--dtype bf16] [--remat P]
                                               [--build FOLDER] [--target sm_80] [--layer N]
                                               [--over R] [--apart]

Each kernel runs in the simulator on arrays of zeros, which counts the pieces of 32
bytes that its loads and stores move (what several warps read, each time). Launches are
those of the artifact. Printed are the kernels of one layer with how often they are
launched for it, and a layer and the step as a whole: there, the least is that of the
memory report, for which a group of two kernels is one and a parameter with a master
copy is not read. What blocks need is the index's `block_bytes`; - where numbers in
memory decide. --over R prints the kernels that move more than R times that, and fails
if there are any.
Without a model: a Llama with the proportions of Llama-3.2-1B, a quarter as wide, and
two layers.

Needs act-import, act-opt, actrt-sim, flatc and numpy.
"""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from artifacts import launches_of, read_artifact
from simulate import bytes_moved, counters, tensor_maps, zeros

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 2048,
         "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 4096,
         "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "max_position_embeddings": 8192, "tie_word_embeddings": True,
         "torch_dtype": "bfloat16", "hidden_act": "silu"}
ROW = "{:<44}{:>9}{:>15}{:>15}{:>8}{:>15}{:>8}"


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def line(name, count, bytes_, blocks, least):
    of_blocks = ("-", "-") if blocks is None else (f"{blocks:,}", f"{bytes_ / blocks:.3f}")
    print(ROW.format(name[:43], count, f"{bytes_:,}", *of_blocks, f"{least:,}", f"{bytes_ / least:.3f}"))


def blocks_of(kernels, counts):
    """What the blocks of launches need; nothing where that of one is not known."""
    own = [n * kernels[k]["block_bytes"] if kernels[k]["block_bytes"] is not None else None for k, n in counts.items()]
    return None if None in own else sum(own)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=512)
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--remat", default="selective")
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument("--build", type=pathlib.Path, help="default: what is on the PATH, or build/")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--over", type=float)
    parser.add_argument("--apart", action="store_true", help="a launch is one kernel, and none of several")
    o = parser.parse_args()
    found = shutil.which("act-opt")
    apart = "join-launches=false" if o.apart else ""
    tools = o.build / "bin" if o.build else pathlib.Path(found).parent if found else ROOT / "build/bin"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = o.model
        if not model:
            model = folder / "config.json"
            model.write_text(json.dumps(LLAMA))
        run(tools / "act-import", model, "--batch", o.batch, "--seq", o.seq, "--dtype", o.dtype, "-o",
            folder / "forward.mlir")
        run(tools / "act-opt", folder / "forward.mlir", "--fuse-attention", f"--remat={o.remat}",
            f"--memory-report=format=json file={folder / 'report.json'}" + (f" target={o.target}" if not o.apart else ""),
            "-o", folder / "step.mlir")
        run(tools / "act-opt", folder / "step.mlir", f"--target={o.target}", f"--emit-ptx=dir={folder / 'ptx'} {apart}",
            f"--emit=file={folder / 'step.act'} cubin=off {apart}", "-o", "/dev/null")
        step = read_artifact(folder / "step.act")
        if o.apart:  # the report is of the host then
            run(tools / "act-opt", folder / "step.mlir", f"--emit=file={folder / 'host.act'}", "-o", "/dev/null")
        described = read_artifact(folder / "host.act") if o.apart else step
        kernels = {k["name"]: k for k in json.loads((folder / "ptx/index.json").read_text())}
        report = json.loads((folder / "report.json").read_text())
        for k in kernels.values():
            k["moved"] = bytes_moved(counters(tools / "actrt-sim", folder / "ptx" / k["file"], o.target, k["grid"],
                                              k["block"], k["shared_bytes"],
                                              [*zeros(folder, k["shapes"]),
                                               *tensor_maps(folder, k.get("tensor_maps", []))]))

    launches = launches_of(step)
    names = [kernels[step["kernels"][launch.get("kernel", 0)]["symbol"]]["name"] for launch in launches]
    here = f"layer.{o.layer}/"
    own = collections.Counter(n for n, launch in zip(names, launches) if launch["name"].startswith(here))

    said = next(r for r in report["layers"] if r["index"] == o.layer)
    listed = [launch["name"] for launch in launches_of(described)]
    for a, b in ((said["launches"], sum(n.startswith(here) for n in listed)), (report["launches"], len(listed))):
        if a != b:
            sys.exit(f"the memory report says {a} launches, the artifact {b}")

    print(ROW.format("kernel", "launches", "bytes moved", "of its blocks", "ratio", "least possible", "ratio"))
    every, over = collections.Counter(names), False
    for name, n in (every if o.over else own).items():
        k = kernels[name]
        blocks = blocks_of(kernels, {name: n})
        if not o.over or (blocks and n * k["moved"] > o.over * blocks):
            line(name, n, n * k["moved"], blocks, n * k["least_bytes"])
            over = bool(o.over)
    line(f"layer {o.layer}", sum(own.values()), sum(n * kernels[k]["moved"] for k, n in own.items()),
         blocks_of(kernels, own), said["least_bytes"])
    line("step", len(names), sum(n * kernels[k]["moved"] for k, n in every.items()), blocks_of(kernels, every),
         report["least_bytes"])
    return over


if __name__ == "__main__":
    sys.exit(main())
