# SPDX-License-Identifier: Apache-2.0
"""Samples in rows, and the batch of each step."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Sequence, Union

import numpy as np

from ..errors import InputError
from .tokens import Tokenised

IGNORED = -100  # the label of a token that is not learned


@dataclass
class Batch:
    """A table of tokens, one row behind the other. ``labels`` are shifted: a token's is
    its successor. ``starts`` are where sequences begin, padding as a sequence of its
    own."""

    tokens: np.ndarray  # int32 [rows, length]
    labels: np.ndarray
    starts: list[list[int]]  # per row
    real: int  # tokens that are no padding

    def boundaries(self, groups: int, most: int) -> np.ndarray:
        """cu_seqlens of so many groups of rows: the starts of their sequences, then the
        number of tokens in all places that are left."""
        rows, length = self.tokens.shape
        out = np.full((groups, most + 1), rows // groups * length, np.int32)
        for group in range(groups):
            first = group * (rows // groups)
            found = [r * length + s for r in range(rows // groups)
                     for s in self.starts[first + r]]
            out[group, :len(found)] = found
        return out


class Rows:
    """The rows of a data set: samples that are cut to a row's length and packed.

    A sample stays whole in one row. Its sequence ends there: no token attends to another
    sample's, and none predicts it. Without ``pack`` each sample has a row.
    """

    def __init__(self, data: Tokenised, length: int, pack: bool = True,
                 only: Union[np.ndarray, None] = None) -> None:
        self.data, self.length, self.pack = data, length, pack
        lengths = np.minimum(data.lengths, length)
        kept = np.flatnonzero(data.learned_in(length) > 0)
        self.dropped = len(data) - len(kept)
        if only is not None:
            kept = np.intersect1d(kept, only)
        #: Samples that were cut; dropped are those with nothing left to learn.
        self.cut = int((data.lengths > length)[kept].sum())
        if not len(kept):
            raise InputError("no sample has a token to learn within %d tokens" % length)
        self.rows: list[list[int]] = (
            _best_fit(kept, lengths, length) if pack else [[int(i)] for i in kept])
        self.tokens = int(lengths[kept].sum())

    def __len__(self) -> int:
        return len(self.rows)

    def held_out(self, fraction: float, seed: int) -> tuple[Rows, Rows]:
        """The same samples in two parts: to train on, and to evaluate with."""
        if not 0 < fraction < 1:
            raise InputError("the held-out fraction is between 0 and 1, got %r" % fraction)
        samples = np.sort(np.concatenate([np.array(r) for r in self.rows]))
        if len(samples) < 2:
            raise InputError("one sample cannot be divided; give evaluation data of its own")
        order = np.random.Generator(np.random.PCG64([seed, 1 << 32])).permutation(len(samples))
        count = min(max(1, round(fraction * len(samples))), len(samples) - 1)
        kept, held_out = (Rows(self.data, self.length, self.pack, samples[part])
                          for part in (order[count:], order[:count]))
        return kept, held_out

    @property
    def padding(self) -> float:
        """The fraction of all places that is padding."""
        return 1 - self.tokens / (len(self) * self.length)

    def batch(self, rows: Sequence[int]) -> Batch:
        """The rows of these numbers; -1 is a row of padding."""
        tokens = np.zeros((len(rows), self.length), np.int32)
        labels = np.full_like(tokens, IGNORED)
        starts, real = [], 0
        for k, row in enumerate(rows):
            at, begins = 0, []
            for index in self.rows[row] if row >= 0 else []:
                ids, learned = (a[:self.length] for a in self.data.sample(index))
                end = at + len(ids)
                tokens[k, at:end] = ids
                labels[k, at:end - 1] = np.where(learned[1:], ids[1:], IGNORED)
                begins.append(at)
                at = end
            real += at
            if at < self.length:
                begins.append(at)
            starts.append(begins)
        return Batch(tokens, labels, starts, real)


def _best_fit(samples: np.ndarray, lengths: np.ndarray, length: int,
              window: int = 1000) -> list[list[int]]:
    """Each sample goes into the fullest of the last `window` rows that it fits in."""
    rows: list[list[int]] = []
    open_rows: list[tuple[int, int]] = []  # (room, row), sorted
    for sample in samples:
        need = int(lengths[sample])
        at = bisect.bisect_left(open_rows, (need, -1))
        if at < len(open_rows):
            room, row = open_rows.pop(at)
        else:
            room, row = length, len(rows)
            rows.append([])
        rows[row].append(int(sample))
        if room > need:
            bisect.insort(open_rows, (room - need, row))
            if len(open_rows) > window:
                open_rows.pop(0)  # the one with the least room
    return rows


class Batches:
    """The batch of step 1, 2, ...: a function of the seed and the step, so a run that is
    resumed sees what it would have seen.

    Each epoch takes all rows once, in an order of its own. Rows of padding fill its last
    step.
    """

    def __init__(self, rows: Rows, per_step: int, seed: int = 0, shuffle: bool = True) -> None:
        self.rows, self.per_step = rows, per_step
        self.seed, self.shuffle = seed, shuffle
        self._order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.rows) // self.per_step)

    def __getitem__(self, step: int) -> Batch:
        epoch, within = divmod(step - 1, self.steps_per_epoch)
        if self._order[0] != epoch:
            order = np.arange(len(self.rows))
            if self.shuffle:
                np.random.Generator(np.random.PCG64([self.seed, epoch])).shuffle(order)
            fill = self.steps_per_epoch * self.per_step - len(order)
            self._order = (epoch, np.concatenate([order, np.full(fill, -1)]))
        first = within * self.per_step
        return self.rows.batch([int(r) for r in self._order[1][first:first + self.per_step]])
