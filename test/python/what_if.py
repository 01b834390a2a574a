# SPDX-License-Identifier: Apache-2.0
"""what_if.py BIN WORK: what is said to fit on a card does, and one step more does not.

For models and cards the report names the longest sequence and the largest batch of
each policy. The model is imported anew with that size, and with the next, and the
report on it has to have the total peak that was promised: at most the card's bytes, and
more. Curves are formulas, so they pass through what is reported, within the rows of a
chunk of the loss.
"""
import json
import os
import pathlib
import subprocess
import sys

MODELS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
CASES = [("llama-3.2-1b", [], 60_000_000_000, True),
         ("llama-3.2-1b", ["--packed=4"], 48_000_000_000, True), ("gpt2", [], 8_000_000_000, False),
         ("llama-3.1-8b", ["--quantize", "nf4", "--lora-rank", "32", "--lora-targets", "q,v"], 24_000_000_000, True),
         ("llama-3.1-8b", [], 24_000_000_000, True)]


class Tools:
    def __init__(self, folder, work):
        self.folder, self.work = pathlib.Path(folder), work

    def report(self, model, options, batch, seq, flags, settings=""):
        run = lambda *command: subprocess.run(list(map(str, command)), check=True, capture_output=True)
        module, out = self.work / "model.mlir", self.work / "report.json"
        run(self.folder / "act-import", MODELS / f"{model}.json", *options, "--batch", batch, "--seq", seq, "-o", module)
        run(self.folder / "act-opt", module, *flags, f"--memory-report=format=json file={out} {settings}", "-o", os.devnull)
        return json.loads(out.read_text())


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


def main():
    folder, work = sys.argv[1:]
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    tools, wrong, fits = Tools(folder, work), [], 0
    for case in CASES:
        more, found = errors(tools, *case)
        wrong, fits = wrong + more, fits + found
    print("\n".join(wrong))
    print(f"{fits} sizes that fit, {len(wrong)} errors")
    return 1 if wrong or fits < 25 else 0


if __name__ == "__main__":
    sys.exit(main())
