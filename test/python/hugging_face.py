# SPDX-License-Identifier: Apache-2.0
"""hugging_face.py BUILD KIND: a toy model by transformers, its outputs and its
training in act; and the cache of keys and values that it leaves. llama goes through every policy, unfused and fused; the others
through one of each."""
import sys

import numpy as np
import torch

from actrt import Runtime
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


def check_cache(act, problem):
    """--kv-cache: keys and values of all layers, as transformers keeps them."""
    module = act.import_model(problem.config, "--mode", "infer", "--kv-cache", name="cache")
    artifact = act.work / "cache.act"
    act.call("act-opt", module, "--fuse-attention", f"--emit={artifact}", "-o", "/dev/null")
    step = Runtime(act.bin.parent / "lib/libact_runtime.so").load(artifact)
    for name in step.parameters:
        step.set_parameter(name, problem.weights[name])
    tokens = problem.tokens[0]
    outputs = step.bind("forward", {"tokens": tokens})
    step.run("forward")
    with torch.no_grad():
        layers = problem.model.double()(input_ids=torch.as_tensor(tokens), use_cache=True,
                                        ).past_key_values.layers
    problem.model.float()
    worst = 0
    for name in ("keys", "values"):  # layers with a window come last
        found = np.concatenate([v for n, v in outputs.items() if n.endswith(name)])
        for layer, ours in zip(layers, found, strict=True):
            theirs = getattr(layer, name).transpose(1, 2).numpy()
            kept = theirs.shape[1]  # of a window only its last
            worst = max(worst, np.abs(ours[:, -kept:] - theirs).max() / np.abs(theirs).max())
    print(f"cache of {len(layers)} layers: worst {worst:.1e}")
    return worst <= 1e-5


def main(build, kind):
    act = Act(build, f"hugging-face-{kind}")
    problem = Problem(config(kind))
    print(f"{kind}, seed {problem.seed}, {BATCH} rows")
    good = check_outputs(act, problem)
    if kind != "bert":
        good &= check_cache(act, problem)
    forward = act.import_model(problem.config)
    for policy, fused in policies(kind):
        flags = (["--fuse-attention"] if fused else []) + [f"--remat={policy}"]
        module = act.optimize(forward, *flags)
        for optimizer in problem.references:
            good &= problem.check(act, module, optimizer, f"{kind} {' '.join(flags)}")
    return good


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
