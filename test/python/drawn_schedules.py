# SPDX-License-Identifier: Apache-2.0
"""drawn_schedules.py BIN DIR [MODEL...] [--seeds N] [--target sm_80] [-j N]: the bits of a
step do not depend on how its kernels are scheduled.

What changes the order of a sum is chosen from a product or from attention alone; rows,
columns, warps, stages and the order of programs see the rest of a kernel, and leave
every bit as it is (passes/act-to-tile/PlanGrid.h). Here the latter are drawn at random,
differently for each kernel, seed and policy. On the simulator, losses and gradients have
to be the same bytes as those of the schedules that the compiler chooses.

Needs Python alone."""
import argparse
import concurrent.futures
import json
import pathlib
import sys
import time

from gpu_steps import GPT2, LLAMA, LORA, MISTRAL, Model

# 96 tokens are two blocks of keys, and rows of 16 to 64 divide them differently. f32 hides
# no bit of a sum; what is between products differs by model.
WIDE = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "vocab_size": 48, "max_position_embeddings": 128}
F32 = ["--dtype=f32"]
MODELS = {
    "llama-f32": ({**LLAMA, **WIDE}, F32),
    "llama": ({**LLAMA, **WIDE}, []),
    "packed-f32": ({**LLAMA, **WIDE}, ["--packed=4", *F32]),
    "mistral-f32": ({**MISTRAL, **WIDE, "sliding_window": 40}, F32),
    "gpt2-f32": ({**GPT2, "n_embd": 64, "n_inner": 96, "n_positions": 128}, F32),
    "lora": ({**LLAMA, **WIDE}, LORA),
}
POLICIES = ["none", "selective", "layer"]


def schedules(model, policy, seed):
    """Per kernel the programs, the threads and the shared memory."""
    out = model.folder / f"ptx{seed}"
    model.call("act-opt", model.module(policy), f"--emit-ptx=dir={out} target={model.target} draw-schedules={seed} "
               "join-launches=false", "-o", "/dev/null")
    return [(k["grid"], k["block"], k["shared_bytes"]) for k in json.loads((out / "index.json").read_text())]


def check(o, name):
    config, options = MODELS[name]
    model = Model(o.bin, o.folder / name, config, options, [], 2, True, seq=96, target=o.target)
    first, good = None, True
    for seed in range(o.seeds + 1):
        for policy in POLICIES if seed == 0 else [POLICIES[seed % len(POLICIES)]]:
            start = time.monotonic()
            got = model.train(model.artifact(policy, f"draw-schedules={seed}"), f"sim:{o.target}")
            first = first or got
            same = got.log == first.log and got.gradients == first.gradients
            print(f"{name}, --remat={policy}, schedules {seed}: {'same bytes' if same else 'OTHER BYTES'}, "
                  f"{time.monotonic() - start:.1f} s", flush=True)
            good &= same
    planned, drawn = schedules(model, "none", 0), schedules(model, "none", 1)
    others = sum(a != b for a, b in zip(planned, drawn))
    print(f"{name}: {others} of {len(planned)} kernels have another schedule")
    return good and len(planned) == len(drawn) and others > len(planned) // 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("folder", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("-j", type=int, default=1)
    o = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        results = list(pool.map(lambda name: check(o, name), o.models or MODELS))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
