#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step on a card: act's beside PyTorch's, in time and in memory.

    build/venv/bin/python bench/card-steps.py [--build FOLDER] [--device cuda:0] [--target sm_XX]
        [--layers 4 | --model MODEL.json] [--tokens 4096] [--policies none,selective,layer]
        [--peers eager,checkpointing,compile,liger] [--log FILE]
        [--compile-to FOLDER | --compiled FOLDER] [--kernels 25] [--small]

The model has layers of Llama-3.2-1B's shape and a vocabulary of 32,768, or is the one
given; bf16, AdamW, one sequence. act's step is compiled with --fuse-attention and each of
the policies; PyTorch's is transformers' model with SDPA and the fused AdamW: eager,
without and with gradient checkpointing, compiled by torch.compile, and with Liger's
kernels where these are installed. All start from the same weights, and take the same
tokens: losses are to agree within 1 %.

Printed per step: milliseconds from tokens on the host to updated weights, the median of
the steps; the bytes of parameters, gradients and optimizer (act's AdamW keeps its moments
in f32, PyTorch's in the type of the parameters), and the most that is allocated beside
them (act's arena as planned, PyTorch's by max_memory_allocated); and for act each kernel's
time by events beside what it computes and moves at least.

--compile-to only compiles, on a machine without a card; --compiled takes what that
made, and then needs libact_runtime alone of act. --log keeps results as it goes, and
leaves out what the file has already. --small is for a simulator's device.
"""
import argparse
import concurrent.futures
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/python"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from actrt import TIME, Runtime  # noqa: E402
from card import sees_card  # noqa: E402
from results import Results  # noqa: E402

STEPS, WARM_UP, RATE = 8, 2, 1e-4


def configuration(o):
    sizes = dict(hidden_size=2048, head_dim=64, num_attention_heads=32, num_key_value_heads=8,
                 intermediate_size=8192, vocab_size=32768)
    whole = dict(model_type="llama", num_hidden_layers=o.layers, max_position_embeddings=8192, rms_norm_eps=1e-5,
                 rope_theta=5e5, hidden_act="silu", tie_word_embeddings=False, torch_dtype="bfloat16", **sizes)
    if o.model:
        whole = json.loads(o.model.read_text())
    if o.small:
        whole |= dict(hidden_size=64, head_dim=32, num_attention_heads=2, num_key_value_heads=1, intermediate_size=128,
                      vocab_size=64, num_hidden_layers=2)
    return whole


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def compile_all(o, target, folder):
    (folder / "config.json").write_text(json.dumps(configuration(o)))
    run(o.build / "bin/act-import", folder / "config.json", "--batch", 1, "--seq", o.tokens, "-o", folder / "model.mlir")
    for policy in o.policies.split(","):
        run(o.build / "bin/act-opt", folder / "model.mlir", "--fuse-attention", f"--remat={policy}", f"--target={target}",
            f"--emit={folder / policy}.act", f"--emit-ptx={folder / policy}", "-o", os.devnull)


class Weights:
    """As PyTorch's transformers draw them, by a parameter's name; the same for all who ask."""

    def __init__(self):
        self.drawn = {}

    def of(self, shapes):
        """{name: numbers} for {name: shape}."""
        def draw(name, shape):
            if len(shape) == 1:
                return np.ones(shape, np.float32)
            numbers = np.random.default_rng(list(name.encode())).standard_normal(shape, np.float32)
            return np.multiply(numbers, 0.02, out=numbers)
        missing = {n: tuple(s) for n, s in shapes.items() if n not in self.drawn}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            self.drawn.update(zip(missing, pool.map(draw, missing, missing.values())))
        return {n: self.drawn[n] for n in shapes}


class Ours:
    def __init__(self, runtime, folder, policy, tokens, weights, flags=0):
        self.step = runtime.load(folder / f"{policy}.act", flags, initialised=False)
        self.tokens = tokens
        shapes = {n: info.type.shape[:info.type.rank] for n, info in self.step.parameters.items()}
        for name, value in weights.of(shapes).items():
            self.step.set_parameter(name, value)
        self.outputs = self.step.bind("step", self.batch(0))
        self.step.set_scalar("lr", RATE)
        self.losses = []

    def batch(self, n):
        tokens = self.tokens[n]
        return {"tokens": tokens, "labels": np.append(tokens[:, 1:], [[-100]], 1).astype(np.int32)}

    def one(self, n):
        for name, value in self.batch(n).items():
            self.step.input("step", name)[...] = value
        self.step.set_scalar("step", n + 1)
        start = time.perf_counter()
        self.step.run("step")
        taken = 1e3 * (time.perf_counter() - start)
        self.losses.append(float(self.outputs["loss"]))
        return taken

    def bytes(self):
        s = self.step.statistics("step")
        return s.parameter_bytes + s.gradient_bytes + s.optimizer_bytes, s.arena_bytes


class Torch:
    NAMES = {"eager": "PyTorch", "checkpointing": "PyTorch, gradient checkpointing",
             "compile": "PyTorch, torch.compile", "liger": "PyTorch, Liger"}

    def __init__(self, o, tokens, weights, kind):
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
        if kind == "liger":  # the last one: it changes transformers' classes
            from liger_kernel.transformers import apply_liger_kernel_to_llama
            apply_liger_kernel_to_llama()
        others = "model_type", "torch_dtype", "architectures"
        config = {k: v for k, v in configuration(o).items() if k not in others}
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        with torch.device("cuda"):
            self.model = LlamaForCausalLM._from_config(LlamaConfig(**config), attn_implementation="sdpa",
                                                       dtype=torch.bfloat16)
        if kind == "checkpointing":
            self.model.gradient_checkpointing_enable()
        self.model.train()
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, value in weights.of({n: p.shape for n, p in own.items()}).items():
                own[name].copy_(torch.from_numpy(value))
        if kind == "compile":
            self.model.compile()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE, fused=True)
        self.tokens, self.losses = torch.from_numpy(tokens).long(), []

    def one(self, n):
        import torch
        torch.cuda.synchronize()
        start = time.perf_counter()
        tokens = self.tokens[n].cuda()
        self.optimizer.zero_grad()
        loss = self.model(tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        self.optimizer.step()
        torch.cuda.synchronize()
        taken = 1e3 * (time.perf_counter() - start)
        self.losses.append(loss.item())
        return taken

    def bytes(self):
        import torch
        tensors = [t for p in self.model.parameters() for t in (p, p.grad, *self.optimizer.state[p].values())]
        kept = sum(t.numel() * t.element_size() for t in tensors)
        return kept, torch.cuda.max_memory_allocated() - kept


def milliseconds(side):
    return statistics.median([side.one(n) for n in range(WARM_UP + STEPS)][WARM_UP:])


def show_kernels(ours, index, count, results, unit):
    """Where the time of a step goes: the longest kernels."""
    for n in range(3):
        ours.one(n)
    known, sums = {e["entry"]: e for e in index}, {}
    for _, kernel, taken in ours.step.launches("step"):
        launches, total = sums.get(kernel, (0, 0.0))
        sums[kernel] = launches + 1, total + taken
    results.add(unit, "done", kernels=sums)
    whole = sum(t for _, t in sums.values())
    print(f"\n{'kernel':<52}{'launches':>9}{'ms':>9}{'of all':>8}{'TFLOP/s':>9}{'GB/s':>7}")
    for kernel, (launches, total) in sorted(sums.items(), key=lambda item: -item[1][1])[:count]:
        entry = known.get(kernel, dict(useful_flops=0, least_bytes=0))
        print(f"{kernel[:51]:<52}{launches:>9}{total:>9.3f}{100 * total / whole:>7.1f}%"
              f"{launches * entry['useful_flops'] / total / 1e9:>9.0f}{launches * entry['least_bytes'] / total / 1e6:>7.0f}")
    print(f"{'all':<52}{sum(n for n, _ in sums.values()):>9}{whole:>9.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--target", help="default: the device's own")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--policies", default="none,selective,layer")
    parser.add_argument("--peers", default=",".join(Torch.NAMES))
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--compile-to", type=pathlib.Path)
    parser.add_argument("--compiled", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=25)
    parser.add_argument("--small", action="store_true")
    o = parser.parse_args()
    if o.small:
        o.tokens = 64
    if o.compile_to:
        o.compile_to.mkdir(parents=True, exist_ok=True)
        return compile_all(o, o.target or "sm_80", o.compile_to)
    try:
        runtime = Runtime(o.build / "lib/libact_runtime.so", 0, o.device)
    except RuntimeError as why:
        sys.exit(f"nothing is timed, there is no card: {why}")
    peers = [p for p in o.peers.split(",") if p] if sees_card(o.device) else []
    config, results, weights = configuration(o), Results(o.log), Weights()
    tokens = np.random.default_rng(2).integers(0, config["vocab_size"], (WARM_UP + STEPS, 1, o.tokens), dtype=np.int32)
    name = o.model.stem if o.model else f"{config['num_hidden_layers']} layers"
    print(f"{o.device}, {name}, {o.tokens} tokens")
    row = "{:<38}{:>12}{:>12}{:>18}{:>18}{:>10}{:>10}"
    print(row.format("", "ms a step", "tokens/s", "kept bytes", "other bytes", "loss 1", f"loss {WARM_UP + STEPS}"))
    units = []

    def show(who, make):
        unit = f"step {name}: {who}"
        units.append(unit)
        if not results.take(unit):
            return
        try:
            side = make()
        except ImportError as why:
            print(f"{who} is left out: {why}")
            return results.add(unit, "skipped", why=str(why))
        taken = milliseconds(side)
        kept, others = side.bytes()
        results.add(unit, "row", label=f"step {name}", who=who, ms=taken, kept=kept, others=others, losses=side.losses)
        results.add(unit, "done")
        print(row.format(who, f"{taken:.2f}", f"{1e3 * o.tokens / taken:.0f}", f"{kept:,}",
                         f"{others:,}", f"{side.losses[0]:.4f}", f"{side.losses[-1]:.4f}"), flush=True)
        if isinstance(side, Ours):
            side.step.release()

    with tempfile.TemporaryDirectory() as temporary:
        folder = o.compiled or pathlib.Path(temporary)
        if not o.compiled:
            compile_all(o, o.target or runtime.info().target.decode(), folder)
        policies = o.policies.split(",")
        for policy in policies:
            show(f"act --remat={policy}", lambda: Ours(runtime, folder, policy, tokens, weights))
        for kind in peers:
            show(Torch.NAMES[kind], lambda: Torch(o, tokens, weights, kind))
        if results.take(f"kernels {name}"):
            ours = Ours(runtime, folder, policies[0], tokens, weights, TIME)
            show_kernels(ours, json.loads((folder / policies[0] / "index.json").read_text()), o.kernels, results,
                         f"kernels {name}")
    if not peers:
        print("PyTorch is not beside it: no card, or PyTorch sees none")
    losses = [line["losses"] for unit in units for line in results.of(unit, "row")]
    apart = max((abs(a - b) / b for own in losses for a, b in zip(own, losses[-1])), default=0)
    print(f"losses are {100 * apart:.2f} % apart at most")
    return 1 if apart > 0.01 else 0


if __name__ == "__main__":
    sys.exit(main())
