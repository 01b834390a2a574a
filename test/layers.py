#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an #include that points against the order of the layers, or of the folders
of passes.

    include+lib -> dialects -> passes => artifact => runtime

Includes of our own headers are written from the root, so a line names the layer
it reaches into; one that names a neighbour only ("Json.h") hides it.
"""
import pathlib
import re
import sys

# layer -> the layers whose headers it may include
MAY = {
    "include": {"act", "act-c"},
    "lib": {"act", "act-c", "lib"},
    "dialects": {"act", "dialects"},
    "passes": {"act", "dialects", "passes"},
    "runtime": {"act", "act-c", "runtime"},
    "examples": {"act-c"},
}
# folder of passes -> the others whose headers it may include, all of them above it
PASSES = {
    "kernel-cache": set(),
    "import": set(),
    "module": set(),
    "fuse": {"module"},
    "autodiff": {"module"},
    "kernels": {"module"},
    "step": {"module", "autodiff", "kernels"},
    "memory": {"module", "autodiff", "kernels"},
    "remat": {"module", "autodiff", "kernels", "step", "memory"},
    "torch": {"import", "module", "fuse", "memory", "remat"},
    "groups-to-host": {"kernel-cache"},
    "act-to-tile": set(),
    "tile": set(),
    "lower-groups": {"module", "kernels", "kernel-cache", "tile"},
    "tile-to-nvvm": {"kernel-cache", "tile"},
    "tile-to-host": {"groups-to-host", "tile"},
    "emit": {"kernel-cache", "lower-groups", "module", "kernels", "step", "memory", "groups-to-host", "act-to-tile", "tile", "tile-to-nvvm"},
    "report": {"module", "autodiff", "step", "memory", "remat", "torch", "emit"},
}
OURS = {"act", "act-c", "lib", "dialects", "passes", "runtime", "tools", "test", "bench"}
WITHOUT_MLIR = {"include", "lib", "runtime"}
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def problem(path, line):
    """What is wrong with this line of the file at this path, or None."""
    match = INCLUDE.match(line)
    layer = path.parts[0]
    if not match or layer not in MAY:
        return None
    quote, name = match.groups()
    first = name.split("/")[0]
    if first in OURS:
        if first not in MAY[layer]:
            return f"{layer} may not include {first}"
        return folder_problem(path.parts, name.split("/")) if layer == first == "passes" else None
    if first in ("mlir", "llvm", "lld", "mlir-c", "llvm-c") and layer in WITHOUT_MLIR:
        return f"{layer} may not use {first}"
    if quote == '"' and (ROOT / path).parent.joinpath(name).exists() and layer != "examples":
        return "expected the path from the root"
    return None


def folder_problem(file, header):
    """What is wrong with a folder of passes including another; passes itself may include all."""
    if len(file) < 3 or file[1] == header[1]:
        return None
    if file[1] not in PASSES:
        return f"passes/{file[1]} is not in the table of folders"
    return None if header[1] in PASSES[file[1]] else f"passes/{file[1]} may not include passes/{header[1]}"


def self_test():
    """A check that cannot fail would be worse than none."""
    P = pathlib.PurePosixPath
    assert problem(P("lib/Plan/A.cpp"), '#include "passes/fuse/Passes.h"')
    assert problem(P("runtime/A.cpp"), '#include "dialects/act/Dialect.h"')
    assert problem(P("runtime/A.cpp"), "#include <llvm/ADT/StringRef.h>")
    assert problem(P("passes/fuse/A.cpp"), '#  include "runtime/Executor.h"')
    assert problem(P("passes/memory/A.h"), '#include "passes/remat/RematBudget.h"')
    assert problem(P("passes/fuse/A.cpp"), '#include "passes/CommandLine.h"')
    assert problem(P("passes/new/A.cpp"), '#include "passes/module/Entries.h"')
    assert problem(P("dialects/act/A.cpp"), '#include "Dialect.h"')
    assert problem(P("include/act/A.h"), '#include "lib/Plan/B.h"')
    assert not problem(P("passes/fuse/A.cpp"), '#include "act/Plan/Problem.h"')
    assert not problem(P("passes/fuse/A.cpp"), '#include "mlir/Pass/Pass.h"')
    assert not problem(P("passes/remat/A.cpp"), '#include "passes/memory/MemoryModel.h"')
    assert not problem(P("passes/A.cpp"), '#include "passes/fuse/Passes.h"')
    above = set()
    for folder, others in PASSES.items():  # no circle
        assert others <= above, folder
        above.add(folder)
    assert not problem(P("tools/act-run/A.cpp"), '#include "passes/Pipelines.h"')


def main():
    self_test()
    bad = seen = 0
    for layer in MAY:
        for path in sorted((ROOT / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c", ".inc", ".def"):
                continue
            relative = path.relative_to(ROOT)
            for number, line in enumerate(path.read_text().splitlines(), 1):
                seen += INCLUDE.match(line) is not None
                message = problem(relative, line)
                if message:
                    bad += 1
                    print(f"{relative}:{number}: {message}: {line.strip()}")
    if not seen:
        sys.exit("expected include lines, found none")
    print(f"{seen} include lines, {bad} against the order of the layers")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
