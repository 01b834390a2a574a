# SPDX-License-Identifier: Apache-2.0
"""build.py BUILD: builds the Python package as a wheel against the libraries of BUILD
and installs it into BUILD/python/site, which the other tests here import."""
import pathlib
import shutil
import subprocess
import sys

build = pathlib.Path(sys.argv[1]).resolve()
source = pathlib.Path(__file__).resolve().parents[3]
out = build / "python"
for folder in ("build", "wheel", "site"):
    shutil.rmtree(out / folder, ignore_errors=True)
pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", out / "wheel",
                source, f"--config-settings=cmake.define.ACT_PREFIX={build}",
                f"--config-settings=build-dir={out / 'build'}"],
               check=True)
wheel, = (out / "wheel").glob("act-*.whl")
subprocess.run([*pip, "install", "--no-deps", "--no-compile", "--target", out / "site", wheel],
               check=True)
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
