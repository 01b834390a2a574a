# SPDX-License-Identifier: Apache-2.0
"""The learning rate of each step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import InputError

KINDS = ("cosine", "linear", "constant", "wsd")


@dataclass(frozen=True)
class Schedule:
    """A warm-up from 0, then one of four ways; as transformers' schedules of these names.

    - cosine and linear fall to `least` (cosine only) and to 0 at the last step.
    - constant stays.
    - wsd (warm-up, stable, decay) stays, and falls in the last `decay` steps along a
      cosine.

    `warmup` and `decay` are steps, or below 1 a fraction of all.
    """

    kind: str = "cosine"
    peak: float = 2e-4
    warmup: float = 0.03
    decay: float = 0.1
    least: float = 0.0  # as a fraction of the peak

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("unknown schedule %r, expected one of %s" % (
                self.kind, ", ".join(KINDS)))
        for name in ("peak", "warmup", "decay", "least"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError("the schedule's %s must be a number of at least 0, got %r" % (
                    name, value))
        if self.least > 1:
            raise InputError("the schedule's least is a fraction of the peak, got %r"
                             % self.least)
        if self.least and self.kind in ("linear", "constant"):
            raise InputError("a %s schedule has no least" % self.kind)

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step 1, 2, ... of so many."""
        return self.peak * self._factor(step - 1, steps)

    def _factor(self, done: int, steps: int) -> float:
        warmup, decay = (_steps(n, steps) for n in (self.warmup, self.decay))
        if done < warmup:
            start = self.least if self.kind == "wsd" else 0.0
            return done / max(1, warmup) * (1 - start) + start
        if self.kind == "constant":
            return 1.0
        if self.kind == "wsd":
            stable = max(0, steps - decay - warmup)
            if done < warmup + stable:
                return 1.0
            warmup, rest = warmup + stable, decay
        else:
            rest = steps - warmup
        progress = min(1.0, (done - warmup) / max(1, rest))
        if self.kind == "linear":
            return 1.0 - progress
        return 0.5 * (1.0 + math.cos(math.pi * progress)) * (1 - self.least) + self.least


def _steps(given: float, steps: int) -> int:
    return math.ceil(given * steps) if given < 1 else int(given)
