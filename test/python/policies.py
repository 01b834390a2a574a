# SPDX-License-Identifier: Apache-2.0
"""policies.py BIN WORK: what each policy retains, in closed form.

A Llama layer in bf16 without dropout or biases has to keep, per layer (h hidden,
a heads, k kv heads, d their size, f the MLP's width):

  standard attention       b s (8 h + 4 a d + 4 k d + 6 f) + 2 a s^2 b + 8 s b
  flash                    b s (8 h + 4 a d + 4 k d + 6 f) + 4 a s b   + 8 s b
  flash, cheap recomputed  b s (4 h + 4 a d + 4 k d + 4 f) + 4 a s b   + 8 s b
  per layer                2 b s h
  n segments               2 b s h n / L

The compiler derives its formulas from the IR; here they are typed in, and have to
be equal as functions of the letters, and in bytes, at a toy and at a real size.
"""
import json
import pathlib
import random
import re
import subprocess
import sys

TOOLS, WORK = map(pathlib.Path, sys.argv[1:3])
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
TOY = {"model_type": "llama", "hidden_size": 40, "num_attention_heads": 6, "num_key_value_heads": 3,
       "head_dim": 8, "intermediate_size": 72, "num_hidden_layers": 5, "vocab_size": 64,
       "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu",
       "max_position_embeddings": 64, "torch_dtype": "bfloat16"}
STANDARD = "b*s*(8*h + 4*a*d + 4*k*d + 6*f) + 2*a*s*s*b + 8*s*b"
FLASH = "b*s*(8*h + 4*a*d + 4*k*d + 6*f) + 4*a*s*b + 8*s*b"
CHEAP = "b*s*(4*h + 4*a*d + 4*k*d + 4*f) + 4*a*s*b + 8*s*b"
INPUT = "2*b*s*h"
# What PyTorch keeps for the same with flash attention at s = 2048, measured.
EAGER_FLASH_LAYER, EAGER_FLASH_MODEL = 411_320_344, 14_281_106_188
errors = []


def check(what, found, expected):
    if found != expected:
        errors.append(f"{what}: {found}, expected {expected}")


def value(formula, letters):
    """Only letters, numbers and + - * ^ ( ): nothing that eval could be misled by."""
    assert re.fullmatch(r"[\w\s+\-*^(),]+", formula), formula
    return eval(formula.replace("^", "**"), {"__builtins__": {"max": max}}, letters)


def report(model, fused, policy):
    out = WORK / "report.json"
    subprocess.run([TOOLS / "act-opt", model, *(["--fuse-attention"] if fused else []),
                    f"--remat={policy}", f"--memory-report=format=json file={out}", "-o", "/dev/null"],
                   check=True)
    return json.loads(out.read_text())


def imported(config, name, batch, seq):
    out = WORK / f"{name}.mlir"
    subprocess.run([TOOLS / "act-import", config, "--batch", str(batch), "--seq", str(seq), "-o", out],
                   check=True)
    return out


def same_function(what, formula, expected, letters):
    dice = random.Random(1)
    for at in [letters] + [{l: dice.randint(1, 50) for l in letters} for _ in range(20)]:
        if value(formula, at) != value(expected, at):
            errors.append(f"{what}: the formula is {formula}, expected {expected}")
            return


def check_layers(name, r, expected):
    """Every layer, in letters and in bytes. Returns what is retained outside of
    the layers."""
    for layer in r["layers"]:
        what = f"{name}, layer {layer['index']}"
        check(what, layer["retained_bytes"], value(expected, r["letters"]))
        same_function(what, layer["formula"], expected, r["letters"])
    total = sum(layer["retained_bytes"] for layer in r["layers"])
    check(f"{name}, total formula", value(r["formulas"]["retained"]["bytes"], r["letters"]),
          r["retained_bytes"])
    return r["retained_bytes"] - total


def gemm_flops(c, b, s, layers):
    """Of what a layer runs again: all its products but the last."""
    h, f = c["hidden_size"], c["intermediate_size"]
    ad, kd = (c[n] * c["head_dim"] for n in ("num_attention_heads", "num_key_value_heads"))
    return layers * 2 * b * s * (h * ad + 2 * h * kd + ad * h + 2 * h * f)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    config = WORK / "toy.json"
    config.write_text(json.dumps(TOY))
    model = imported(config, "toy", 3, 16)
    layers = TOY["num_hidden_layers"]
    for fused, whole in ((False, STANDARD), (True, FLASH)):
        name = "fused" if fused else "unfused"
        plain = report(model, fused, "none")
        outside = check_layers(f"{name} none", plain, whole)
        check(f"{name} none, recomputed", plain["recomputed_flops"], 0)

        layer = report(model, fused, "layer")
        kept = value(INPUT, layer["letters"])
        check(f"{name} layer", check_layers(f"{name} layer", layer, INPUT), outside)
        products = gemm_flops(TOY, 3, 16, layers)
        if not products < layer["recomputed_flops"] < 1.5 * products:
            errors.append(f"{name} layer: {layer['recomputed_flops']} recomputed, products {products}")

        for n in range(1, layers + 1):
            r = report(model, fused, f"segments={n}")
            check(f"{name} segments={n}", r["retained_bytes"], outside + kept * n)
            check(f"{name} segments={n}, formula",
                  value(r["formulas"]["retained"]["bytes"], r["letters"]), r["retained_bytes"])
            # The same work for every n: a layer is run again once.
            check(f"{name} segments={n}, recomputed", r["recomputed_flops"] >= products, True)
        check(f"{name} sqrt", report(model, fused, "sqrt")["retained_bytes"], outside + 2 * kept)

    selective = report(model, True, "selective")
    rest = check_layers("fused selective", selective, CHEAP)
    if rest >= outside:
        errors.append(f"selective keeps {rest} outside of the layers, none {outside}")
    if selective["recomputed_flops"] > 0.1 * products:
        errors.append(f"selective recomputes {selective['recomputed_flops']} FLOPs: no products")

    real = imported(EXAMPLES / "models/llama-3.1-8b.json", "8b", 1, 4096)
    for policy, expected in (("none", FLASH), ("selective", CHEAP), ("layer", INPUT)):
        check_layers(f"8B {policy}", report(real, True, policy), expected)
    short = report(imported(EXAMPLES / "models/llama-3.1-8b.json", "8b-2048", 1, 2048), True, "none")
    for what, found, most in (("layer", short["layers"][1]["retained_bytes"], EAGER_FLASH_LAYER),
                              ("model", short["retained_bytes"], EAGER_FLASH_MODEL)):
        if found > most:
            errors.append(f"8B {what} retains {found}, more than PyTorch eager's {most}")
    print("\n".join(errors + [f"{len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
