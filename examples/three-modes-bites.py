#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""three-modes.py would notice: one byte more in a plan, a formula or a measurement."""
import importlib.util
import pathlib

path = pathlib.Path(__file__).with_name("three-modes.py")
spec = importlib.util.spec_from_file_location("three_modes", path)
three_modes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(three_modes)


def report():
    formula = {"bytes": "max(2*b*s^2 - s, s)", "alignment_bytes": 4}
    return {"letters": {"b": 3, "s": 5}, "formulas": {"retained": formula, "peak": formula},
            "retained_bytes": 149, "peak_bytes": 149, "arena_bytes": 192,
            "recomputed_flops": 0}


def agrees(measured=192, **changes):
    return three_modes.rows_of({**report(), **changes}, measured)[1]


assert agrees() and agrees(measured=None)
assert not agrees(retained_bytes=150)
assert not agrees(peak_bytes=148)
assert not agrees(measured=193)
assert agrees(measured=192 - 63)
assert not agrees(measured=192 - 64)
off_by_one = {"bytes": "2*b*s^2 - s + 1", "alignment_bytes": 4}
assert not agrees(formulas={**report()["formulas"], "peak": off_by_one})
