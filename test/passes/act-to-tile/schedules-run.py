#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schedules-run.py BUILD [EACH [EACH]]: products, and attention forward and backward, with each EACH-th schedule of
those that bench/search.py may choose (default 1; of attention, the second number), products with clusters, on the
simulator, sm_90a, with all checks: the same bytes from all."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test/python")]
import card  # noqa: E402
import search  # noqa: E402
import search_attention  # noqa: E402
from actrt import Runtime  # noqa: E402
from search_attention import Attention  # noqa: E402

build, each, each_attention = pathlib.Path(sys.argv[1]), *map(int, [*sys.argv[2:], 1, 1][:2])
runtime = Runtime(build / "lib/libact_runtime.so", 0, "sim:sm_90a")
failed = ran = 0


def results_of(p, s, part, work):
    """The results, or why there are none."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "module.mlir").write_text(p.module())
        (folder / "table.json").write_text(search.table("schedules-run.py", {part: [search.line(p, s)]}))
        done = subprocess.run([build / "bin/act-opt", folder / "module.mlir", "--target=sm_90a",
                               f"--emit=file={folder}/step.act cache-dir=none schedules={folder}/table.json",
                               "-o", "/dev/null"], capture_output=True, text=True)
        if done.stderr:
            return None, done.stderr
        try:
            with card.Loaded(work, runtime, folder / "step.act") as loaded:
                return loaded.results(), ""
        except RuntimeError as error:
            return None, str(error)


def compare(p, schedules, part, work):
    global failed, ran
    first = None
    for s in schedules:
        found, why = results_of(p, s, part, work)
        first = first or found
        if found:
            why = ", ".join(n for n in found if not np.array_equal(found[n].view(np.uint8), first[n].view(np.uint8)))
            why = why and f"other bytes of {why}"
        ran += 1
        failed += bool(why)
        if why:
            print(f"{p}: {s}: {why[:500]}")


for product in (search.Product(300, 520, 200, 1), search.Product(520, 264, 136), search.Product(256, 512, 192, 2)):
    compare(product, list(search.candidates(product, (1, 2, 4)))[::each], "products", search.Work(product))
# The first two have more programs than run at once. Ragged lengths, wider keys, heads of a width between two that
# are listed, several rounds of a ring.
for attention in (Attention(False, 64, 64, True, 192, 192, 72), Attention(False, 128, 128, False, 192, 160, 70),
                  Attention(False, 64, 64, False, 250, 700, 1), Attention(False, 192, 128, True, 200, 328, 2),
                  Attention(False, 80, 80, True, 333, 333, 2), Attention(True, 64, 64, True, 300, 300, 2),
                  Attention(True, 128, 128, False, 200, 330, 1), Attention(True, 96, 96, True, 200, 200, 2)):
    compare(attention, list(search_attention.candidates(attention))[::each_attention], "attention",
            search_attention.Work(attention))
print(f"{ran - failed} passed, {failed} failed")
sys.exit(failed > 0)
