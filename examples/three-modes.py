#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Activation memory of one model in three modes: formula beside plan, and measured.

  three-modes.py [--config FILE] [--batch N] [--seq N] [--no-toy]

The modes are those of an exercise that people do on a GPU with PyTorch: attention
written out; attention fused; fused, one checkpoint per layer, samples packed.

  formula   the closed form of the report, evaluated here at the model's letters
  planned   the bytes of the compiled step's plan
  measured  what a run took: the highest byte written in an arena that was poisoned
            before, or of a workspace that only GPUs need. A toy model is run; for the large one there are two columns.

Retained and peak are counts over lifetimes, not bytes that one can find in memory
afterwards, so what is measured is the arena, which holds them. Places in it are
multiples of 64 bytes, so the highest byte written may stay up to 63 bytes below its end.

The exit status is 1 when a formula, a plan and a measurement disagree. The tools
are those in PATH.
"""
import argparse
import ast
import json
import operator
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MODES = [
    ("attention unfused", [], []),
    ("attention fused", [], ["--fuse-attention"]),
    ("fused, remat=layer, packed", ["--packed"], ["--fuse-attention", "--remat=layer"]),
]
TOY = {
    "model_type": "llama", "vocab_size": 65, "hidden_size": 96, "head_dim": 24,
    "intermediate_size": 256, "num_hidden_layers": 5, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True,
    "torch_dtype": "float32",
}
ALIGNMENT = 64
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Pow: operator.pow}


def evaluate(formula, letters):
    """The value of sums, products, powers and max() of letters and integers."""
    def value(node):
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Call) and node.func.id == "max":
            return max(map(value, node.args))
        if isinstance(node, ast.Name):
            return letters[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        raise ValueError(f"unexpected part of the formula '{formula}'")
    return value(ast.parse(formula.replace("^", "**"), mode="eval").body)


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"'{' '.join(map(str, command))}' failed:\n{result.stderr}")
    return result.stdout


def report_of(config, shape, importing, passes, folder):
    module, report = folder / "model.mlir", folder / "report.json"
    run("act-import", config, *shape, *importing, "-o", module)
    run("act-opt", module, *passes, f"--memory-report=format=json file={report}",
        "-o", folder / "step.mlir")
    return json.loads(report.read_text())


def measure(folder):
    """Trains the step for three steps and returns the bytes of the arena it wrote."""
    out = folder / "measured.json"
    run("act-run", "train", folder / "step.mlir", "--data", HERE / "data/tinyshakespeare.txt",
        "--steps", 3, "--lr", "1e-3", "--measure", "--measure-json", out)
    return json.loads(out.read_text())["measured"]["arena_bytes"]


def formula_bytes(formula, letters):
    """A formula counts unpadded bytes; what alignment adds is stated beside it."""
    return formula and evaluate(formula["bytes"], letters) + formula["alignment_bytes"]


def rows_of(report, measured):
    """(what, formula, planned, measured) and whether the columns agree."""
    formulas, letters = report["formulas"], report["letters"]
    rows = []
    for what in "retained", "peak":
        rows.append([what, formula_bytes(formulas[what], letters),
                     report[f"{what}_bytes"], None])
    agree = all(formula in (None, planned) for _, formula, planned, _ in rows)
    rows.append(["arena", None, report["arena_bytes"], measured])
    # The last buffer need not fill its place, which is rounded up to ALIGNMENT.
    if measured is not None:
        agree &= 0 <= report["arena_bytes"] - measured < ALIGNMENT
    rows.append(["recomputed FLOPs", None, report["recomputed_flops"], None])
    return rows, agree


def cell(value, flops):
    if value is None:
        return "-"
    return f"{value:.3e}" if flops and value else f"{value:,}"


WORDS = """\
retained: kept from the forward pass for the backward pass. peak: the most that is alive at
one time. arena: the block of memory that the step is given. Letters: L layers, b sequences
of s tokens (t in all, packed), h hidden width, a heads of d numbers, k heads of keys and
values, p = d/2, f feed-forward width, V vocabulary, c tokens whose loss is computed at once.
"""


def table(config, shape, with_run):
    columns = ["formula", "planned"] + (["measured"] if with_run else [])
    print(f"{'mode':28}{'':18}" + "".join(f"{c:>17}" for c in columns))
    good = True
    lines = []
    for mode, importing, passes in MODES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            report = report_of(config, shape, importing, passes, folder)
            measured = measure(folder) if with_run else None
        rows, agree = rows_of(report, measured)
        good &= agree
        for i, row in enumerate(rows):
            flops = row[0].endswith("FLOPs")
            cells = "".join(f"{cell(v, flops):>17}" for v in row[1:1 + len(columns)])
            print(f"{mode if i == 0 else '':28}{row[0]:18}{cells}")
        lines.append((mode, report))
    print()
    for mode, report in lines:
        for what in "retained", "peak":
            f = report["formulas"][what]
            # Of the candidates for a peak, those that can win in this model.
            shown = f["candidates"][:f["shown"]] if f else ["-"]
            print(f"{mode}: {what} = " + (f"max({', '.join(shown)})" if len(shown) > 1 else shown[0]))
    letters = {letter: value for _, report in lines for letter, value in report["letters"].items()}
    print("with " + ", ".join(f"{k} = {v}" for k, v in sorted(letters.items())))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=pathlib.Path, default=HERE / "models/llama-3.2-3b.json")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=4096)
    parser.add_argument("--no-toy", action="store_true", help="leave out the table with a run")
    args = parser.parse_args()

    print(WORDS)
    print(f"{args.config.name}, b = {args.batch}, s = {args.seq}, bytes\n")
    good = table(args.config, ["--batch", args.batch, "--seq", args.seq], False)
    if not args.no_toy:
        print("\nThe same at toy size, run on the host device (b = 2, s = 128), bytes\n")
        with tempfile.TemporaryDirectory() as name:
            config = pathlib.Path(name) / "toy.json"
            config.write_text(json.dumps(TOY))
            good &= table(config, ["--batch", 2, "--seq", 128], True)
    if not good:
        sys.exit("formula, plan and measurement disagree")


if __name__ == "__main__":
    main()
