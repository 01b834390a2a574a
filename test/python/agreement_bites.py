# SPDX-License-Identifier: Apache-2.0
"""A comparison that cannot fail would be worse than none: PyTorch in f32 in the
place of act agrees, and stops to when something small is wrong with it."""
import copy
import sys

import numpy as np
import torch

from agreement import Problem, Reference, Trained, config, disagreements


def trained(problem, model, tokens, labels, optimizer):
    r = Reference(model, tokens, labels, optimizer, torch.float32)
    weights = {n: (w + r.updates.get(n, 0)).astype(np.float32)
               for n, w in problem.weights.items()}
    return Trained(r.losses, weights, {}, b"", "")


def other_eps(model):
    for m in model.modules():
        if hasattr(m, "variance_epsilon"):
            m.variance_epsilon *= 1.01
    return model


def frozen_bias(model):
    dict(model.named_parameters())["model.layers.1.self_attn.v_proj.bias"].requires_grad = False
    return model


def main(build):
    problem = Problem(config("qwen2"))
    good = True
    for optimizer in problem.references:
        n = problem.steps(optimizer)
        tokens, labels = problem.tokens[:n], problem.labels[:n]
        model = lambda: copy.deepcopy(problem.model)
        shifted = np.roll(labels, 1, axis=-1)
        late = torch.as_tensor(tokens).clone()
        late[0, 0, 3] = (late[0, 0, 3] + 1) % 7
        runs = {
            "the same": (model(), tokens, labels),
            "eps 1 % off": (other_eps(model()), tokens, labels),
            "one bias frozen": (frozen_bias(model()), tokens, labels),
            "labels shifted": (model(), tokens, shifted),
            "one token changed": (model(), late, labels),
        }
        for name, run in runs.items():
            found = disagreements(problem, optimizer, trained(problem, *run, optimizer))
            print(f"{optimizer}, {name}: {len(found)} disagreements")
            good &= bool(found) == (name != "the same")
    return good


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
