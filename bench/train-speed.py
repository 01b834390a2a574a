#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of a training step on the host, beside PyTorch eager.

    build/venv/bin/python bench/train-speed.py [STEPS]

Both train the same Llama (6 layers, 384 wide, f32, AdamW, SDPA attention in
PyTorch, fused attention and loss here) on the same shapes, in turn, on all
cores; the ratio is act's tokens/s over PyTorch's. Needs act-import, act-opt and
act-run in build/bin and the packages of test/python/requirements.txt.
"""
import json, os, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
BATCH, SEQ, ROUNDS = 8, 256, 3
CONFIG = dict(model_type="llama", hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
              num_key_value_heads=6, intermediate_size=1024, vocab_size=65,
              max_position_embeddings=SEQ, rms_norm_eps=1e-5, hidden_act="silu",
              tie_word_embeddings=False)


def ours(folder, steps):
    """Seconds of a step, from two runs: compiling and starting cancel out."""
    def seconds(n):
        start = time.perf_counter()
        subprocess.run([BIN / "act-run", "train", folder / "step.act", "--allow-native", "--tokens",
                        folder / f"tokens{n}.npy", "--steps", str(n), "--lr", "1e-3"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start
    return (seconds(steps + 1) - seconds(1)) / steps


def torch_step(steps):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(**{k: v for k, v in CONFIG.items() if k != "model_type"}))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    def step():
        tokens = torch.randint(CONFIG["vocab_size"], (BATCH, SEQ))
        optimizer.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
    step()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps


def main():
    import numpy as np
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        subprocess.run([BIN / "act-import", folder / "config.json", "--batch", str(BATCH), "--seq",
                        str(SEQ), "-o", folder / "model.mlir"], check=True)
        subprocess.run([BIN / "act-opt", folder / "model.mlir", "--fuse-attention",
                        f"--emit={folder / 'step.act'}", "-o", os.devnull], check=True)
        for n in (1, steps + 1):
            np.save(folder / f"tokens{n}.npy",
                    np.random.default_rng(1).integers(0, 65, (n, BATCH, SEQ)).astype(np.int32))
        tokens = BATCH * SEQ
        ratios = []
        for _ in range(ROUNDS):
            a, t = ours(folder, steps), torch_step(steps)
            ratios.append(t / a)
            print(f"act {tokens / a:8.0f} tokens/s   PyTorch {tokens / t:8.0f} tokens/s   ratio {t / a:.2f}",
                  flush=True)
        print(f"median ratio {sorted(ratios)[ROUNDS // 2]:.2f}")


if __name__ == "__main__":
    main()
