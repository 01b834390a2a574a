# SPDX-License-Identifier: Apache-2.0
"""what_if.py BIN WORK: what is said to fit on a card does, and one step more does not.

For models and cards the report names the longest sequence and the largest batch of
each policy. The model is imported anew with that size, and with the next, and the
report on it has to have the total peak that was promised: at most the card's bytes, and
more. Curves are formulas, so they pass through what is reported, within the rows of a
chunk of the loss. A budget's row is held to --remat=budget=fit of the card, which has
to find no choice one step further; with an allocator, reserved bytes take the place of
the total peak.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

MODELS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
CASES = [("llama-3.2-1b", [], 60_000_000_000, True),
         ("llama-3.2-1b", ["--packed=4"], 48_000_000_000, True), ("gpt2", [], 8_000_000_000, False),
         ("llama-3.1-8b", ["--quantize", "nf4", "--lora-rank", "32", "--lora-targets", "q,v"], 24_000_000_000, True),
         ("llama-3.1-8b", [], 24_000_000_000, True)]
LORA = ["--quantize", "nf4", "--lora-rank", "16", "--lora-targets", "q,v"]
# model, options, card, with budget, with an allocator
MORE = [("llama-3.2-1b", LORA, 8_000_000_000, True, False), ("llama-3.2-1b", [], 60_000_000_000, False, True),
        ("gpt2", [], 5_000_000_000, True, True)]


class Tools:
    def __init__(self, folder, work):
        self.folder, self.work = pathlib.Path(folder), work

    def report(self, model, options, batch, seq, flags, settings=""):
        run = lambda *command: subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        module, out = self.work / "model.mlir", self.work / "report.json"
        run(self.folder / "act-import", MODELS / f"{model}.json", *options, "--batch", batch, "--seq", seq, "-o", module)
        run(self.folder / "act-opt", module, *flags, f"--memory-report=format=json file={out} {settings}", "-o", os.devnull)
        return json.loads(out.read_text())

    def least(self, *arguments):
        """What a budget needs at least, if it cannot be kept."""
        try:
            self.report(*arguments)
        except subprocess.CalledProcessError as e:
            found = re.search(r"smallest feasible budget known is fit:(\d+)", e.stderr)
            return int(found[1]) if found else None
        return None


def errors(tools, model, options, card, fused):
    base = {"b": 1, "s": 1024}
    flags = ["--fuse-attention"] * fused
    answer = tools.report(model, options, base["b"], base["s"], flags, f"what-if={card}")["what_if"]
    out, found = [], 0
    for row in answer["policies"]:
        for letter, fit in row["largest"].items():
            def total(size):
                at = {"s" if letter == "t" else letter: size}
                at = {**base, **at}
                return tools.report(model, options, at["b"], at["s"],
                                    flags + [f"--remat={row['policy']}"])["total_peak_bytes"]
            place = f"{model} {options} on {card}, {row['policy']}, {letter} = {fit['size']}"
            if fit["size"]:
                found += 1
                actual = total(fit["size"])
                if not actual == fit["total_peak_bytes"] <= card:
                    out.append(f"{place}: {fit['total_peak_bytes']} promised, {actual} reported")
            if fit["next_total_peak_bytes"] is None:
                if model != "gpt2" or letter != "s" or fit["size"] != 1024:
                    out.append(f"{place}: no next size")
                continue
            actual = total(fit["size"] + fit["step"])
            if not actual == fit["next_total_peak_bytes"] > card:
                out.append(f"{place}: {fit['next_total_peak_bytes']} for the next size, {actual} reported")
        for size, bytes in row["curve"][40:41]:
            if letter == "t" or model == "gpt2" and size > 1024:
                continue
            actual = tools.report(model, options, 1, size, flags + [f"--remat={row['policy']}"])["total_peak_bytes"]
            if abs(bytes - actual) > 0.02 * actual:
                out.append(f"{model} on {card}, {row['policy']}: the curve at {size} is {bytes}, reported {actual}")
    return out, found


def more_errors(tools, model, options, card, budget, allocator):
    base = {"b": 1, "s": 512}
    flags, settings = ["--fuse-attention"], "allocator=cuda-caching" * allocator
    key = "reserved_peak_bytes" if allocator else "total_peak_bytes"
    answer = tools.report(model, options, base["b"], base["s"], flags,
                          f"what-if={card}{',budget' * budget} {settings}")["what_if"]
    rows = {row["policy"]: row for row in answer["policies"]}
    out, found = [], 0
    if ("budget" in rows) != budget or answer.get("allocator") != ("cuda-caching" if allocator else None):
        out.append(f"{model}: {list(rows)}, {answer.get('allocator')}")
    for policy, row in rows.items():
        size, held = row["curve"][-1]
        if policy == "budget" and (size, held) != (row["largest"]["s"]["size"], row["largest"]["s"][key]):
            out.append(f"{model}: the budget's curve ends at {size}, {held}")
        if policy == "budget" and max(bytes for _, bytes in row["curve"]) > card:
            out.append(f"{model}: the budget's curve leaves the card")
        for letter, fit in row["largest"].items():
            place = f"{model} {options} on {card}, {policy}, {letter} = {fit['size']}, {key}"
            remat = f"--remat={policy}" if policy != "budget" else f"--remat=budget=fit:{card}"
            if policy == "budget" and allocator:
                remat = f"--remat=policy=budget=fit:{card} allocator=cuda-caching"
            at = lambda size: (model, options, *{**base, letter: size}.values(), flags + [remat], settings)
            if policy == "budget":
                longest = max(r["largest"][letter]["size"] for r in rows.values())
                if fit["size"] != longest:
                    out.append(f"{place}: less than {longest} of a fixed policy")
            if fit["size"]:
                found += 1
                actual = tools.report(*at(fit["size"]))[key]
                if not actual == fit[key] <= card:
                    out.append(f"{place}: {fit[key]} promised, {actual} reported")
            if fit[f"next_{key}"] is None:
                if (model, letter, fit["size"]) != ("gpt2", "s", 1024):
                    out.append(f"{place}: no next size")
                continue
            following = at(fit["size"] + fit["step"])
            actual = tools.least(*following) if policy == "budget" else tools.report(*following)[key]
            if not (actual or 0) == fit[f"next_{key}"] > card:
                out.append(f"{place}: {fit[f'next_{key}']} for the next size, {actual} reported")
    return out, found


def main():
    folder, work = sys.argv[1:]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    tools, wrong, fits = Tools(folder, work), [], 0
    for case in CASES:
        more, found = errors(tools, *case)
        wrong, fits = wrong + more, fits + found
    for case in MORE:
        more, found = more_errors(tools, *case)
        wrong, fits = wrong + more, fits + found
    print("\n".join(wrong))
    print(f"{fits} sizes that fit, {len(wrong)} errors")
    return 1 if wrong or fits < 45 else 0


if __name__ == "__main__":
    sys.exit(main())
