# SPDX-License-Identifier: Apache-2.0
"""lit for the tests that are text: IR through act-opt, commands through a shell.

  %build     the build folder
  %plugin    the plugin for stock mlir-opt
  %examples  the folder examples/
  %run-gpu   mlir-runner with our runtime, for lowered `gpu` programs
  %python    the tests' virtual environment, or the system's Python without one

`REQUIRES: python-packages` asks for numpy, torch and the others in the
virtual environment, `REQUIRES: no-driver` for a machine without a CUDA driver,
`REQUIRES: ptxas` for NVIDIA's assembler, which %ptxas is then, and `REQUIRES:
fatbinary` for its maker of fat binaries beside it.
"""
import ctypes
import os
import pathlib
import shutil

import lit.formats

build = pathlib.Path(config.act_build)
source = pathlib.Path(config.act_source)
venv = build / "venv/bin/python"
plugins = [build / "lib" / name for name in ("libActPlugin.so", "ActPlugin.so")]

config.name = f"act-{config.act_suite}"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = str(source / config.act_suite)
config.test_exec_root = str(build / config.act_suite)
# Folders whose tests are executables or have a harness of their own.
config.excludes = ["Inputs", "lib", "python", "install", "fuzz", "mlir"]

config.substitutions += [
    ("%build", str(build)),
    ("%plugin", str(next((p for p in plugins if p.exists()), plugins[0]))),
    ("%examples", str(source / "examples")),
    ("%python", str(venv) if venv.exists() else config.host_python),
    ("%run-gpu", " --shared-libs=".join(
        ["mlir-runner --entry-point-result=void",
         str(build / "lib/libact_runtime.so")] +
        [f"{config.llvm_tools}/../lib/libmlir_{name}runner_utils.so"
         for name in ("", "c_")])),
]
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    config.available_features.add("no-driver")
ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
    if shutil.which("fatbinary", path=os.path.dirname(ptxas)):
        config.available_features.add("fatbinary")
if (build / "venv/requirements.txt").exists():
    config.available_features.add("python-packages")

# The build's own tools come first. The only variable that act reads is passed on.
config.environment["PATH"] = os.pathsep.join(
    [str(build / "bin"), config.llvm_tools, os.environ.get("PATH", "")])
if "ACT_DEVICE" in os.environ:
    config.environment["ACT_DEVICE"] = os.environ["ACT_DEVICE"]
