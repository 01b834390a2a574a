#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch eager keeps for backward, counted without running anything.

    build/venv/bin/python bench/pytorch-retained.py CONFIG.json [--batch N] [--seq N] [--layers N]
                          [--attention flash|eager]

The model of transformers is built on the meta device, where tensors have shapes
and no memory, and its forward with loss is traced. Every tensor that autograd
packs away is counted once per storage, parameters and inputs apart. `flash` is
the operator that scaled_dot_product_attention takes on a card. Printed are the
bytes of one decoder layer (those of a model with two layers less those of one)
and of the whole model.

Needs the packages of test/python/requirements.txt.
"""
import argparse
import json

import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

FLASH = "fused_on_a_card"  # transformers looks for a package of any name with "flash" in it


def flash(module, query, key, value, mask, scaling=None, dropout=0.0, **_):
    """[b, heads, s, d] each; keys and values stay as many as they are."""
    result = torch.ops.aten._scaled_dot_product_flash_attention(
        query, key, value, dropout, True, False, scale=scaling)
    return result[0].transpose(1, 2).contiguous(), None


def storage(tensor):
    return tensor.untyped_storage()


def retained(config, arguments):
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        tokens = torch.zeros(arguments.batch, arguments.seq, dtype=torch.int64)
    model.train()
    apart = {storage(t)._cdata for t in [*model.parameters(), tokens]}
    kept = {}  # the storage itself, so that no other can take its place

    def pack(tensor):
        if storage(tensor)._cdata not in apart:
            kept[storage(tensor)._cdata] = storage(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
    assert loss.requires_grad
    return sum(s.nbytes() for s in kept.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--layers", type=int, help="default: the model's")
    parser.add_argument("--attention", choices=["flash", "eager"], default="flash")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        fields = json.load(file)
    ALL_ATTENTION_FUNCTIONS.register(FLASH, flash)

    def config(layers):
        c = transformers.AutoConfig.for_model(**{**fields, "num_hidden_layers": layers})
        c._attn_implementation = {"flash": FLASH}.get(arguments.attention, "eager")
        return c

    one, two = (retained(config(n), arguments) for n in (1, 2))
    whole = retained(config(arguments.layers or fields["num_hidden_layers"]), arguments)
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}: "
          f"{two - one:,} bytes a layer, {whole:,} in all")


if __name__ == "__main__":
    main()
