# SPDX-License-Identifier: Apache-2.0
"""lora.py BUILD: low-rank adapters on a frozen base, whose linear weights are f32
or nf4, against PyTorch on the dequantised weights. Only the adapters have gradients;
the base comes back bit for bit, the nf4 part as its dequantised values."""
import sys

import numpy as np
import torch

import nf4
from agreement import BATCH, Act, Problem, config

RANK, ALPHA, TARGETS = 5, 7.0, ("q", "v", "down")


class Lora(torch.nn.Module):
    """y = W x + alpha / rank * B A x"""

    def __init__(self, base):
        super().__init__()
        self.weight, self.bias = base.weight, base.bias
        self.lora_A = torch.nn.Linear(base.in_features, RANK, bias=False)
        self.lora_B = torch.nn.Linear(RANK, base.out_features, bias=False)
        # B starts from zero in practice, which would hide A's gradient.
        torch.nn.init.normal_(self.lora_A.weight, std=0.2)
        torch.nn.init.normal_(self.lora_B.weight, std=0.2)

    def forward(self, x):
        return (torch.nn.functional.linear(x, self.weight, self.bias)
                + ALPHA / RANK * self.lora_B(self.lora_A(x)))


def prepare(quantized):
    def change(model):
        model.requires_grad_(False)
        for layer in model.model.layers:
            for name, linear in list(layer.named_modules()):
                if not isinstance(linear, torch.nn.Linear):
                    continue
                if quantized:
                    linear.weight.copy_(torch.from_numpy(nf4.round_trip(linear.weight.numpy())))
                if name.split(".")[-1] in [t + "_proj" for t in TARGETS]:
                    parent, _, leaf = name.rpartition(".")
                    setattr(layer.get_submodule(parent), leaf, Lora(linear))
        return model
    return change


def check(build, quantized):
    act = Act(build, "lora-nf4" if quantized else "lora")
    # Sizes whose products are multiples of nf4's block.
    cfg = config("llama", hidden_size=32)
    problem = Problem(cfg, prepare(quantized))
    forward = act.import_model(cfg, "--lora-rank", RANK, "--lora-alpha", ALPHA,
                               "--lora-targets", ",".join(TARGETS),
                               *(["--quantize", "nf4"] if quantized else []))
    adapters = {n for n in problem.weights if "lora_" in n}
    good = adapters == problem.references["sgd"].updates.keys()
    for flags in (["--remat=none"], ["--fuse-attention", "--remat=layer"]):
        module = act.optimize(forward, *flags)
        title = f"lora {'nf4' if quantized else 'f32'} {' '.join(flags)}"
        for optimizer in problem.references:
            good &= problem.check(act, module, optimizer, title)
        # nf4 of nf4's own values is exact, so saving and loading changes nothing.
        got = act.train(module, problem.tokens[:1], problem.labels[:1], optimizer="sgd", lr=1,
                        init=problem.weights)
        if got.gradients.keys() != adapters:
            print(f"gradients: expected {sorted(adapters)}, found {sorted(got.gradients)}")
            good = False
    if not quantized:  # rows as micro-batches, with different numbers of labels
        row = act.import_model(cfg, "--lora-rank", RANK, "--lora-alpha", ALPHA, "--attention-mask",
                               "--lora-targets", ",".join(TARGETS), batch=1, name="row")
        good &= problem.padded().check(act, row, "sgd", "lora, micro-batches", "--micro-batches", BATCH)
    return good


def check_codes(build, nested):
    """Weights that have never been near nf4: what act makes of them is what the
    reference makes of them, bit for bit, and the loss is that of these."""
    act = Act(build, "nf4-codes")
    cfg = config("llama", hidden_size=32)
    problem = Problem(cfg, prepare(False))
    module = act.import_model(cfg, "--lora-rank", RANK, "--lora-targets", ",".join(TARGETS),
                              "--quantize", "nf4-nested" if nested else "nf4")
    got = act.train(module, problem.tokens[:1], problem.labels[:1], optimizer="sgd", lr=0,
                    init=problem.weights)
    seen, good, remaining = 0, True, {}
    for name, w in problem.weights.items():
        quantized = name.endswith("_proj.weight")
        seen += quantized
        expected = nf4.round_trip(w, nested=nested) if quantized else w
        remaining[name] = expected
        if "lora_" not in name and got.weights[name].tobytes() != expected.tobytes():
            print(f"{name}: expected the reference's {'nf4' if quantized else 'f32'} values")
            good = False
    plain = act.import_model(cfg, "--lora-rank", RANK, "--lora-targets", ",".join(TARGETS), name="plain")
    same = act.train(plain, problem.tokens[:1], problem.labels[:1], optimizer="sgd", lr=0, init=remaining)
    if not np.allclose(got.losses, same.losses, rtol=1e-6, atol=0):
        print(f"loss: {got.losses}, expected {same.losses}, that of the remaining values in f32")
        good = False
    return good and seen == 7 * cfg.num_hidden_layers


def main(build):
    # No shortcut: every part is run and says what it found.
    results = [check(build, False), check(build, True), check_codes(build, False),
               check_codes(build, True)]
    return all(results)


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
