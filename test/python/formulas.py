# SPDX-License-Identifier: Apache-2.0
"""formulas.py BIN WORK [--all] [--only WORD]: a formula holds at other sizes than the
one it was derived at.

For models, policies, attention and loss fused or not, packed or not: the report's
formulas at one size, with the letters of another in them, have to be what the report
says there, to the byte: what is retained, and the peak. Sizes differ in batch,
sequence and number of layers. A failure prints the terms in which the formulas of
the two sizes differ.

Sizes come in groups, because two things change what a program does: a fused loss of
so few tokens that one chunk holds them all has no letter for the rows of a chunk, and
one whose last chunk is smaller joins the parts by a copy. The layers of segments are
not varied beyond multiples: how many there are is no polynomial in L.

A report says for which sizes its formulas are. That has to contain all of these, and
none of some for which the program is another one.

Without --all it is a few models; with it, all of examples/models.
"""
import ast
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
POLICIES = ["none", "layer", "sqrt", "segments=4", "attention", "attention-core", "selective"]
# (batch, seq) of which the first gives the formulas. Positions end at 1024 (gpt2) or
# 512 (minilm); there batches make the tokens.
SIZES = {
    "one chunk": [(1, 256), (2, 256), (1, 512), (4, 128)],
    "many chunks": [(1, 2048), (2, 2048), (1, 8192), (3, 4096)],
    "many tokens": [(8, 512), (16, 256), (24, 512), (5, 512)],
}
QUICK = [("llama-3.2-1b", "many chunks", False), ("llama-3.2-1b", "many chunks", True),
         ("gpt2", "many tokens", False), ("minilm-l6", "one chunk", False)]


class Polynomial(dict):
    """{monomial as a sorted tuple of letters: coefficient}, from the text of a formula."""

    @staticmethod
    def of(node):
        if isinstance(node, ast.Constant):
            return Polynomial({(): node.value})
        if isinstance(node, ast.Name):
            return Polynomial({(node.id,): 1})
        if isinstance(node, ast.UnaryOp):
            return Polynomial({(): -1}).times(Polynomial.of(node.operand))
        left, right = Polynomial.of(node.left), node.right
        if isinstance(node.op, ast.Pow):
            product = left
            for _ in range(right.value - 1):
                product = product.times(left)
            return product
        right = Polynomial.of(right)
        if isinstance(node.op, ast.Mult):
            return left.times(right)
        return left.plus(right, -1 if isinstance(node.op, ast.Sub) else 1)

    @staticmethod
    def parse(text):
        return Polynomial.of(ast.parse(text.replace("^", "**"), mode="eval").body)

    def plus(self, other, sign=1):
        keys = self.keys() | other.keys()
        sums = {k: self.get(k, 0) + sign * other.get(k, 0) for k in keys}
        return Polynomial({k: c for k, c in sums.items() if c})

    def times(self, other):
        out = Polynomial()
        for x, c in self.items():
            for y, d in other.items():
                out = out.plus({tuple(sorted(x + y)): c * d})
        return out

    def value(self, letters):
        total = 0
        for monomial, coefficient in self.items():
            for letter in monomial:
                coefficient *= letters[letter]
            total += coefficient
        return total

    def __str__(self):
        return " ".join(f"{c:+}{''.join('*' + l for l in m)}" for m, c in sorted(self.items()))


def formula(report, what):
    return [Polynomial.parse(c) for c in report["formulas"][what]["candidates"]]


def best(candidates, letters):
    return max(candidates, key=lambda c: c.value(letters))


def differences(what, source, target):
    """Lines that say what is wrong, none if nothing is."""
    letters, actual = target["letters"], target[f"{what}_bytes"]
    candidates = formula(source, what)
    missing = {l for c in candidates for m in c for l in m} - letters.keys()
    if missing:
        return [f"{what}: {', '.join(sorted(missing))} has no value there"]
    found = best(candidates, letters)
    if found.value(letters) == actual:
        return []
    there = best(formula(target, what), letters)
    return [f"{what}: {found.value(letters)}, expected {actual} ({100 * (found.value(letters) / actual - 1):+.2f} %)",
            f"  terms that are too many or too few: {found.plus(there, -1)}"]


def admits(report, target, layers):
    """Whether the formulas of a report, in letters, are said to hold there."""
    holds, letters = report["formulas"]["holds"], target["letters"]
    return (holds.get("L", layers) == layers and holds.get("L_from", 0) <= layers
            and ("tokens_to" in holds) == ("tokens_to" in target["formulas"]["holds"])
            and ("chunk_rows" in holds) == ("c" in letters) and ("last_chunk_rows" in holds) == ("q" in letters))


class Case:
    def __init__(self, tools, work, model, group, packed, fused, policy):
        self.tools, self.work, self.model, self.packed = tools, work, model, packed
        self.sizes, self.group, self.fused, self.policy = SIZES[group], group, fused, policy
        self.name = "-".join([model, group.replace(" ", "-"), policy] + ["packed"] * packed + ["fused"] * fused)

    def report(self, config, batch, seq, layers):
        name = f"{self.name}-{batch}-{seq}-{layers}"
        config = config | {("n_layer" if "n_layer" in config else "num_hidden_layers"): layers}
        paths = {kind: self.work / f"{name}.{kind}" for kind in ("config", "mlir", "json")}
        paths["config"].write_text(json.dumps(config))
        run = lambda *command: subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        run(self.tools / "act-import", paths["config"], "--batch", batch, "--seq", seq,
            *(["--packed=7"] if self.packed else []), "-o", paths["mlir"])
        run(self.tools / "act-opt", paths["mlir"], *(["--fuse-attention"] if self.fused else []),
            f"--remat={self.policy}", f"--memory-report=format=json file={paths['json']}", "-o", os.devnull)
        report = json.loads(paths["json"].read_text())
        for path in paths.values():
            path.unlink()
        return report

    def errors(self):
        config = json.loads((EXAMPLES / f"{self.model}.json").read_text())
        if config["model_type"] == "bert":  # the example has no head to train
            config["architectures"] = ["BertForMaskedLM"]
        layers = config.get("n_layer") or config["num_hidden_layers"]
        source = self.report(config, *self.sizes[0], layers)
        more = layers + 4 if self.policy not in ("sqrt", "segments=4") else layers
        out = []
        for size in [(*s, layers) for s in self.sizes[1:]] + [(*self.sizes[1], more)]:
            target = self.report(config, *size)
            if not admits(source, target, size[2]):
                out.append(f"{self.name}, derived at {self.sizes[0]}: {source['formulas']['holds']} leaves out {size}")
            out += [f"{self.name}, derived at {self.sizes[0]}, at {size}: {line}"
                    for what in ("retained", "peak") for line in differences(what, source, target)]
        return out, source

    def safe_errors(self):
        try:
            return self.errors()
        except subprocess.CalledProcessError as error:
            return [f"{self.name}: {error.stderr.strip()[:400]}"], None


def bites(report):
    """A formula with one candidate or one term less is noticed."""
    wrong = json.loads(json.dumps(report))
    wrong["formulas"]["retained"]["candidates"] = [report["formulas"]["retained"]["candidates"][0] + " - 4*b"]
    out = [] if differences("retained", wrong, report) else ["a wrong term is not noticed"]
    wrong = json.loads(json.dumps(report))
    candidates = wrong["formulas"]["peak"]["candidates"]
    candidates.remove(max(candidates, key=lambda c: Polynomial.parse(c).value(report["letters"])))
    if candidates and not differences("peak", wrong, report):
        out.append("a missing candidate is not noticed")
    return out


def boundaries(tools, work):
    """Sizes at which the program is another one are not promised."""
    config = json.loads((EXAMPLES / "llama-3.2-1b.json").read_text())
    layers, out = config["num_hidden_layers"], []
    for policy, seq, other in (("none", 2048, (1, 512, layers)), ("none", 512, (1, 2048, layers)),
                               ("none", 2048, (1, 2100, layers)), ("none", 2100, (1, 2048, layers)),
                               ("sqrt", 2048, (1, 2048, layers + 1)), ("budget=1GB", 2048, (1, 2048, layers + 4))):
        case = Case(tools, work, "llama-3.2-1b", "many chunks", False, True, policy)
        source, target = case.report(config, 1, seq, layers), case.report(config, *other)
        if not admits(source, source, layers) or differences("peak", source, source):
            out.append(f"{policy}, s = {seq}: {source['formulas']['holds']} leaves out these sizes themselves")
        if admits(source, target, other[2]):
            out.append(f"{policy}, s = {seq}: {source['formulas']['holds']} has {other}")
        if not differences("peak", source, target):
            out.append(f"{policy}, s = {seq}: the formula holds at {other} as well")
    return out


def cases(tools, work, everything, word):
    models = QUICK
    if everything:
        models = []
        for path in sorted(EXAMPLES.glob("*.json")):
            short = path.stem in ("gpt2", "minilm-l6")
            models += [(path.stem, group, packed) for packed in (False, True)
                       for group in (("one chunk", "many tokens") if short else ("one chunk", "many chunks"))
                       if not (packed and path.stem == "minilm-l6")]
    all_cases = [Case(tools, work, *model, fused, policy)
                 for model in models for fused in (False, True) for policy in POLICIES]
    return [c for c in all_cases if word in c.name]


def main():
    tools, work, *rest = sys.argv[1:]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    word = rest[rest.index("--only") + 1] if "--only" in rest else ""
    chosen = cases(pathlib.Path(tools), work, "--all" in rest, word)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(Case.safe_errors, chosen))
    errors = sum((e for e, _ in found), [])
    reports = [r for _, r in found if r]
    errors += bites(reports[0]) if reports else []
    errors += boundaries(pathlib.Path(tools), work)
    print("\n".join(errors))
    lengths = [sum(map(len, r["formulas"]["peak"]["candidates"])) for r in reports]
    print(f"{len(chosen)} formulas, {len(errors)} errors; of the peaks the longest has "
          f"{max(lengths, default=0)} characters")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
