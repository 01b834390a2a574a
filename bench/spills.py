#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which of attention's kernels spill registers, and how much, without a card.

    build/venv/bin/python bench/spills.py [--build FOLDER] [--target sm_80,sm_86,sm_89]
                                          [--types bf16,f32] [--heads 16,32,...]
                                          [--models llama,mistral,gpt2,packed]

For heads of 16 to 128, three models that use attention unlike each other: Llama's,
causal, two heads of queries for one of keys; Mistral's, with a sliding window, too; and
GPT-2's, causal with dropout; and, if asked for, `packed`, Llama's with sequences of any
length beside each other. Each is one layer with 4 heads, b = 8, s = 1024, trained
with --remat=selective; all its kernels of attention are assembled by ptxas, from PATH
or from Triton's wheel. Printed is every kernel that spills, with the bytes that it
stores and loads for that, as PTX by itself and as --emit-ptx=cubin makes it, which
asks ptxas again where it spills; and at last how many there were.
"""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def ptxas():
    if found := shutil.which("ptxas"):
        return found
    wheel = importlib.util.find_spec("triton")
    assert wheel, "no ptxas in PATH, and no package triton, which has one"
    return str(pathlib.Path(wheel.origin).parent / "backends/nvidia/bin/ptxas")


def config(kind, d, element):
    if kind == "gpt2":
        return dict(model_type=kind, n_embd=4 * d, n_layer=1, n_head=4, n_positions=1024, vocab_size=256,
                    torch_dtype=TYPES[element], attn_pdrop=0.1, resid_pdrop=0.1, embd_pdrop=0.1,
                    activation_function="gelu_new", layer_norm_epsilon=1e-5)
    own = dict(sliding_window=100) if kind == "mistral" else {}
    return dict(model_type="llama" if kind == "packed" else kind, hidden_size=4 * d, head_dim=d,
                num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, intermediate_size=4 * d,
                vocab_size=256, max_position_embeddings=1024,
                rms_norm_eps=1e-5, rope_theta=1e4, tie_word_embeddings=False, torch_dtype=TYPES[element],
                hidden_act="silu", **own)


def run(*command):
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def spilled(build, assembler, kind, d, element, target):
    """(kernel, threads, shared bytes, bytes spilled, and as a cubin) of all kernels of attention."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.json").write_text(json.dumps(config(kind, d, element)))
        packed = ["--packed=8"] if kind == "packed" else []
        run(build / "bin/act-import", folder / "model.json", "--batch", 8, "--seq", 1024, *packed, "-o",
            folder / "model.mlir")

        def kernels(own=""):
            """Those of attention, with these options of --emit-ptx."""
            run(build / "bin/act-opt", folder / "model.mlir", "--fuse-attention", "--remat=selective",
                f"--target={target}", f"--emit-ptx=dir={folder} cache-dir=none join-launches=false {own}", "-o",
                "/dev/null")
            return [k for k in json.loads((folder / "index.json").read_text())
                    if k["name"].split("_", 1)[1] in ("attention", "attention_grad")]

        def lost(k):
            said = run(assembler, "-v", "-arch", target, folder / k["file"], "-o", folder / "k.cubin")
            return sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", said)))

        plain = [(k, lost(k)) for k in kernels()]
        least = [k["spilled_bytes"] for k in kernels("cubin")] if any(bytes for _, bytes in plain) else [0] * len(plain)
        return [(k["name"], k["block"][0], k["shared_bytes"], bytes, left) for (k, bytes), left in zip(plain, least)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_80,sm_86,sm_89")
    parser.add_argument("--types", default="bf16,f32")
    parser.add_argument("--heads", default=",".join(map(str, range(16, 129, 16))))
    parser.add_argument("--models", default="llama,mistral,gpt2")
    o = parser.parse_args()
    assembler = ptxas()
    cases = [(kind, int(d), element, target) for element in o.types.split(",") for target in o.target.split(",")
             for kind in o.models.split(",") for d in o.heads.split(",")]
    total = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, kernels in zip(cases, pool.map(lambda c: spilled(o.build, assembler, *c), cases)):
            kind, d, element, target = case
            all_of, spilling, left = total.get((element, target), (0, 0, 0))
            total[element, target] = (all_of + len(kernels), spilling + sum(k[3] > 0 for k in kernels),
                                      left + sum(k[4] > 0 for k in kernels))
            for name, threads, shared, lost, least in kernels:
                if lost:
                    print(f"{element:<6}{target:<7}{kind:<9}D {d:<5}{name:<22}{threads:>4} threads{shared:>8} shared"
                          f"{lost:>6} bytes spilled,{least:>4} as a cubin", flush=True)
    for (element, target), (all_of, spilling, left) in total.items():
        print(f"{element:<6}{target:<7}{all_of} kernels, {spilling} of them spill, {left} as cubins")


main()
