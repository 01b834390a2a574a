# SPDX-License-Identifier: Apache-2.0
"""What a run says: a progress line, JSON lines, and TensorBoard's event files."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, TextIO, Union

if TYPE_CHECKING:
    from .rows import Rows


class Log:
    """Writes OUTPUT/log.jsonl and, with tensorboardX, OUTPUT/tensorboard; and tells
    `screen` how it goes (None: nobody)."""

    def __init__(self, output: Path, screen: Union[TextIO, None] = None) -> None:
        self._output, self._screen = output, screen
        self._file: Union[TextIO, None] = None
        self._board: Any = None
        self._line = _Line(screen) if screen else None

    # ---- Before the first step ----

    def note(self, text: str) -> None:
        if self._line:
            self._line.note(text)

    def stage(self, text: str) -> None:
        if self._line:
            self._line.update(text)

    def records(self, done: int) -> None:
        self.stage("tokenising: {:,} records".format(done))

    def bytes(self, done: int, total: int) -> None:
        self.stage("setting weights: %s of %s" % (amount(done), amount(total)))

    def data(self, train: Rows, held_out: Union[Rows, None], per_epoch: int,
             steps: int) -> None:
        samples = sum(len(r) for r in train.rows)
        self.note("{:,} samples in {:,} rows of {:,} tokens, {:.1%} padding; {:,} steps an "
                  "epoch, {:,} in all".format(samples, len(train), train.length, train.padding,
                                              per_epoch, steps))
        if train.cut:
            self.note("{:,} samples are longer than a row and were cut".format(train.cut))
        if train.dropped:
            self.note("{:,} samples have nothing to learn in a row and were left out".format(
                train.dropped))
        if held_out:
            self.note("held out: {:,} samples in {:,} rows".format(
                sum(len(r) for r in held_out.rows), len(held_out)))

    # ---- Steps ----

    def begin(self, position: int, steps: int, report: Mapping[str, Any],
              statistics: Mapping[str, int]) -> None:
        """Opens the files, after what they already have of the steps up to `position`."""
        self._steps, self._first = steps, position
        self._flops = float(report["flops"])
        self._started = time.perf_counter()
        self._output.mkdir(parents=True, exist_ok=True)
        path = self._output / "log.jsonl"
        kept = []
        if position and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    if json.loads(line).get("step", 0) <= position:
                        kept.append(line + "\n")
                except ValueError:
                    break  # a run was killed while it wrote
        self._file = open(path, "w", encoding="utf-8")
        self._file.writelines(kept)
        self._file.flush()
        memory = {name: statistics[name] for name in (
            "parameter_bytes", "gradient_bytes", "optimizer_bytes", "arena_bytes")}
        self._write({"begin": position, "planned_bytes": report["total_peak_bytes"], **memory})
        self.note("memory: %s planned; weights %s, gradients %s, optimizer %s, arena %s" % (
            amount(report["total_peak_bytes"]), *map(amount, memory.values())))
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            self.note("no TensorBoard files: pip install tensorboardX")
        else:
            self._board = SummaryWriter(str(self._output / "tensorboard"),
                                        purge_step=position + 1 if position else None)
        self._tokens = 0

    def step(self, record: Mapping[str, Any], tokens: int, seconds: float) -> None:
        """One step's numbers. ``tokens`` are those that are no padding."""
        record = {**record, "tokens": tokens, "tokens_per_second": tokens / seconds,
                  "tflops": self._flops / seconds / 1e12}
        self._write(record)
        if self._board:
            for name, value in record.items():
                group, _, bare = name.partition("_") if name.startswith("eval_") else (
                    "train", "", name)
                if name != "step" and value is not None:
                    self._board.add_scalar(group + "/" + bare, value, record["step"])
        self._tokens += tokens
        if not self._line:
            return
        if "eval_loss" in record:
            loss, perplexity = record["eval_loss"], record["eval_perplexity"]
            self._line.note("step %d: held-out loss %s" % (
                record["step"], "is not finite" if loss is None
                else "%.4f, perplexity %.2f" % (loss, perplexity)))
        elapsed = time.perf_counter() - self._started
        done = record["step"] - self._first
        left = elapsed / done * (self._steps - record["step"])
        norm = record["grad_norm"]
        self._line.update("step %d/%d  loss %.4f  lr %.2e  |g| %s  %s tok/s  %s left" % (
            record["step"], self._steps, record["loss"], record["lr"],
            "overflowed" if norm is None else "%.3g" % norm, _short(self._tokens / elapsed), _clock(left)))

    def _write(self, record: Mapping[str, Any]) -> None:
        assert self._file
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def end(self, text: str) -> None:
        if self._file:
            self._file.close()
        if self._board:
            self._board.close()
        if self._line:
            self._line.keep()
            self._line.note(text)


class _Line:
    """A line that is written over on a terminal, and now and then elsewhere."""

    every = 10.0  # seconds

    def __init__(self, screen: TextIO) -> None:
        self._screen, self._shown, self._next = screen, "", 0.0
        self._terminal = screen.isatty()

    def update(self, text: str) -> None:
        now = time.monotonic()
        if self._terminal:
            self._put("\r\x1b[K" + text)
        elif now >= self._next:
            self._put(text + "\n")
            self._next = now + self.every
        self._shown = text

    def note(self, text: str) -> None:
        """A line that stays; the one that changes is below it."""
        if self._terminal:
            self._put("\r\x1b[K%s\n%s" % (text, self._shown))
        else:
            self._put(text + "\n")

    def keep(self) -> None:
        if self._shown:
            self._put("\n" if self._terminal else self._shown + "\n")
        self._shown = ""

    def _put(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()


def amount(number: float) -> str:
    """Bytes, in the powers of 1000 that cards are sold in."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            break
        number /= 1000
    else:
        unit = "TB"
    return "%d %s" % (number, unit) if unit == "bytes" else "%.2f %s" % (number, unit)


def _short(number: float) -> str:
    return "%.1fk" % (number / 1000) if number >= 1000 else "%.0f" % number


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return "%d:%02d:%02d" % (*divmod(minutes, 60), seconds)
