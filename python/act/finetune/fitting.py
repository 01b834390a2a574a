# SPDX-License-Identifier: Apache-2.0
"""What fits on a card: for each way to train, the largest batch, its bytes and its time."""

from __future__ import annotations

import dataclasses
import re
import shlex
from dataclasses import dataclass
from typing import Any, Sequence, Union

from .folder import GrownFolder, ModelFolder
from .training import Optimizer, Shape

#: Fixed policies, from the least recomputation to the most.
POLICIES = ("none", "selective", "attention", "sqrt", "layer")
#: Cards by memory in GB, for a time where none is named.
_CARDS = ((24, "rtx4090"), (80, "h100"), (141, "h200"))


@dataclass
class Row:
    """One way to train. ``bytes`` and ``seconds`` are of a whole step."""

    method: str
    policy: str  # or "unfused": attention as separate products, nothing recomputed
    shape: Shape
    longest: Union[int, None]  # tokens of a row that fit with a batch of 1
    fits: bool
    bytes: int
    recomputed: float  # a fraction of the step's arithmetic
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.shape.batch * self.shape.seq * self.shape.micro_batches / self.seconds


@dataclass
class Fit:
    """The rows of a card. ``least`` has the bytes of the smallest step that does not fit,
    by method."""

    folder: ModelFolder
    memory: int
    card: str
    rows: list[Row]
    least: dict[str, int]
    optimizer: Optimizer = Optimizer()

    def best(self, method: str) -> Union[Row, None]:
        """The fastest that fits, in tokens per second."""
        fitting = [r for r in self.rows if r.method == method and r.fits]
        return max(fitting, key=lambda r: r.tokens_per_second, default=None)

    def command(self, row: Row) -> str:
        """The command line that trains so."""
        s = row.shape
        words = ["act", "train", str(self.folder.path), "--data", "DATA.jsonl", "-o", "RUN",
                 "--method", row.method, "--batch", str(s.batch), "--seq", str(s.seq),
                 "--remat", s.remat, "--device", "cuda:0"]
        if s.lora and not self.folder.adapter:
            words += ["--rank", str(s.lora.rank), "--alpha", "%g" % s.lora.alpha]
            if s.lora.targets != ("all-linear",):
                words += ["--targets", ",".join(s.lora.targets)]
            words += ["--rslora"] * s.lora.rslora
            if s.lora.modules_to_save:
                words += ["--modules-to-save", ",".join(s.lora.modules_to_save)]
        words += ["--freeze", ",".join(s.freeze)] if s.freeze else []
        if self.folder.adapter:
            words += ["--base", str(self.folder.base.path)]
        if isinstance(self.folder, GrownFolder):
            words += ["--add-tokens", *self.folder.added]
        for setting in dataclasses.fields(Optimizer):
            value = getattr(self.optimizer, setting.name)
            if value != setting.default:
                option = "optimizer" if setting.name == "name" else setting.name.replace("_", "-")
                words += ["--" + option] + ([] if value is True else [str(value)])
        words += ["--nested"] * (s.quantize == "nf4-nested")
        words += ["--dtype", s.dtype] if s.dtype else []
        words += ["--accumulate", str(s.micro_batches)] if s.micro_batches > 1 else []
        words += ["--no-packing"] * (not s.pack) + ["--unfused"] * (not s.fuse_attention)
        return shlex.join(words)


def fit(folder: ModelFolder, memory: str, methods: dict[str, Shape], *,
        optimizer: Optimizer = Optimizer(), card: Union[str, None] = None,
        batch: Union[int, None] = None, budgets: bool = False) -> Fit:
    """What fits on a card of `memory` ("24GB" are 24e9 bytes, "24GiB" 24 * 2^30).

    ``methods`` names the shapes; their batch and policy are what is looked for. With
    ``batch`` the batch is given and unfused attention is a row too. ``budgets`` adds the
    least recomputation that fits, which takes longer to find. ``card`` is a100, rtx3090,
    rtx4090, h100 or h200.
    """
    rows: list[Row] = []
    least: dict[str, int] = {}
    size = 0
    for method, shape in methods.items():
        one = dataclasses.replace(shape, batch=1)
        question = memory + (",budget" if budgets else "")
        found = one.without_remat(folder.config, optimizer).report(
            what_if=question)["what_if"]
        size = int(found["device_memory_bytes"])
        card = card or next((c for most, c in _CARDS if size <= most * 1.1e9), _CARDS[-1][1])
        for policy in found["policies"]:
            remat = policy["policy"]
            if remat == "budget":
                remat = "budget=fit:%d" % size
            most, longest = _largest(policy["largest"], shape)
            tried = dataclasses.replace(one, remat=remat)
            if batch is None and shape.pack:
                most = _more(folder, optimizer, tried, most, size)
            if batch or most:
                rows.append(_row(folder, optimizer, method, dataclasses.replace(
                    tried, batch=batch or most), policy["policy"], longest, size, card))
        if batch is not None:
            rows.append(_row(folder, optimizer, method, dataclasses.replace(
                one, batch=batch, remat="none", fuse_attention=False), "unfused", None, size,
                card))
        elif not any(r.method == method for r in rows):
            least[method] = min(int(_report(folder, optimizer, one, p, card)["total_peak_bytes"])
                                for p in POLICIES)
    assert card is not None
    return Fit(folder, size, card, rows, least, optimizer)


def _largest(found: dict[str, Any], shape: Shape) -> tuple[int, int]:
    """The largest batch of whole rows, and the longest row with a batch of 1. A packed
    model has one dimension for both."""
    if "t" in found:
        return int(found["t"]["size"]) // shape.seq, int(found["t"]["size"])
    return int(found["b"]["size"]), int(found["s"]["size"])


def _more(folder: ModelFolder, optimizer: Optimizer, shape: Shape, batch: int, size: int) -> int:
    """As many rows as fit, from `batch` on: tokens are asked for in steps of 128."""
    while True:
        more = dataclasses.replace(shape, batch=batch + 1)
        if more.step_module(folder.config, optimizer).report()["total_peak_bytes"] > size:
            return batch
        batch += 1


def _report(folder: ModelFolder, optimizer: Optimizer, shape: Shape, remat: str,
           card: str) -> Any:
    return dataclasses.replace(shape, remat=remat).step_module(folder.config, optimizer).report(
        card=card)


def _row(folder: ModelFolder, optimizer: Optimizer, method: str, shape: Shape, policy: str,
         longest: Union[int, None], size: int, card: str) -> Row:
    used = _report(folder, optimizer, shape, shape.remat, card)["total_peak_bytes"]
    # Of packed samples the compiler knows no length: their attention is counted as if a
    # batch were one of them. The time is of rows that are samples.
    work = _report(folder, optimizer, dataclasses.replace(shape, pack=False), shape.remat, card)
    return Row(method, policy, shape, longest, used <= size, used,
               work["recomputed_flops"] / (work["flops"] - work["recomputed_flops"]),
               work["seconds"])


def text(found: Fit) -> str:
    """The table, and the command of the fastest row of each method."""
    header = ("method", "recomputes", "batch", "bytes", "fits", "recomputed", "step", "tokens/s",
              "longest row")
    lines = [header]
    for r in found.rows:
        lines.append((r.method, r.policy, str(r.shape.batch), "{:,}".format(r.bytes),
                      "yes" if r.fits else "no", "{:+.1%}".format(r.recomputed),
                      _time(r.seconds), "{:,.0f}".format(r.tokens_per_second),
                      "" if r.longest is None else "{:,}".format(r.longest)))
    out = ["%s on a card of {:,} bytes; rows of {:,} tokens; times estimated for %s".format(
        found.memory, _seq(found)) % (found.folder.path.name, found.card), ""]
    out += _columns(lines)
    for method, least in found.least.items():
        out.append("  %s fits in no way: {:,} bytes at least".format(least) % method)
    for method in dict.fromkeys(r.method for r in found.rows):
        best = found.best(method)
        if best:
            out += ["", "The fastest with %s:" % method, "  " + found.command(best)]
    return "\n".join(out) + "\n"


def _seq(found: Fit) -> int:
    return next((r.shape.seq for r in found.rows), 0)


def _columns(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    left = (0, 1, 4)
    return [re.sub(r"\s+$", "", "  " + "  ".join(
        cell.ljust(w) if k in left else cell.rjust(w)
        for k, (cell, w) in enumerate(zip(line, widths)))) for line in lines]


def _time(seconds: float) -> str:
    return "%.2f s" % seconds if seconds >= 1 else "%.3g ms" % (seconds * 1e3)
