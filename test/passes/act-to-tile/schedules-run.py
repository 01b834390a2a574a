#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schedules-run.py BUILD [EACH]: products with each EACH-th schedule of those that bench/search.py
may choose (default 1), on the simulator, sm_90a, with all checks: the same bytes from all."""
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
card.RUNS, card.WARM_UP = 1, 0
failed = ran = 0


class Work:
    parts = {"all": None}
    part_of = staticmethod(lambda kernel: "all")


for p in (search.Product(300, 520, 200, 1), search.Product(520, 264, 136), search.Product(256, 512, 192, 2)):
    numbers = np.random.default_rng(1)
    shapes = {"x": (p.rows, p.sum), "w": (p.columns, p.sum), **{f"r{i}": (p.rows, p.columns) for i in range(p.beside)}}
    inputs = {n: card.bf16(numbers.standard_normal(shape, np.float32)) for n, shape in shapes.items()}
    first = None
    for s in list(search.candidates(p))[::each]:
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
                    result = card.times_of_act(Work, runtime, folder / "step.act", inputs)[1]["y"]
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
