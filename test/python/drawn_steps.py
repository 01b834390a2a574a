# SPDX-License-Identifier: Apache-2.0
"""drawn_steps.py BIN DIR [--seed N] [--count N] [--only N] [--target sm_80,sm_89] [-j N]: whole
training steps of models drawn at random, as GPU kernels on the simulator with all its
checks, and on the host.

A model has a family, widths, heads, lengths and a vocabulary that are multiples of
little, a type, and any of what a step can be made of: adapters, 4-bit weights, packing,
tied embeddings, micro-batches, clipping, another optimizer. Losses of three steps are
held to the host's as in gpu_steps.py, and a second policy gives the first one's bytes.
--seed and a number name a model. Needs Python alone."""
import argparse
import concurrent.futures
import pathlib
import random
import shutil

import gpu_steps
from gpu_steps import Model

POLICIES = ["none", "layer", "sqrt", "attention", "selective"]


def draw(pick):
    """Arguments of Model but for the folders, and two policies."""
    family = pick.choice(["llama", "llama", "mistral", "qwen2", "gpt2"])
    nf4 = family != "gpt2" and pick.random() < 0.15
    heads = pick.randrange(1, 5)
    width = pick.choice([8, 16, 20, 24, 32, 40, 48, 64, 80])
    kv = pick.choice([n for n in range(1, heads + 1) if heads % n == 0])
    hidden = heads * width if family == "gpt2" or pick.random() < 0.6 else pick.choice([24, 33, 40, 56, 96, 130, 1024])
    inner = pick.choice([24, 37, 48, 65, 100, 128, 160, 200])
    if nf4:  # rows of whole blocks
        heads, width, kv, hidden, inner = pick.choice([(2, 32, 2, 64, 128), (1, 64, 1, 128, 64), (4, 16, 4, 64, 192)])
    vocabulary, layers, positions = pick.choice([29, 32, 37, 50, 65, 130]), pick.choice([1, 1, 2]), 256
    dtype = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[pick.choice(["bf16", "bf16", "f16", "f32"])]
    if family == "gpt2":
        drop = pick.choice([0.0, 0.1, 0.3])
        config = dict(model_type=family, architectures=["GPT2LMHeadModel"], vocab_size=vocabulary, n_embd=hidden,
                      n_layer=layers, n_head=heads, n_positions=positions, n_inner=inner, resid_pdrop=drop,
                      embd_pdrop=drop, attn_pdrop=drop, torch_dtype=dtype)
    else:
        config = dict(model_type=family, architectures=[family.capitalize() + "ForCausalLM"], vocab_size=vocabulary,
                      hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, head_dim=width,
                      num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=positions,
                      tie_word_embeddings=pick.random() < 0.4, torch_dtype=dtype)
        if family == "mistral":
            config["sliding_window"] = pick.choice([None, 3, 8, 17])
    options, flags = [], []
    if nf4 or pick.random() < 0.2:
        targets = "c_attn,c_proj" if family == "gpt2" else pick.choice(["q,v", "q,k,v,o,gate,up,down"])
        options += [f"--lora-rank={pick.choice([1, 3, 8])}", "--lora-alpha=8", f"--lora-targets={targets}"]
    if nf4:
        options.append("--quantize=" + pick.choice(["nf4", "nf4-nested"]))
    batch, seq = pick.choice([1, 1, 2, 3]), pick.choice([1, 2, 5, 16, 17, 31, 48, 63, 70])
    if pick.random() < 0.1:  # gradients of weights are made in parts
        batch, seq = 16, 64
    if family != "gpt2" and not config.get("sliding_window") and batch * seq >= 4 and pick.random() < 0.2:
        options.append(f"--packed={pick.choice([2, 4])}")
    if pick.random() < 0.2:
        flags.append("--micro-batches=2")
    if pick.random() < 0.3:
        flags.append("--clip=1.0")
    if pick.random() < 0.2:
        flags.append("--optimizer=sgd")
    if dtype != "float32" and pick.random() < 0.3:
        flags += ["--grad-dtype=f32"] + ["--master=f32"] * (pick.random() < 0.5)
    model = dict(config=config, options=options, flags=flags, steps=3, fuse=pick.random() < 0.85, batch=batch, seq=seq,
                 rate="3e-4" if hidden == 1024 else gpu_steps.RATE)
    policies = pick.sample(POLICIES, 2)
    return model, [p + "+prologues" * (pick.random() < 0.3) for p in policies]


def close(got, wanted, tolerance=gpu_steps.TOLERANCE):
    return len(got) == len(wanted) and all(abs(a - b) <= tolerance * abs(b) for a, b in zip(got, wanted))


def is_rounding(arguments, bin, folder, target, policy, got, host):
    """Of few tokens AdamW's first steps are signs of gradients, which 16 bits turn around: losses may be as far from
    each other as the host's are from its own in f32, if both agree in f32."""
    config = {**arguments["config"], "torch_dtype": "float32"}
    flags = [f for f in arguments["flags"] if not f.startswith(("--grad-dtype", "--master"))]
    model = Model(bin, folder / "f32", **{**arguments, "config": config, "flags": flags})
    exact, own = (model.train(model.module(p), d).losses for p, d in (("none", "host"), (policy, f"sim:{target}")))
    return close(own, exact, 1e-5) and len(got) == len(host) and all(
        abs(a - b) <= gpu_steps.TOLERANCE * abs(b) + 2 * abs(b - e) for a, b, e in zip(got, host, exact))


def check(bin, folder, seed, number, target):
    """Problems, and what was run."""
    arguments, policies = draw(random.Random(f"{seed} {number}"))
    config = arguments["config"]
    what = (f"#{number} on {target}: {' '.join(str(v) for k, v in config.items() if k != 'architectures')} b {arguments['batch']} "
            f"s {arguments['seq']} {' '.join(arguments['options'] + arguments['flags'])} "
            f"{'' if arguments['fuse'] else 'unfused '}{' '.join(policies)}")
    problems = []
    try:
        model = Model(bin, folder, **arguments)
        host = model.train(model.module("none"), "host")
        first = None
        for policy in policies:
            got = model.train(model.module(policy), f"sim:{target}")
            if not close(got.losses, host.losses) and not (
                    first or is_rounding(arguments, bin, folder, target, policy, got.losses, host.losses)):
                problems.append(f"losses {got.losses} with {policy}, on the host {host.losses}")
            if first and (got.log != first.log or got.gradients != first.gradients):
                problems.append(f"other bytes with {policy} than with {policies[0]}")
            first = first or got
    except SystemExit as why:
        problems.append(str(why))
    else:
        shutil.rmtree(folder)
    return what, problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--only", type=int)
    parser.add_argument("--target", default="sm_80,sm_89")
    parser.add_argument("-j", type=int, default=1)
    o = parser.parse_args()
    targets, failed = o.target.split(","), 0
    numbers = [o.only] if o.only is not None else range(o.count)
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        for what, problems in pool.map(lambda n: check(o.bin.resolve(), o.folder.resolve() / f"{o.seed}-{n}", o.seed, n,
                                                       targets[n % len(targets)]), numbers):
            failed += bool(problems)
            print(f"{what}: {'; '.join(problems) or 'ok'}", flush=True)
    print(f"{len(numbers) - failed} passed, {failed} failed")
    raise SystemExit(failed > 0)
