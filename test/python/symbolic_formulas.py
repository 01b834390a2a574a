# SPDX-License-Identifier: Apache-2.0
"""symbolic_formulas.py BIN WORK [CASES]: formulas of a model without sizes hold for all.

A model is imported with every letter open, and `format=formula` prints its sums. Then
the same model with random sizes for every letter, L as well, is imported and reported
on: the sums with these numbers in them have to be what that report says, to the byte:
what a layer and the model keep, the model's peak. The parts by op add up to the whole,
and the arena's alignment stays below its bound. Where the loss is fused, tokens are
many chunks.

Last, letters that are equal in number: the same formulas come out of a module whose
sizes are given and s = h = f = V.
"""
import json
import os
import pathlib
import random
import subprocess
import sys

LETTERS = {"llama": "b,s,h,a,d,k,f,V", "qwen2": "b,s,h,a,d,k,f,V", "gpt2": "b,s,h,a,d,f,V,P"}
POLICIES = ["none", "selective", "layer", "attention", "attention-core"]


def config_of(family, size):
    if family == "gpt2":
        return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": size["h"], "n_head": size["a"],
                "n_layer": size["L"], "n_inner": size["f"], "vocab_size": size["V"], "n_positions": size["P"],
                "activation_function": "gelu_new", "torch_dtype": "float32"}
    return {"model_type": family, "architectures": [{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[family]],
            "hidden_size": size["h"], "num_attention_heads": size["a"], "num_key_value_heads": size["k"],
            "head_dim": size["d"], "intermediate_size": size["f"], "num_hidden_layers": size["L"],
            "vocab_size": size["V"], "max_position_embeddings": 1 << 20, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
            "hidden_act": "silu", "torch_dtype": "bfloat16"}


def draw(rng, family, fused):
    k, d = rng.randint(1, 5), 2 * rng.randint(1, 40)
    a = k * rng.randint(2, 4)  # with as many keys as queries there is no letter k
    size = {"k": k, "d": d, "a": a, "h": a * d if family != "llama" else rng.randint(1, 999),
            "f": rng.randint(1, 3000), "V": rng.randint(2, 30000), "L": rng.randint(2, 9), "P": 1 << 14,
            "b": rng.randint(1, 4), "s": rng.randint(1, 700)}
    if fused:  # chunks of 1024
        size["b"] = 2 ** rng.randint(0, 2)
        size["s"] = 1024 * rng.randint(2, 9) // size["b"]
    return size


class Tools:
    def __init__(self, folder, work):
        self.folder, self.work = pathlib.Path(folder), work

    def run(self, tool, *arguments):
        return subprocess.run([str(self.folder / tool), *map(str, arguments)], check=True, capture_output=True,
                              text=True).stdout

    def module(self, family, size, symbolic):
        (self.work / "config.json").write_text(json.dumps(config_of(family, size)))
        options = ["--symbolic", LETTERS[family]] if symbolic else ["--batch", size["b"], "--seq", size["s"]]
        self.run("act-import", self.work / "config.json", *options, "-o", self.work / "model.mlir")

    def report(self, passes, form):
        out = self.work / "report"
        self.run("act-opt", self.work / "model.mlir", *passes, f"--memory-report=format={form} file={out}",
                 "-o", os.devnull)
        return json.loads(out.read_text()) if form == "json" else formulas(out.read_text())


def formulas(text):
    """{name: [candidates]}; any other line is an error."""
    out = {}
    for line in text.splitlines():
        name, polynomial = line.split(" = ")
        assert name.isidentifier() and name not in out, line
        inner = polynomial[4:-1] if polynomial.startswith("max(") else polynomial
        out[name] = inner.split(", ")
    return out


def value(candidates, size):
    return max(eval(c.replace("^", "**"), {"__builtins__": {}}, size) for c in candidates)


def differences(lines, report, size):
    """What is wrong with formulas, if the report at these sizes is right."""
    out = []

    def same(name, actual):
        found = value(lines[name], size)
        if found != actual:
            out.append(f"{name} is {found}, the report has {actual}")

    same("model_saved", report["retained_bytes"])
    same("model_peak", report["peak_bytes"])
    for layer in report["layers"]:
        same("layer_saved", layer["retained_bytes"])
    whole = lambda prefix: sum(value(c, size) for n, c in lines.items() if n.startswith(prefix + "_saved_"))
    same("layer_saved", whole("layer"))
    same("model_saved", whole("model") + size["L"] * whole("layer"))
    if value(lines["holds_L_from"], size) != 2 or "holds_L" in lines:
        out.append("the formulas are for any two layers or more, and that is not said")
    if value(lines["layer_peak"], size) > report["peak_bytes"]:
        out.append("a layer's peak is above the model's")
    padding = report["lower_bound_bytes"] - report["peak_bytes"]
    if not 0 <= padding <= value(lines["model_alignment"], size):
        out.append(f"alignment adds {padding}")
    return out


def case(tools, rng, family, policy, fused):
    passes = ["--fuse-attention"] * fused + [f"--remat={policy}"]
    tools.module(family, draw(rng, family, True), True)
    lines = tools.report(passes, "formula")
    errors = []
    for _ in range(3):
        size = draw(rng, family, fused)
        tools.module(family, size, False)
        report = tools.report(passes, "json")
        errors += [f"{family} {' '.join(passes)} at {size}: {e}" for e in differences(lines, report, size)]
    wrong = dict(lines, model_saved=[lines["model_saved"][0] + " + 2*L"])
    if not differences(wrong, report, size):
        errors.append("a wrong formula is not noticed")
    return errors


def moved(tools):
    """What values are moved depends on sizes, but of many layers not on their number. Of two
    and three it cannot be told, and the formulas say that they are of so many."""
    size = {"h": 4096, "a": 32, "k": 8, "d": 128, "f": 14336, "V": 128256, "P": 1 << 14}

    def derived(layers):
        tools.module("llama", dict(size, L=layers), True)
        return tools.report(["--fuse-attention", "--remat=offload"], "formula")

    expected, errors = derived(32), []
    for layers in (4, 33):
        found = derived(layers)
        errors += [f"offload, {n} of {layers} layers is {found[n]}, of 32 {expected[n]}"
                   for n in ("model_saved", "model_peak", "model_alignment", "holds_L_from")
                   if sorted(found[n]) != sorted(expected[n])]
    if derived(3).get("holds_L") != ["3"]:
        errors.append("formulas of three layers with offload promise other numbers")
    return errors


def coincidence(tools, policy):
    """Equal numbers, different letters."""
    size = {"b": 2, "s": 64, "h": 64, "a": 8, "k": 2, "d": 8, "f": 64, "V": 64, "L": 4}
    tools.module("llama", size, True)
    passes = [f"--remat={policy}"]
    expected = tools.report(passes, "formula")
    tools.module("llama", size, False)
    found = tools.report(passes, "formula")
    return [f"with s = h = f = V, {policy}: {n} is {found.get(n)}, expected {expected.get(n)}"
            for n in sorted(expected.keys() | found.keys())
            if sorted(expected.get(n, [])) != sorted(found.get(n, []))]


def main():
    folder, work, *rest = sys.argv[1:]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    tools, rng, errors = Tools(folder, work), random.Random(7), []
    for i in range(int(rest[0]) if rest else 20):
        policy, fused = POLICIES[i % len(POLICIES)], i // len(POLICIES) % 2 == 1
        errors += case(tools, rng, rng.choice(sorted(LETTERS)), policy, fused)
    for policy in POLICIES:
        errors += coincidence(tools, policy)
    errors += moved(tools)
    print("\n".join(errors))
    print(f"{len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
