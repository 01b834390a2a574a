#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What inference of a model needs, by weights and attention, beside published readings.

  bench/inference.py [CONFIG.json] [--batch 2] [--seq 3072] [--json] [--bin build/bin]

Reads a prompt of --seq tokens. In GiB: the weights; activations at the peak (the plan of
this runtime); the cache of keys and values (act-import --kv-cache); logits of all tokens
in the model's type, and the f32 copy that some implementations make; the sum without
that copy. "standard" is attention in primitives, "flash" --fuse-attention. "nf4-nested"
is nf4 with QLoRA's double quantisation.

The readings (Mistral-7B-v0.3, b = 2, s = 3072; GiB that PyTorch had reserved before and
after the pass) cannot be the memory of this model on one device: weights alone are
27.0 GiB in f32, the default load. The first two runs were offloaded, the second never
passed its quantisation config and so is the first again, and what was reserved was not
set back between runs.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
WEIGHTS = {"f32": ["--dtype", "f32"], "bf16": [], "nf4": ["--quantize", "nf4"],
           "nf4-nested": ["--quantize", "nf4-nested"]}
ATTENTION = {"standard": [], "flash": ["--fuse-attention"]}
COLUMNS = ("weights_bytes", "activations_bytes", "cache_bytes", "logits_bytes", "f32_copy_bytes", "total_bytes")
PUBLISHED = {("f32", "standard"): "7.57 -> 8.74", ("nf4", "standard"): "7.55 -> 8.72",
             ("nf4", "flash"): "9.35 -> OOM"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("config", nargs="?", type=pathlib.Path,
                        default=root / "examples/models/mistral-7b-v0.3.json")
    parser.add_argument("--batch", default="2")
    parser.add_argument("--seq", default="3072")
    parser.add_argument("--json", action="store_true", help="the same in bytes")
    found = shutil.which("act-opt")
    parser.add_argument("--bin", type=pathlib.Path, help="the tools' folder (that in PATH, else build/bin)",
                        default=pathlib.Path(found).parent if found else root / "build/bin")
    args = parser.parse_args()
    is_default = args.config.name == "mistral-7b-v0.3.json" and (args.batch, args.seq) == ("2", "3072")

    def run(*command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)

    if not args.json:
        print(f"{'weights':<12}{'attention':<10}{'weights':>9}{'activations':>12}{'cache':>8}{'logits':>8}"
              f"{'f32 copy':>10}{'total':>8}   published")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model, out = pathlib.Path(folder, "m.mlir"), pathlib.Path(folder, "r.json")

        def report(weights, attention, *more):
            run(args.bin / "act-import", args.config, "--mode", "infer", "--batch", args.batch, "--seq",
                args.seq, *WEIGHTS[weights], *more, "-o", model)
            run(args.bin / "act-opt", model, *ATTENTION[attention],
                f"--memory-report=format=json file={out}", "-o", "/dev/null")
            return json.loads(out.read_text())

        for weights in WEIGHTS:
            for attention in ATTENTION:
                logits = report(weights, attention)["outputs_bytes"]
                r = report(weights, attention, "--kv-cache")
                copy = 0 if weights == "f32" else 2 * logits
                sizes = [r["parameters_bytes"], r["peak_bytes"], r["outputs_bytes"] - logits, logits, copy,
                         r["total_peak_bytes"]]
                published = PUBLISHED.get((weights, attention), "") if is_default else ""
                rows.append({"weights": weights, "attention": attention, "published": published,
                             **dict(zip(COLUMNS, sizes))})
                if not args.json:
                    print(f"{weights:<12}{attention:<10}" + "".join(
                        f"{v / 2**30:>{w}.2f}" for v, w in zip(sizes, (9, 12, 8, 8, 10, 8)))
                        + f"   {published}".rstrip())
    if args.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
