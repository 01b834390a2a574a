#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of act generate beside transformers' generate, on the same cores.

    build/venv/bin/python bench/generate.py [--build build] [--hidden 512] [--layers 8]
        [--batches 1 4] [--prompt 128] [--tokens 64] [--threads 2]

A Llama of random weights in f32 continues random prompts, greedily. Both write the same
tokens, or the line says that they do not. Times are the second of two runs, prompts
included; act's programs are compiled before.
"""
import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    for name, value in (("hidden", 512), ("layers", 8), ("prompt", 128), ("tokens", 64), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--batches", type=int, nargs="+", default=[1, 4])
    o = p.parse_args()
    sys.path.insert(0, str(o.build.resolve() / "python/site"))
    sys.path.insert(0, str(ROOT / "test/python/finetune"))
    import numpy as np
    import torch
    import transformers as T

    import toys
    from act.finetune import Generator, ModelFolder
    T.utils.logging.set_verbosity_error()
    T.utils.logging.disable_progress_bar()
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    model = T.LlamaForCausalLM(T.LlamaConfig(
        hidden_size=o.hidden, intermediate_size=4 * o.hidden, num_hidden_layers=o.layers,
        num_attention_heads=o.hidden // 64, num_key_value_heads=max(1, o.hidden // 256), vocab_size=8192,
        max_position_embeddings=2048, bos_token_id=None, eos_token_id=1, pad_token_id=0)).eval()
    model.generation_config.eos_token_id = None
    print(f"{sum(q.numel() for q in model.parameters()) / 1e6:.1f} M parameters, f32, {o.threads} threads")

    def second(call):
        for _ in range(2):
            start = time.perf_counter()
            out = call()
            taken = time.perf_counter() - start
        return out, taken

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        toys.tokenizer().save_pretrained(folder)
        for batch in o.batches:
            prompts = np.random.default_rng(0).integers(3, 300, (batch, o.prompt))
            maker = Generator(ModelFolder(folder), length=o.prompt + o.tokens, batch=batch, threads=o.threads)
            maker.ends = set  # random weights may write an end
            rows, ours = second(lambda: maker.generate(prompts.tolist(), most=o.tokens))
            with torch.no_grad():
                theirs, peer = second(lambda: model.generate(
                    torch.from_numpy(prompts), max_new_tokens=o.tokens, do_sample=False,
                    attention_mask=torch.ones(batch, o.prompt, dtype=torch.long)))
            same = all(r.ids == t.tolist() for r, t in zip(rows, theirs))
            print(f"{batch} rows: act {batch * o.tokens / ours:.1f} tokens/s, transformers "
                  f"{batch * o.tokens / peer:.1f}, {peer / ours:.2f} times as fast"
                  f"{'' if same else '; OTHER TOKENS'}")


if __name__ == "__main__":
    main()
