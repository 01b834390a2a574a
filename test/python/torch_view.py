#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch eager keeps and peaks at, found out without memory and without a card.

    build/venv/bin/python test/python/torch_view.py CONFIG.json [--batch N] [--seq N] [--layers N]
        [--attention sdpa|eager|sdpa-math|sdpa-flash|sdpa-efficient] [--segments N]
        [--checkpoint nonreentrant|reentrant] [--dtype bf16|f16|f32] [--saved] [--events FILE]

The model of transformers is built on the meta device, and one step of it runs:
forward with loss, backward. python/act/_torch/memory.py says how it is watched.

    retained  bytes that live when backward begins
    peak      the most bytes that live at once during forward and backward

Neither counts parameters, buffers, token ids, labels, or what arrives at a parameter
as its gradient; the peak counts the loss and the gradient it begins with. The conditions: training mode, no
cache, no attention mask given, nobody looks for packed sequences, the model's
output is released before backward.

Needs the packages of test/python/requirements.txt.
"""
import argparse
import functools
import json
import math
import pathlib
import sys

import torch
import transformers
from torch.utils.checkpoint import checkpoint as torch_checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/act/_torch"))
from memory import Lives, Refused, cuda_choices, residents, saved_tensors  # noqa: E402

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


# --- The model -------------------------------------------------------------

class Segment(torch.nn.Module):
    """Some layers as one; transformers checkpoints what looks like a layer."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, hidden, *args, **kwargs):
        for layer in self.layers:
            hidden = layer(hidden, *args, **kwargs)
        return hidden


def layer_list(model):
    for path in ("model.layers", "transformer.h", "bert.encoder.layer"):
        owner = model
        *parents, last = path.split(".")
        try:
            for name in parents:
                owner = getattr(owner, name)
            getattr(owner, last)
            return owner, last
        except AttributeError:
            continue
    raise ValueError("no list of layers in " + type(model).__name__)


class CheckpointedAttention(torch.nn.Module):
    """Of its results the first is all that layers use."""

    def __init__(self, inner, kind):
        super().__init__()
        self.inner, self.kind = inner, kind

    def forward(self, hidden_states, *args, **kwargs):
        def first(x):
            return self.inner(x, *args, **kwargs)[0]
        return torch_checkpoint(first, hidden_states, use_reentrant=self.kind == "reentrant"), None


def place_checkpoints(model, segments, kind, masks):
    """Each of `segments` runs of layers is recomputed in backward: cut at round(i L / n);
    or each layer's "attention"."""
    owner, name = layer_list(model)
    layers = list(getattr(owner, name))
    if segments == "attention":
        for layer in layers:
            module = next(n for n in ("self_attn", "attn", "attention") if hasattr(layer, n))
            setattr(layer, module, CheckpointedAttention(getattr(layer, module), kind))
        return
    count = len(layers)
    cuts = [math.floor(i * count / segments + 0.5) for i in range(segments + 1)]

    class Checkpointed(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, *args, **kwargs):
            # As GradientCheckpointingLayer: named arguments are bound, the rest are
            # arguments of checkpoint().
            return torch_checkpoint(functools.partial(self.inner.forward, **kwargs), *args,
                                    use_reentrant=kind == "reentrant")

    runs = [layers[a:b] for a, b in zip(cuts, cuts[1:])]
    setattr(owner, name, torch.nn.ModuleList(
        Checkpointed(run[0] if len(run) == 1 else Segment(torch.nn.ModuleList(run)))
        for run in runs))
    if hasattr(owner, "config") and hasattr(owner.config, "num_hidden_layers"):
        owner.config.num_hidden_layers = len(runs)
    types = getattr(owner.config if hasattr(owner, "config") else None, "layer_types", None)
    if types:  # by which the model picks a layer's mask
        for a, b in zip(cuts, cuts[1:]):
            if masks and len(set(types[a:b])) > 1:
                raise Refused("a checkpointed run of layers with different masks")
        owner.config.layer_types = [types[a] for a in cuts[:-1]]


def build(config, dtype, batch, seq):
    with torch.device("meta"):
        model = transformers.AutoModelForMaskedLM if config.model_type == "bert" \
            else transformers.AutoModelForCausalLM
        model = model.from_config(config, dtype=dtype)
        tokens = torch.zeros(batch, seq, dtype=torch.int64)
        labels = torch.zeros(batch, seq, dtype=torch.int64)
    return model.train(), tokens, labels


def measure(fields, batch, seq, attention="sdpa-flash", dtype=None, segments=None,
            checkpoint="nonreentrant", events=False):
    """`fields` of a config.json -> dict with retained, peak and what is saved."""
    config = transformers.AutoConfig.for_model(**fields)
    config._attn_implementation = "eager" if attention == "eager" else "sdpa"
    dtype = DTYPES[dtype] if isinstance(dtype, str) else dtype
    dtype = dtype or getattr(torch, str(fields.get("dtype", fields.get("torch_dtype", "float32"))))
    model, tokens, labels = build(config, dtype, batch, seq)
    moved = residents(model)  # there are no gradients yet
    if segments:
        place_checkpoints(model, segments, checkpoint, attention == "eager" or
                          seq >= (getattr(config, "sliding_window", None) or math.inf))
    known = [t.untyped_storage() for t in
             [*model.parameters(), *model.buffers(), tokens, labels]]
    lives = Lives(known)
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: lives.set_apart(gradient))
        parameter.register_post_accumulate_grad_hook(lambda p: lives.set_apart(p.grad))
    with cuda_choices(attention), lives:
        loss = model(input_ids=tokens, labels=labels, **NO_CACHE.get(config.model_type, {})).loss
        kept = lives.counted() - {lives.number(loss)}
        retained = sum(lives.records[n][0] for n in kept)
        saved = []
        if not segments:
            seen = set()
            for node, name, tensor in saved_tensors(loss.grad_fn):
                number = lives.number(tensor)
                if number is not None and number not in lives.apart and number not in seen:
                    seen.add(number)
                    saved.append((node, name, tuple(tensor.shape),
                                  str(tensor.dtype).split(".")[1], lives.records[number][0]))
                del tensor
            assert seen == kept, "what lives is not what is saved"
        lives.phase = "backward"
        loss.backward()
    lives.finish()
    line = list(lives.timeline())
    peak = max((total for _, total in line), default=0)
    at = next(moment for moment, total in line if total == peak)
    result = {"retained": retained, "peak": peak, "saved": saved,
              "at": next((r[1] for r in lives.records if r[2] == at), "?")}
    if events:
        result["resident"] = moved + [8 * batch * seq] * 2
        result["events"] = [(*r, n in lives.apart) for n, r in enumerate(lives.records)]
    return result


NO_CACHE = {t: {"use_cache": False} for t in ("llama", "mistral", "qwen2", "gpt2")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--layers", type=int, help="default: the model's")
    parser.add_argument("--attention", default="sdpa-flash",
                        choices=["sdpa", "eager", "sdpa-math", "sdpa-flash", "sdpa-efficient"])
    parser.add_argument("--dtype", choices=list(DTYPES))
    parser.add_argument("--segments", type=lambda s: s if s == "attention" else int(s))
    parser.add_argument("--checkpoint", choices=["nonreentrant", "reentrant"],
                        default="nonreentrant")
    parser.add_argument("--saved", action="store_true")
    parser.add_argument("--events")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        fields = json.load(file)
    if arguments.layers:
        fields["n_layer" if fields["model_type"] == "gpt2" else "num_hidden_layers"] = \
            arguments.layers
    r = measure(fields, arguments.batch, arguments.seq, arguments.attention, arguments.dtype,
                arguments.segments, arguments.checkpoint, bool(arguments.events))
    print(f"retained {r['retained']:,}, peak {r['peak']:,} at {r['at']}")
    if arguments.saved:
        for node, name, shape, dtype, size in r["saved"]:
            print(f"{size:>14,}  {node:<40} {name:<16} {dtype} {list(shape)}")
    if arguments.events:
        with open(arguments.events, "w") as file:
            for n, (size, op, born, died, phase, apart) in enumerate(r["events"]):
                file.write(f"{n} {born} {died} {size} {op} {phase}{' apart' if apart else ''}\n")


if __name__ == "__main__":
    main()
