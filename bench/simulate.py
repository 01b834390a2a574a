# SPDX-License-Identifier: Apache-2.0
"""Runs PTX in the simulator, without its checks, and says what it counted."""
import json
import subprocess
import sys

import numpy as np

STORED = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.uint8, "i32": np.int32,
          "i64": np.int64}


def zeros(folder, shapes):
    """Arguments for arrays of zeros, their shapes written as 1x2xbf16."""
    for i, shape in enumerate(shapes):
        *dims, element = shape.split("x")
        file = folder / f"{i}.npy"
        np.save(file, np.zeros([int(d) for d in dims] or [1], STORED[element]))
        yield f"inout:{file}"


MAP_TYPES = {3: "i32", 6: "f16", 7: "f32", 9: "bf16"}  # CUtensorMapDataType


def tensor_maps(folder, maps):
    """Arguments for the maps that index.json lists, of the arrays that zeros() made."""
    for m in maps:
        def outermost_first(numbers):
            return "x".join(map(str, reversed(numbers)))
        yield (f"tma:{folder / str(m['argument'])}.npy:{MAP_TYPES[m['type']]}:box={outermost_first(m['box'])}"
               f":sizes={outermost_first(m['sizes'])}:strides={outermost_first(m['strides'][1:])}"
               f":swizzle={m['swizzle']}")


def counters(sim, ptx, target, grid, block, shared, arguments, at_once=0):
    """The counters of one launch; `arguments` are those of --arg."""
    command = [sim, ptx, "--target", target, "--grid", ",".join(map(str, grid)), "--block", ",".join(map(str, block)),
               "--smem", shared, "--at-once", at_once, "--checks", "none", "--max-instructions", 0, "--json",
               *(x for a in arguments for x in ("--arg", a))]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)["counters"]


def bytes_moved(counted):
    """Loaded from and stored to global memory, in pieces of 32 bytes."""
    return 32 * (counted["global_load_sectors"] + counted["global_store_sectors"])
