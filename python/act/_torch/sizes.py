# SPDX-License-Identifier: Apache-2.0
"""What a step takes in PyTorch at many sizes: as a formula, and how far a card goes."""
from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any, Callable, Mapping, Optional, Union

from .memory import TorchMemory, torch_memory


def torch_formula(step: Callable[..., tuple[Any, Any]], sizes: Mapping[str, int], of: str = "retained_bytes",
                  **options: Any) -> Optional[str]:
    """What a step takes as a polynomial in sizes, as text: its ``retained_bytes``, or another
    of TorchMemory's figures, such as ``peak_bytes``.

    ``step(**sizes)`` returns (loss, model) for sizes; ``sizes`` has one value for each, at
    which and around which the step runs: ``{"b": 2, "s": 64}``. Other options are
    torch_memory's. The polynomial is at most of degree 2 in each size; it has to hold at
    sizes that it was not made from, else the result is None, as where a kernel's choice, a
    padded row or the moment of the peak depends on a size.
    """
    def measured(at):
        loss, model = step(**at)
        return getattr(torch_memory(loss, model, **options), of)

    names = list(sizes)
    points = {n: [sizes[n] * k for k in (1, 2, 3)] for n in names}
    values = {at: measured(dict(zip(names, at))) for at in product(*points.values())}
    for axis, name in enumerate(names):  # coefficients along one size after the other
        x = [Fraction(v) for v in points[name]]
        inverse = _inverse([[v**k for k in range(3)] for v in x])
        coefficients = {}
        for at in values:
            rest = at[:axis] + (None,) + at[axis + 1:]
            if rest in coefficients:
                continue
            line = [values[at[:axis] + (p,) + at[axis + 1:]] for p in points[name]]
            coefficients[rest] = [sum(c * v for c, v in zip(row, line)) for row in inverse]
        values = {rest[:axis] + (degree,) + rest[axis + 1:]: row[degree]
                  for rest, row in coefficients.items() for degree in range(3)}
        points[name] = [0, 1, 2]
    terms = {degrees: c for degrees, c in values.items() if c}

    def evaluated(at):
        return sum(c * math.prod(at[n]**d for n, d in zip(names, degrees)) for degrees, c in terms.items())

    for factor in (4, 5):
        at = {n: sizes[n] * factor for n in names}
        if evaluated(at) != measured(at):
            return None
    texts = []
    for degrees, c in sorted(terms.items(), key=lambda term: (-sum(term[0]), term[0])):
        letters = [n for n, d in zip(names, degrees) for _ in range(d)]
        texts.append("*".join([str(c)] + letters) if c != 1 or not letters else "*".join(letters))
    return " + ".join(texts) or "0"


def _inverse(rows):
    """Of a matrix of fractions, by elimination."""
    n = len(rows)
    wide = [list(map(Fraction, row)) + [Fraction(i == j) for j in range(n)] for i, row in enumerate(rows)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if wide[k][i])
        wide[i], wide[pivot] = wide[pivot], wide[i]
        wide[i] = [v / wide[i][i] for v in wide[i]]
        for k in range(n):
            if k != i:
                wide[k] = [a - wide[k][i] * b for a, b in zip(wide[k], wide[i])]
    return [row[n:] for row in wide]


def torch_fits(step: Callable[[int], tuple[Any, Any]], name: str, card: Union[int, str], *, least: int = 1,
               most: int = 1 << 20, allocator: Optional[str] = None,
               **options: Any) -> Optional[tuple[int, TorchMemory]]:
    """The largest size at which a step fits on a card, and what it then takes: (size, TorchMemory).

    ``step(size)`` returns (loss, model) for the size, which is called ``name`` in messages;
    ``card`` is bytes, or "24GB" (10^9) or "24GiB" (2^30). With ``allocator="cuda-caching"``
    what PyTorch's caching allocator reserves has to fit, else the total peak. What the step
    takes is taken to grow with the size. None if not even ``least`` fits.
    """
    room = card if isinstance(card, int) else _card(card)

    def tried(size):
        loss, model = step(size)
        memory = torch_memory(loss, model, **options)
        taken = memory.total_peak_bytes
        if allocator:
            taken = memory.report(allocator=allocator)["reserved_peak_bytes"]
        return memory if taken <= room else None

    best, memory = None, tried(least)
    if memory is None:
        return None
    low, high, best = least, least, memory
    while high < most:
        high = min(most, high * 2)
        memory = tried(high)
        if memory is None:
            break
        low, best = high, memory
    else:
        return low, best
    while high - low > 1:
        middle = (low + high) // 2
        memory = tried(middle)
        if memory is None:
            high = middle
        else:
            low, best = middle, memory
    return low, best


def _card(text):
    for ending, unit in (("GiB", 2**30), ("MiB", 2**20), ("GB", 10**9), ("MB", 10**6)):
        if text.endswith(ending):
            return int(float(text[:-len(ending)]) * unit)
    raise ValueError("%r is no size of a card: expected 24GB or 24GiB" % text)
