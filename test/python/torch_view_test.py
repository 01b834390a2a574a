# SPDX-License-Identifier: Apache-2.0
"""torch_view_test.py BUILD [--seed N] [--count N] [--full]: view torch is PyTorch, to the byte.

Models drawn at random are imported and reported, and run through PyTorch itself
(torch_view.py): retained bytes, peak, and the list of what is saved have to be the
same; where PyTorch has no kernel, the report has to refuse. Then the figures of one
known model. --full: the shapes of released models, all attention implementations,
three ways to checkpoint, in place of those at random, in an order drawn with the seed;
all of them take hours, --count stops earlier.
"""
import argparse
import collections
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import transformers

import torch_view

MODELS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
ATTENTION = ["sdpa", "eager", "sdpa-math", "sdpa-flash", "sdpa-efficient"]
SHORT = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


class Compiler:
    def __init__(self, build, work):
        self.bin, self.work = pathlib.Path(build) / "bin", pathlib.Path(work)

    def report(self, fields, batch, seq, attention, policy, checkpoint):
        """The JSON, or the message of the refusal."""
        config, module = self.work / "config.json", self.work / "model.mlir"
        config.write_text(json.dumps(fields))
        subprocess.run([self.bin / "act-import", config, "--batch", str(batch), "--seq", str(seq),
                        "-o", module], check=True, capture_output=True, text=True)
        flags = [f"--remat={policy}"] if policy else []
        done = subprocess.run(
            [self.bin / "act-opt", module, *flags,
             f"--memory-report=view=torch attention={attention} checkpoint={checkpoint} "
             "format=json file=-", "-o", "/dev/null"], capture_output=True, text=True)
        if done.returncode < 0:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def draw(rng):
    """(fields of a config.json, batch, seq, attention, policy, segments, checkpoint)"""
    kind = rng.choice(["llama", "mistral", "qwen2", "gpt2", "bert"])
    hidden, layers = rng.choice([24, 48, 72, 96]), rng.randint(1, 5)
    fields = {"model_type": kind, "vocab_size": rng.choice([13, 50, 100, 999]),
              "torch_dtype": rng.choice(list(SHORT))}
    p = lambda: rng.choice([0, 0.1])
    if kind == "gpt2":
        fields |= {"n_embd": hidden, "n_layer": layers, "n_head": rng.choice([1, 2, 4]),
                   "n_positions": 64, "n_inner": rng.choice([None, 8, 48]),
                   "activation_function": rng.choice(["gelu_new", "gelu", "gelu_pytorch_tanh"]),
                   "embd_pdrop": p(), "attn_pdrop": p(), "resid_pdrop": p(),
                   "tie_word_embeddings": rng.random() < 0.7, "bos_token_id": 1,
                   "eos_token_id": 2}
    elif kind == "bert":
        fields |= {"hidden_size": hidden, "num_hidden_layers": layers,
                   "num_attention_heads": rng.choice([1, 2, 4]),
                   "intermediate_size": rng.choice([8, 48, 96]), "max_position_embeddings": 64,
                   "hidden_act": rng.choice(["gelu", "gelu_new", "silu"]),
                   "hidden_dropout_prob": p(), "attention_probs_dropout_prob": p(),
                   "architectures": ["BertForMaskedLM"],
                   "tie_word_embeddings": rng.random() < 0.7}
    else:
        heads = rng.choice([1, 2, 3, 4, 6])
        fields |= {"hidden_size": hidden, "num_hidden_layers": layers,
                   "num_attention_heads": heads,
                   "num_key_value_heads": rng.choice([k for k in (1, 2, 3, 4, 6)
                                                      if heads % k == 0]),
                   "head_dim": rng.choice([2, 4, 6, 8, 16, 20, 32]),
                   "intermediate_size": rng.choice([8, 48, 96]),
                   "tie_word_embeddings": rng.random() < 0.4,
                   "hidden_act": rng.choice(["silu", "silu", "gelu"]),
                   "attention_dropout": rng.choice([0, 0, 0.1]), "max_position_embeddings": 64}
        if kind == "llama":
            fields |= {"attention_bias": rng.random() < 0.4, "mlp_bias": rng.random() < 0.4}
        if kind == "mistral":
            fields["sliding_window"] = rng.choice([None, None, 3, 5, 40])
        if kind == "qwen2" and rng.random() < 0.4:
            fields |= {"use_sliding_window": True, "sliding_window": rng.choice([3, 40]),
                       "max_window_layers": rng.choice([0, layers])}
    policy, segments = rng.choice([("", None), ("attention", "attention"), ("layer", layers),
                                   ("sqrt", max(1, math.floor(math.sqrt(layers) + 0.5)))])
    return (fields, rng.randint(1, 4), rng.choice([2, 3, 5, 7, 8, 16, 33]),
            rng.choice(ATTENTION), policy, segments,
            rng.choice(["nonreentrant", "nonreentrant", "reentrant"]))


def compare(compiler, fields, batch, seq, attention, policy, segments, checkpoint):
    """What differs, or nothing. Second: did both refuse?"""
    mine = compiler.report(fields, batch, seq, attention, policy, checkpoint)
    try:
        theirs = torch_view.measure(fields, batch, seq, attention, None, segments, checkpoint)
    except torch_view.Refused as refusal:
        return ([] if isinstance(mine, str) and "view torch" in mine
                else [f"PyTorch refuses, {refusal}; act does not"]), True
    if isinstance(mine, str):
        return [f"act refuses: {mine}"], False
    wrong = [f"{key} {mine[key + '_bytes']:,}, PyTorch {theirs[key]:,}"
             for key in ("retained", "peak") if mine[key + "_bytes"] != theirs[key]]
    if not policy:
        # A storage that two nodes keep is listed with either.
        one = collections.Counter((s["bytes"], s["dtype"]) for s in mine["saved"])
        two = collections.Counter((size, dtype) for _, _, _, dtype, size in theirs["saved"])
        if one != two:
            wrong.append(f"saved: act alone {one - two}, PyTorch alone {two - one}")
    return wrong, False


def full(seed, count):
    def config(name, **changed):
        return json.loads((MODELS / f"{name}.json").read_text()) | changed
    models = [config("llama-3.2-1b"), config("llama-3.2-3b"), config("llama-3.1-8b"),
              config("mistral-7b-v0.3"), config("qwen2.5-7b"), config("gpt2"),
              config("minilm-l6", architectures=["BertForMaskedLM"])]
    cases = []
    for fields, attention, (policy, kind), batch in itertools.product(
            models, ATTENTION, [("", "nonreentrant"), ("layer", "nonreentrant"),
                                ("layer", "reentrant"), ("attention", "nonreentrant")],
            [1, 2]):
        layers = fields.get("num_hidden_layers", fields.get("n_layer"))
        most = {"gpt2": 1024, "bert": 512}.get(fields["model_type"], 4096)
        for seq in [s for s in (512, 1024, 4096) if s <= most]:
            segments = {"": None, "layer": layers, "attention": "attention"}[policy]
            cases.append((fields, batch, seq, attention, policy, segments, kind))
    random.Random(seed).shuffle(cases)
    return cases[:count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    cases = full(arguments.seed, arguments.count) if arguments.full else (
        draw(random.Random(arguments.seed * 1000000 + i)) for i in range(arguments.count))
    failures = agreed = refused = 0
    with tempfile.TemporaryDirectory() as work:
        compiler = Compiler(arguments.build, work)
        for fields, *rest in cases:
            wrong, both = compare(compiler, fields, *rest)
            refused += both
            agreed += not wrong
            if arguments.full and not wrong:
                print("agree:", fields["model_type"], fields.get("hidden_size", fields.get("n_embd")),
                      *rest, "(both refuse)" if both else "", flush=True)
            if wrong:
                failures += 1
                print(json.dumps(fields), *rest, *wrong, sep="\n  ", flush=True)
        # Published beside the project's other figures.
        fields = json.loads((MODELS / "llama-3.1-8b.json").read_text())
        known = {"eager": 1241530368, "sdpa-math": 1023426560, "sdpa-efficient": 436486160,
                 "sdpa-flash": 411320344}
        for attention, layer in known.items():
            report = compiler.report(fields, 1, 2048, attention, "", "nonreentrant")
            if report["layers"][0]["retained_bytes"] != layer:
                failures += 1
                print("llama-3.1-8b", attention, report["layers"][0]["retained_bytes"])
        if (report["retained_bytes"], report["peak_bytes"]) != (14281106188, 16382436104):
            failures += 1
            print("llama-3.1-8b", report["retained_bytes"], report["peak_bytes"])
    print(f"{agreed} agree, of which PyTorch refuses {refused}; {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
