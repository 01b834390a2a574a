#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an #include that points against the order of the layers, or of the folders
of passes and the simulator, and on circles.

    include+lib -> dialects -> passes -> compiler => artifact => runtime

Tools are on top of all of them. Of tools, the compiler knows tools/arguments alone.

Includes of our own headers are written from the root, so a line names the layer
it reaches into; one that names a neighbour only ("Json.h") hides it.

The rooms of the simulator (runtime/sim) have an order of their own. Everywhere, X.h
and X.cpp of one folder count as one file, and no file may need itself through others.
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
    "compiler": {"act", "act-c", "dialects", "passes", "compiler", "tools"},
    "runtime": {"act", "act-c", "runtime"},
    "python": {"act-c", "python"},
    "examples": {"act-c"},
}
# folder of passes -> the others whose headers it may include, all of them above it
PASSES = {
    "kernel-cache": set(),
    "import": set(),
    "module": set(),
    "raise": {"module"},
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
    "emit": {"kernel-cache", "lower-groups", "module", "kernels", "step", "memory", "groups-to-host", "act-to-tile",
             "tile", "tile-to-nvvm"},
    "report": {"module", "autodiff", "step", "memory", "remat", "torch", "emit"},
}
# room of runtime/sim -> the rooms whose headers it may include; its top may include all
SIM = "runtime/sim"
ROOMS = {
    "ptx": {"ptx"},
    "program": {"program", "ptx"},
    "arithmetic": {"arithmetic", "ptx"},
    "layout": {"layout"},
    "memory": {"memory", "arithmetic", "program"},
    "decode": {"decode", "arithmetic", "program", "ptx"},
    "execute": {"execute", "arithmetic", "memory", "program", "ptx"},
    "instructions": {"instructions", "arithmetic", "decode", "execute", "layout", "memory", "program", "ptx"},
    "device": {"device", ""},  # and Simulator.h
}
OUTSIDE_SIM = {"act/Result.h", "runtime/TensorMap.h"}
OURS = {"act", "act-c", "lib", "dialects", "passes", "compiler", "runtime", "python", "tools", "test", "bench"}
WITHOUT_MLIR = {"include", "lib", "runtime", "python"}
# The interface for hosts that have MLIR.
OF_MLIR = {"include/act-c/CompilerMlir.h"}
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
        if layer == "compiler" and first == "tools" and not name.startswith("tools/arguments/"):
            return "compiler may include of tools only tools/arguments"
        if layer == first == "passes":
            return folder_problem(path.parts, name.split("/"))
        return wrong_room(path, name)
    if first in ("mlir", "llvm", "lld", "mlir-c", "llvm-c") and layer in WITHOUT_MLIR and str(path) not in OF_MLIR:
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


def room_of(path):
    """The room of the simulator that a path is in: "" at its top, None elsewhere."""
    if not path.is_relative_to(SIM):
        return None
    inside = path.relative_to(SIM).parts
    return inside[0] if len(inside) > 1 else ""


def wrong_room(path, name):
    """What is wrong with this include between rooms of the simulator, or None."""
    room, other = room_of(path), room_of(pathlib.PurePosixPath(name))
    if room is not None and other is None and room != "device" and name not in OUTSIDE_SIM:
        return f"{SIM} may not include {name}: only {SIM}/device knows the rest of the runtime"
    if not room or other is None:
        return None
    if room not in ROOMS:
        return f"{SIM}/{room} is in no order: add it to ROOMS in test/layers.py"
    return None if other in ROOMS[room] else f"{SIM}/{room} may not include {SIM}/{other}"


def unit(path):
    """X.h and X.cpp are one."""
    return str(path.with_suffix(""))


def circles(needs):
    """The largest sets of units in which each needs each other. `needs`: unit -> units."""
    index, low, open_, found = {}, {}, [], []

    def visit(u):  # Tarjan's algorithm
        index[u] = low[u] = len(index)
        open_.append(u)
        for v in sorted(needs.get(u, ())):
            if v not in index:
                visit(v)
                low[u] = min(low[u], low[v])
            elif v in open_:
                low[u] = min(low[u], index[v])
        if low[u] == index[u]:
            first = open_.index(u)
            if len(open_) - first > 1:
                found.append(set(open_[first:]))
            del open_[first:]

    for u in sorted(needs):
        if u not in index:
            visit(u)
    return found


def circle_problems(needs):
    """A message for each circle."""
    for circle in circles(needs):
        lines = (f"  {u} includes {', '.join(sorted(needs[u] & circle))}" for u in sorted(circle))
        yield "\n".join(["these include each other:", *lines])


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
    assert problem(P("compiler/capi/A.cpp"), '#include "tools/ReadModule.h"')
    assert not problem(P("compiler/A.cpp"), '#include "tools/arguments/Spelling.h"')
    assert problem(P("include/act-c/Compiler.h"), '#include "mlir-c/IR.h"')
    assert not problem(P("include/act-c/CompilerMlir.h"), '#include "mlir-c/IR.h"')
    assert problem(P("runtime/sim/decode/A.cpp"), '#include "runtime/sim/execute/Machine.h"')
    assert problem(P("runtime/sim/execute/A.h"), '#include "runtime/sim/instructions/Lanes.h"')
    assert problem(P("runtime/sim/execute/A.h"), '#include "runtime/sim/Simulator.h"')
    assert problem(P("runtime/sim/shed/A.h"), '#include "runtime/sim/ptx/Ast.h"')
    assert not problem(P("runtime/sim/execute/A.h"), '#include "runtime/sim/program/Program.h"')
    assert not problem(P("runtime/sim/Simulator.cpp"), '#include "runtime/sim/execute/Machine.h"')
    assert problem(P("runtime/sim/execute/A.h"), '#include "runtime/Executor.h"')
    assert not problem(P("runtime/sim/device/A.h"), '#include "runtime/Executor.h"')
    assert not problem(P("runtime/A.cpp"), '#include "runtime/sim/program/Target.h"')
    assert unit(P("lib/Plan/A.h")) == unit(P("lib/Plan/A.cpp")) != unit(P("lib/Cost/A.h"))
    chain = {"a": {"b"}, "b": {"c"}, "c": set()}
    ring = {**chain, "c": {"a"}, "d": {"a"}}
    assert circles(chain) == [] and circles(ring) == [{"a", "b", "c"}]
    assert not list(circle_problems(chain)) and len(list(circle_problems(ring))) == 1


def main():
    self_test()
    bad = seen = 0
    needs = {}  # unit -> units whose headers it includes
    for layer in [*MAY, "tools", "test", "bench"]:
        for path in sorted((ROOT / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c", ".inc", ".def"):
                continue
            relative = path.relative_to(ROOT)
            mine = needs.setdefault(unit(relative), set())
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                seen += 1
                message = problem(relative, line)
                if message:
                    bad += 1
                    print(f"{relative}:{number}: {message}: {line.strip()}")
                for place in (pathlib.Path(match[2]), pathlib.Path("include", match[2])):
                    if (ROOT / place).is_file() and unit(place) != unit(relative):
                        mine.add(unit(place))
    if not seen:
        sys.exit("expected include lines, found none")
    for message in circle_problems(needs):
        bad += 1
        print(message)
    print(f"{seen} include lines, {bad} problems")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
