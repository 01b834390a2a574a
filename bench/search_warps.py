# SPDX-License-Identifier: Apache-2.0
"""Attention by warps that multiply on their own (mma.sync), as bench/search.py sees it: shapes and schedules.

The keys that are taken at a time, and backward the keys of a program, are a rule of shapes, types and the target
(planAlone in passes/act-to-tile/SumOrder.cpp). A schedule leaves them: a candidate that has other ones is refused by
the compiler. How fast one is says bench/stalls.py, from the code that ptxas makes of it.
"""
import dataclasses
import itertools

import stalls
from search_attention import Attention

WIDTHS, TOKENS, HEADS = (32, 64, 96, 128), 4096, 16


@dataclasses.dataclass(frozen=True)
class WarpSchedule:
    rows: int  # queries of a program; backward not said
    warps: int
    stages: int
    early: bool = False
    ahead: bool = False

    def __str__(self):
        flags = [name for name in ("early", "ahead") if getattr(self, name)]
        return ", ".join([f"{self.rows} rows"] * bool(self.rows) + [f"{self.warps} warps", f"{self.stages} stages", *flags])

    def own(self, p):
        """As the table has it."""
        return dict([("rows", self.rows)] if self.rows else [], warps=self.warps, stages=self.stages) | \
            {name: True for name in ("early", "ahead") if getattr(self, name)}

    @staticmethod
    def of(entry):
        return WarpSchedule(entry.get("rows", 0), entry["warps"], entry["stages"], entry.get("early", False),
                            entry.get("ahead", False))


def shapes():
    for backward, width, causal in itertools.product((False, True), WIDTHS, (False, True)):
        yield Attention(backward, width, width, causal, TOKENS, TOKENS, HEADS)


def candidates(p):
    for rows, warps, (stages, early), ahead in itertools.product(
            (0,) if p.backward else (128, 64), (4, 8), ((2, False), (1, True), (1, False)), (False, True)):
        # The model takes copies as there: with one stage that is not early, they are not.
        if stages == 1 and not early and not p.backward:
            continue
        yield WarpSchedule(rows, warps, stages, early, ahead)


def seconds(p, compiled, target, nvdisasm):
    """The time by the model of stalls, on as many multiprocessors as an A100 has, and instructions for each FLOP."""
    found = list(stalls.predict(compiled.kernel.cubin, nvdisasm, compiled.entry["shared_bytes"],
                                machine=stalls.MACHINES[target.removeprefix("sm_")]))[0]
    warps = compiled.entry["block"][0] // 32 * found.programs
    return p.flops / (found.flop * 108 * 1.41e9), found.instructions * warps / (found.flop * found.cycles)
