# SPDX-License-Identifier: Apache-2.0
"""published.py BIN WORK: the tables of the two benches that stand beside published figures.

bench/strategies.py (Llama-3.1-8B, QLoRA of rank 32, b = 2, s = 4096) and
bench/inference.py (Mistral-7B-v0.3, b = 2, s = 3072). What they print comes out of the
IR; here it is added up from the config: parameters, what a layer keeps by policy, cache
and logits to the byte, FLOPs that run again and probabilities within a little. Then what is
published is held against it: which readings cannot be what they are called.
"""
import json
import pathlib
import subprocess
import sys

BIN = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
errors = []


def check(what, found, expected):
    if found != expected:
        errors.append(f"{what}: {found}, expected {expected}")


def holds(what, truth):
    if not truth:
        errors.append(f"{what} does not hold")


def bench(name):
    run = subprocess.run([sys.executable, ROOT / f"bench/{name}.py", "--json", "--bin", BIN],
                         check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


class Model:
    def __init__(self, name):
        c = json.loads((ROOT / f"examples/models/{name}.json").read_text())
        self.h, self.f, self.L, self.V = (c[key] for key in (
            "hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"))
        self.heads = c["num_attention_heads"]
        head = c.get("head_dim") or self.h // self.heads
        self.q, self.kv = self.heads * head, c["num_key_value_heads"] * head
        self.linears = [(self.h, self.q), (self.h, self.kv), (self.h, self.kv), (self.q, self.h),
                        (self.h, self.f), (self.h, self.f), (self.f, self.h)]
        self.projections = self.L * sum(i * o for i, o in self.linears)
        self.rest = 2 * self.V * self.h + (2 * self.L + 1) * self.h  # embedding, head, norms

    def bytes(self, weights):
        if weights == "nf4":  # four bits, an f32 for each block of 64; the rest in 16 bits
            return self.projections // 2 + 4 * self.projections // 64 + 2 * self.rest
        if weights == "nf4-nested":  # a byte for each block, an f32 for 256 of these, another for each tensor
            return (self.projections // 2 + self.projections // 64 + 4 * self.projections // 64 // 256
                    + 4 * self.L * len(self.linears) + 2 * self.rest)
        return {"f32": 4, "bf16": 2}[weights] * (self.projections + self.rest)


def strategies():
    b, s, r = 2, 4096, 32
    t, m = b * s, Model("llama-3.1-8b")
    rows = {row["strategy"]: row for row in bench("strategies")}
    for name, row in rows.items():
        check(f"{name}, error", row.get("error"), None)

    adapters = m.L * sum(r * (i + o) for i, o in m.linears)
    statistics, rank = 4 * m.heads * t + 8 * t, 2 * 7 * r * t  # log-sum-exps and rstd; inputs of the adapters' B
    width = 2 * t * (m.q + m.kv)
    kept = {"none": 2 * t * (4 * m.h + 3 * m.f) + 2 * width + statistics + rank,
            "selective": 2 * t * (2 * m.h + 2 * m.f) + 2 * width + statistics + rank,
            "attention": 2 * t * (4 * m.h + 3 * m.f) + 8 * t + rank, "layer": 2 * t * m.h}
    for name, row in rows.items():
        check(f"{name}, parameters", row["parameters_bytes"], m.bytes("nf4") + 2 * adapters)
        check(f"{name}, gradients", row["gradients_bytes"], 2 * adapters)
        check(f"{name}, optimizer", row["optimizer_bytes"], 12 * adapters)  # f32: master, two moments
        if name in kept:
            check(f"{name}, a layer keeps", row["layer_retained_bytes"], kept[name])
    # A layer's forward without its last product; of the scores, the causal half.
    products = 2 * t * m.L * (sum(i * o for i, o in m.linears[:-1]) + r * sum(i + o for i, o in m.linears[:-1]))
    products += 2 * m.L * b * s * s * m.q
    again = rows["layer"]["recomputed_flops"]
    holds(f"layer: {again} FLOPs again are those of all products but the last and attention, {products}",
          products < again < 1.005 * products)
    holds("selective runs no product again", rows["selective"]["flops_again_percent"] < 0.02)
    scores = rows["none, attention not fused"]["peak_bytes"] - rows["none"]["peak_bytes"]
    holds("without fused attention every layer's probabilities are kept",
          abs(scores - 2 * m.L * m.heads * b * s * s) < 0.05 * scores)

    total = {name: row["total_peak_bytes"] for name, row in rows.items()}
    holds("as published, none is more than a card of 24 GB", total["none"] > 24e9)
    holds("as published, per layer < sqrt < attention < off",
          total["layer"] < total["sqrt"] < total["attention"] < total["none"])
    # Not as published: per layer keeps least, and what keeps all products' inputs cannot keep less.
    holds("selective is above per layer", total["selective"] > total["layer"])
    holds("attention alone is more than a card of 24 GB", total["attention"] > 24e9)
    for policy in ("selective", "attention", "layer"):
        row = rows[f"budget, at {policy}'s"]
        holds(f"a budget of {policy}'s total is kept", row["total_peak_bytes"] <= total[policy])
        holds(f"a budget of {policy}'s total runs no more again",
              row["recomputed_flops"] <= rows[policy]["recomputed_flops"])
        holds(f"a budget of {policy}'s total is within 0.5 % of the least", row["gap_percent"] < 0.5)
    holds("fit:24GB is kept", rows["budget=fit:24GB"]["total_peak_bytes"] <= 24e9)


def inference():
    b, s, m, GiB = 2, 3072, Model("mistral-7b-v0.3"), 2**30
    rows = {(row["weights"], row["attention"]): row for row in bench("inference")}
    check("conditions", len(rows), 8)
    for (weights, attention), row in rows.items():
        what, size = f"{weights}, {attention}", 4 if weights == "f32" else 2
        cache, logits = 2 * m.L * b * s * m.kv * size, b * s * m.V * size
        check(f"{what}, weights", row["weights_bytes"], m.bytes(weights))
        check(f"{what}, cache", row["cache_bytes"], cache)
        check(f"{what}, logits", row["logits_bytes"], logits)
        check(f"{what}, f32 copy", row["f32_copy_bytes"], 0 if size == 4 else 4 * b * s * m.V)
        ids = row["total_bytes"] - sum(row[f"{part}_bytes"] for part in ("weights", "activations", "cache", "logits"))
        check(f"{what}, token ids", ids, 4 * b * s)
        # Standard attention has scores and probabilities of one layer at a time; a step in f32 doubles them.
        scores = b * m.heads * s * s * size
        holds(f"{what}, activations", row["activations_bytes"] >= scores if attention == "standard"
              else row["activations_bytes"] < scores)
        if row["published"]:
            before = float(row["published"].split()[0])
            holds(f"{what}: {before} GiB before the pass is none of these weights",
                  abs(m.bytes(weights) / GiB - before) > 1)
    for weights, published in (("f32", 27.0), ("bf16", 13.5), ("nf4", 4.16), ("nf4-nested", 3.85)):
        check(f"{weights} in GiB", float(f"{m.bytes(weights) / GiB:.3g}"), published)


def main():
    strategies()
    inference()
    print("\n".join(errors + [f"{len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
