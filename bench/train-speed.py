#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of a training step on the host, beside PyTorch eager.

    build/venv/bin/python bench/train-speed.py [STEPS] [--rounds N] [--threads N]

Both train the same Llama (6 layers, 384 wide, f32, AdamW; SDPA attention in
PyTorch, fused attention and loss here) with the same data, the same learning
rate and weight decay, and the same number of threads: the cores that this
process may use, unless told otherwise.

What is timed is a step from tokens in memory to updated weights. Here it is the
difference between runs of 1 + 2 * STEPS and of 1 + STEPS steps, so that
starting, loading and the first step cancel out. PyTorch's first three steps are
not counted. The two take turns, the first of a round changing, and the medians
over the rounds count. Losses are compared too: a step that does something else
may well be faster.

Needs act-import, act-opt and act-run in build/bin and the packages of
test/python/requirements.txt.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
BATCH, SEQ, RATE, WARM_UP = 8, 256, 1e-3, 3
CONFIG = dict(model_type="llama", hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
              num_key_value_heads=6, intermediate_size=1024, vocab_size=65,
              max_position_embeddings=SEQ, rms_norm_eps=1e-5, hidden_act="silu",
              tie_word_embeddings=False)


class Ours:
    name = "act"

    def __init__(self, folder, steps, threads, tokens):
        import numpy as np
        self.folder, self.steps, self.threads = folder, steps, threads
        (folder / "config.json").write_text(json.dumps(CONFIG))
        subprocess.run([BIN / "act-import", folder / "config.json", "--batch", str(BATCH), "--seq",
                        str(SEQ), "--dtype", "f32", "-o", folder / "model.mlir"], check=True)
        subprocess.run([BIN / "act-opt", folder / "model.mlir", "--fuse-attention",
                        f"--emit={folder / 'step.act'}", "-o", os.devnull], check=True)
        for n in (1 + steps, 1 + 2 * steps):
            np.save(folder / f"tokens{n}.npy", tokens[:n])

    def run(self, steps):
        start = time.perf_counter()
        subprocess.run([BIN / "act-run", "train", self.folder / "step.act", "--allow-native",
                        "--threads", str(self.threads), "--init", self.folder / "init.safetensors",
                        "--tokens", self.folder / f"tokens{steps}.npy", "--steps", str(steps),
                        "--lr", str(RATE), "--log", self.folder / "log.jsonl"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    def seconds(self):
        short, long = self.run(1 + self.steps), self.run(1 + 2 * self.steps)
        lines = (self.folder / "log.jsonl").read_text().splitlines()
        self.losses = [json.loads(line)["loss"] for line in lines]
        return (long - short) / self.steps


class Torch:
    name = "PyTorch"

    def __init__(self, folder, steps, threads, tokens):
        import torch
        from safetensors.torch import save_file
        from transformers import LlamaConfig, LlamaForCausalLM
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        config = LlamaConfig(**{k: v for k, v in CONFIG.items() if k != "model_type"})
        self.model = LlamaForCausalLM._from_config(config, attn_implementation="sdpa",
                                                   dtype=torch.float32)
        self.first = {k: v.clone() for k, v in self.model.state_dict().items()}
        save_file({k: v.contiguous() for k, v in self.first.items()},
                  folder / "init.safetensors")
        self.tokens = [torch.from_numpy(t).long() for t in tokens]
        self.steps = steps

    def seconds(self):
        import torch
        self.model.load_state_dict(self.first)
        # The defaults of act's --optimizer=adamw are PyTorch's.
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)
        self.losses = []
        for i, tokens in enumerate(self.tokens[:WARM_UP + self.steps]):
            if i == WARM_UP:
                start = time.perf_counter()
            optimizer.zero_grad()
            loss = self.model(tokens, labels=tokens, use_cache=False).loss
            loss.backward()
            optimizer.step()
            self.losses.append(loss.item())
        return (time.perf_counter() - start) / self.steps


def main():
    import numpy as np
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="?", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    steps = options.steps
    count = max(1 + 2 * steps, WARM_UP + steps)
    tokens = np.random.default_rng(1).integers(0, CONFIG["vocab_size"], (count, BATCH, SEQ),
                                               dtype=np.int32)
    with tempfile.TemporaryDirectory() as name:
        theirs = Torch(Path(name), steps, options.threads, tokens)
        ours = Ours(Path(name), steps, options.threads, tokens)
        taken = {ours: [], theirs: []}
        for i in range(options.rounds):
            for side in (ours, theirs) if i % 2 == 0 else (theirs, ours):
                taken[side].append(side.seconds())
            for k, (a, b) in enumerate(zip(ours.losses, theirs.losses)):
                if abs(a - b) > 1e-2 * abs(b):
                    raise SystemExit(f"the two train differently: step {k + 1} has loss {a} in act, {b} in PyTorch")
            print(f"round {i + 1}: " + "   ".join(
                f"{s.name} {BATCH * SEQ / t[-1]:.0f} tokens/s" for s, t in taken.items()), flush=True)
        a, t = (statistics.median(taken[s]) for s in (ours, theirs))
        print(f"{options.threads} threads, medians of {options.rounds} rounds: act "
              f"{BATCH * SEQ / a:.0f} tokens/s, PyTorch {BATCH * SEQ / t:.0f} tokens/s, "
              f"ratio {t / a:.2f}")


if __name__ == "__main__":
    main()
