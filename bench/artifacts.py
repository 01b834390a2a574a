# SPDX-License-Identifier: Apache-2.0
"""Artifacts as JSON, by flatc and the format's schema."""
import json
import pathlib
import subprocess
import sys

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "lib/Artifact/Step.fbs"


def flatc(*arguments):
    done = subprocess.run(["flatc", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"flatc {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")


def read_artifact(file):
    flatc("--json", "--raw-binary", "--strict-json", "-o", file.parent, SCHEMA, "--", file)
    made = file.with_suffix(".json")
    step = json.loads(made.read_text())
    made.unlink()
    return step


def write_artifact(step, file):
    """Twice: an artifact says how large it is."""
    made = file.with_suffix(".json")
    for _ in range(2):
        made.write_text(json.dumps(step))
        flatc("--binary", "-o", file.parent, SCHEMA, made)
        step["size"] = file.stat().st_size
    made.unlink()


def launches_of(step, function="step"):
    return next(f for f in step["functions"] if f["name"] == function)["launches"]
