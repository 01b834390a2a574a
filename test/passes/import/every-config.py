# SPDX-License-Identifier: Apache-2.0
"""Imports every config of a folder, for training and inference, and sends the
module through act-opt twice: the second time must change nothing."""
import json
import pathlib
import subprocess
import sys


def main(configs, scratch):
    scratch.mkdir(parents=True, exist_ok=True)
    files = sorted(configs.glob("*.json"))
    assert files, f"no configs in {configs}"
    for config in files:
        bare = "LM" not in json.loads(config.read_text())["architectures"][0]
        for mode in ["infer"] if bare else ["train", "infer"]:
            out = scratch / f"{config.stem}-{mode}.mlir"
            subprocess.run(["act-import", config, "--mode", mode, "-o", out], check=True)
            once = subprocess.run(["act-opt", out], check=True, capture_output=True, text=True)
            twice = subprocess.run(["act-opt"], input=once.stdout, check=True,
                                   capture_output=True, text=True)
            assert once.stdout == twice.stdout, f"{out} changes in a round trip"
            assert "func.func @forward" in once.stdout, f"{out} has no @forward"


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
