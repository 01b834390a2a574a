# SPDX-License-Identifier: Apache-2.0
"""hugging_face.py BUILD KIND: a toy model by transformers, its outputs and its
training in act. llama goes through every policy, unfused and fused; the others
through one of each."""
import sys

import numpy as np
import torch

from agreement import BATCH, POLICIES, Act, Problem, config


def policies(kind):
    if kind == "llama":
        return [(p, fused) for fused in (False, True) for p in POLICIES]
    return [("none", False), ("selective", True)]


def check_outputs(act, problem):
    module = act.import_model(problem.config, "--mode", "infer", name="infer")
    tokens = problem.tokens[0]
    out = act.infer(module, problem.weights, tokens)
    with torch.no_grad():
        expected = problem.model.double()(input_ids=torch.as_tensor(tokens)).logits.numpy()
    problem.model.float()
    if out.shape != expected.shape:
        print(f"logits: expected shape {expected.shape}, found {out.shape}")
        return False
    d = np.abs(out - expected).max() / np.abs(expected).max()
    print(f"logits: worst {d:.1e}")
    return d <= 1e-5


def main(build, kind):
    act = Act(build, f"hugging-face-{kind}")
    problem = Problem(config(kind))
    print(f"{kind}, seed {problem.seed}, {BATCH} rows")
    good = check_outputs(act, problem)
    forward = act.import_model(problem.config)
    for policy, fused in policies(kind):
        flags = (["--fuse-attention"] if fused else []) + [f"--remat={policy}"]
        module = act.optimize(forward, *flags)
        for optimizer in problem.references:
            good &= problem.check(act, module, optimizer, f"{kind} {' '.join(flags)}")
    return good


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
