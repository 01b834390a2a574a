# SPDX-License-Identifier: Apache-2.0
"""in_venv.py BUILD SCRIPT [ARGUMENT...]: runs SCRIPT BUILD ARGUMENT... with the
Python of BUILD/venv; exits with 77, ctest's word for skipped, where it is missing."""
import os
import pathlib
import sys

build, script, *arguments = sys.argv[1:]
venv = pathlib.Path(build) / "venv"
if not (venv / "requirements.txt").exists():
    print(f"skipped: no Python packages in {venv}; tools/setup.sh --python installs them")
    sys.exit(77)
python = str(venv / "bin/python")
os.execv(python, [python, script, build, *arguments])
