# SPDX-License-Identifier: Apache-2.0
"""hugging_face.py BUILD KIND...: of each kind a toy model by transformers, its outputs and its
training in act; the cache of keys and values that it leaves; and both with padding,
where a step's rows are micro-batches with different numbers of labels. llama goes
through every policy, unfused and fused; the others through one of each. Beside these:
all positions that a rope has, padding of every kind in bert, and losses in chunks that
do not divide the tokens."""
import copy
import sys

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from actrt import Runtime
from agreement import BATCH, POLICIES, SEQ, VOCAB, Act, Problem, config


def policies(kind):
    if kind == "llama":
        return [(p, fused) for fused in (False, True) for p in POLICIES]
    return [("none", False), ("selective", True)]


def check_outputs(act, problem):
    """At every position: scaled ropes turn far ones in another way than near ones."""
    positions = problem.config.max_position_embeddings
    tokens = np.random.default_rng(problem.seed).integers(0, VOCAB, (2, positions))
    module = act.import_model(problem.config, "--mode", "infer", batch=2, seq=positions,
                              name="infer")
    out = act.infer(module, problem.weights, tokens)
    with torch.no_grad():
        expected = problem.model.double()(input_ids=torch.as_tensor(tokens)).logits.numpy()
    problem.model.float()
    return agrees("logits", out, expected)


def agrees(title, found, expected):
    if found.shape != expected.shape:
        print(f"{title}: expected shape {expected.shape}, found {found.shape}")
        return False
    d = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{title}: worst {d:.1e}")
    return bool(d <= 1e-5)


def check_padding(act, problem):
    """bert with padding behind, in front, at both ends and in between; with one token, with all,
    and with a row of padding alone, which sees nothing."""
    masks = np.ones((7, SEQ), np.int64)
    masks[0, 12:] = masks[1, :5] = masks[2, :3] = masks[2, 15:] = masks[3, 2:18:3] = 0
    masks[4, :6] = masks[4, 7:] = masks[6] = 0
    tokens = np.random.default_rng(problem.seed).integers(0, VOCAB, masks.shape)
    # transformers' own eager attention looks at all padding where there is nothing else.
    model = copy.deepcopy(problem.model).double()
    model.set_attn_implementation("sdpa")
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        expected = model(input_ids=torch.as_tensor(tokens),
                         attention_mask=torch.as_tensor(masks)).logits.numpy()
    module = act.import_model(problem.config, "--mode", "infer", batch=len(masks), name="padded")
    good = True
    for flags in ([], ["--fuse-attention"]):
        out = act.infer(act.optimize(module, *flags) if flags else module, problem.weights, tokens,
                        "--attention-mask", act.save("mask", masks))
        good &= agrees(f"padded {' '.join(flags)}", out, expected)
    return good


# Tokens of a chunk of the fused loss, of 57: one is left over, or two, or none. A tied head, one
# with a bias, one of its own, one that is capped.
CHUNK = {"llama-tied": 56, "bert": 11, "qwen2": 19, "gemma2": 19}


def check_chunks(act, problem, forward, chunk):
    assert BATCH * SEQ == 57
    return problem.check(act, act.optimize(forward, f"--fuse-attention=chunk={chunk}"), "sgd",
                         f"chunks of {chunk}")


def check_padded_rows(act, problem):
    """Where padding is, behind, in front of or inside of a row, outputs may be anything."""
    padded = problem.padded()
    flag = [] if problem.config.model_type == "bert" else ["--attention-mask"]
    module = act.import_model(problem.config, "--mode", "infer", *flag, name="padded")
    tokens, mask = padded.tokens[0], padded.mask[0].copy()
    mask[1, :7] = 0
    out = act.infer(module, problem.weights, tokens, "--attention-mask", act.save("mask", mask))
    with torch.no_grad():
        expected = problem.model(input_ids=torch.as_tensor(tokens),
                                 attention_mask=torch.as_tensor(mask)).logits.numpy()
    d = np.abs(out - expected)[mask == 1].max() / np.abs(expected).max()
    print(f"logits of padded rows: worst {d:.1e}")
    row = act.import_model(problem.config, *flag, batch=1, name="row")
    return padded.check(act, act.optimize(row, "--fuse-attention"), "sgd", "rows as micro-batches",
                        "--micro-batches", BATCH) and np.isfinite(out).all() and d <= 1e-5


def by_layer(outputs, name):
    """A cache layer by layer: of functions of several layers each has a stack, and layers
    that all have a window, or are left over, come last."""
    numbered = sorted(n for n in outputs if n.startswith(name + "_"))
    whole = [outputs[n] for n in (name, "window_" + name) if n in outputs]
    turns = [layer for cycle in zip(*(outputs[n] for n in numbered)) for layer in cycle]
    return turns + [layer for stack in whole for layer in stack]


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
    for name in ("keys", "values"):
        for layer, ours in zip(layers, by_layer(outputs, name), strict=True):
            theirs = getattr(layer, name).transpose(1, 2).numpy()
            kept = theirs.shape[1]  # of a window only its last
            worst = max(worst, np.abs(ours[:, -kept:] - theirs).max() / np.abs(theirs).max())
    print(f"cache of {len(layers)} layers: worst {worst:.1e}")
    return worst <= 1e-5


def check_kind(build, kind):
    act = Act(build, f"hugging-face-{kind}")
    problem = Problem(config(kind))
    print(f"{kind}, seed {problem.seed}, {BATCH} rows")
    good = check_outputs(act, problem)
    good &= check_padded_rows(act, problem)
    if kind != "bert":
        good &= check_cache(act, problem)
    forward = act.import_model(problem.config)
    if kind == "bert":
        good &= check_padding(act, problem)
    if kind in CHUNK:
        good &= check_chunks(act, problem, forward, CHUNK[kind])
    for policy, fused in policies(kind):
        flags = (["--fuse-attention"] if fused else []) + [f"--remat={policy}"]
        module = act.optimize(forward, *flags)
        for optimizer in problem.references:
            good &= problem.check(act, module, optimizer, f"{kind} {' '.join(flags)}")
    return good


if __name__ == "__main__":
    BUILD, *KINDS = sys.argv[1:]
    sys.exit(not all([check_kind(BUILD, kind) for kind in KINDS]))
