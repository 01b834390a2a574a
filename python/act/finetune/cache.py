# SPDX-License-Identifier: Apache-2.0
"""Keys and values of earlier tokens, in blocks that rows take as they grow."""

from __future__ import annotations

from typing import Any, Sequence, Union

import numpy as np
import torch

from ..errors import InputError
from ..step import Step
from .values import memory_of


class Cache:
    """The pools of a model: one for each input cached_NAME of its programs, which writes
    the result NAME for fresh tokens. ``blocks`` are of `block` tokens each."""

    def __init__(self, step: Step, block: int, device: str) -> None:
        self.block = block
        self._pools: dict[str, torch.Tensor] = {}
        for port in step.inputs("forward"):
            if port.name.startswith("cached_"):
                self._pools[port.name[len("cached_"):]] = memory_of(port, device=device)
        self._free = list(range(next(iter(self._pools.values())).shape[1]))

    @property
    def bytes(self) -> int:
        return sum(pool.nbytes for pool in self._pools.values())

    @property
    def free_blocks(self) -> int:
        return len(self._free)

    def bind(self, step: Step) -> None:
        """The programs read the pools in place."""
        for name, pool in self._pools.items():
            step.bind_input("forward", "cached_" + name, pool)

    def grow(self, blocks: list[int], tokens: int) -> None:
        """Appends blocks until there is room for so many tokens."""
        while len(blocks) * self.block < tokens:
            if not self._free:
                raise InputError("the cache has no free block left")
            blocks.append(self._free.pop(0))

    def release(self, blocks: list[int]) -> None:
        """Gives them back as zeros: what is not visible is multiplied by 0, and a number
        that is not finite would stay."""
        for pool in self._pools.values():
            pool[:, blocks] = 0
        self._free += blocks
        blocks.clear()

    def write(self, outputs: dict[str, Any], tokens: Sequence[int], places: Sequence[
            tuple[int, int]]) -> None:
        """Copies fresh tokens of the results to their (block, offset)."""
        for name, pool in self._pools.items():
            fresh = torch.as_tensor(outputs[name])  # [L, t, k, d]
            whole = pool.view(pool.shape[0], pool.shape[1], self.block, *fresh.shape[2:])
            blocks, offsets = (torch.tensor(p, device=pool.device) for p in zip(*places))
            whole[:, blocks, offsets] = fresh[:, list(tokens)].to(pool.device)


class Context:
    """A row's tokens in the cache."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.tokens = 0

    def place(self, position: int, block: int) -> tuple[int, int]:
        return self.blocks[position // block], position % block


def inputs_of(rows: Sequence[Context], fresh: Sequence[Sequence[int]], places: int, block: int,
              chunk: int, window: Union[int, None]) -> dict[str, np.ndarray]:
    """The inputs of a program of len(rows) rows that adds at most `chunk` tokens to each.
    `places` are the blocks that a row may have."""
    b = len(rows)
    tokens, positions = (np.zeros((b, chunk), np.int32) for _ in range(2))
    blocks = np.zeros((b, places), np.int32)
    last = np.arange(b, dtype=np.int32) * chunk
    cached, size = places * block, places * block + chunk
    # The position of what is in a column: of the cache, then of the fresh tokens.
    column = np.concatenate([np.arange(cached), np.zeros(chunk)]).astype(np.int64)
    visible = np.zeros((b, 1, chunk, size), bool)
    windowed = np.zeros_like(visible)
    for r, (row, new) in enumerate(zip(rows, fresh)):
        count = len(new)
        tokens[r, :count] = new
        positions[r] = row.tokens + np.arange(chunk)
        blocks[r, :len(row.blocks)] = row.blocks
        last[r] += max(0, count - 1)
        column[cached:] = row.tokens + np.arange(chunk)
        there = np.concatenate([np.arange(cached) < row.tokens, np.arange(chunk) < count])
        # A row that is finished sees itself, since a softmax needs a number.
        seen = (column <= positions[r][:, None]) & there
        seen[:, cached] |= not count
        visible[r, 0] = seen
        if window is not None:
            windowed[r, 0] = seen & (column > positions[r][:, None] - window)
    return {"tokens": tokens.reshape(-1), "positions": positions.reshape(-1), "last": last,
            "blocks": blocks, "visible": visible, "visible_window": windowed}
