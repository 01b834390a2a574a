#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schedules-run.py BUILD [EACH]: products with each EACH-th schedule of those that bench/search.py
may choose (default 1), with clusters, on the simulator, sm_90a, with all checks: the same bytes from all."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test/python")]
import card  # noqa: E402
import search  # noqa: E402
from actrt import Runtime  # noqa: E402

build, each = pathlib.Path(sys.argv[1]), int((sys.argv[2:] or [1])[0])
runtime = Runtime(build / "lib/libact_runtime.so", 0, "sim:sm_90a")
failed = ran = 0

for p in (search.Product(300, 520, 200, 1), search.Product(520, 264, 136), search.Product(256, 512, 192, 2)):
    first = None
    for s in list(search.candidates(p, (1, 2, 4)))[::each]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "product.mlir").write_text(search.module(p))
            (folder / "table.json").write_text(search.table("schedules-run.py", [(p, s)]))
            done = subprocess.run([build / "bin/act-opt", folder / "product.mlir", "--target=sm_90a",
                                   f"--emit=file={folder}/step.act schedules={folder}/table.json", "-o", "/dev/null"],
                                  capture_output=True, text=True)
            why = done.stderr
            if not why:
                try:
                    with card.Loaded(search.Work(p), runtime, folder / "step.act") as loaded:
                        result = loaded.results()["y"]
                    first = result if first is None else first
                    why = "" if np.array_equal(result, first) else "other bytes"
                except RuntimeError as error:
                    why = str(error)
        ran += 1
        failed += bool(why)
        if why:
            print(f"{p}: {s}: {why[:500]}")
print(f"{ran - failed} passed, {failed} failed")
sys.exit(failed > 0)
