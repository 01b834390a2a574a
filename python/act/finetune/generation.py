# SPDX-License-Identifier: Apache-2.0
"""Answers of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Sequence, Union

import torch

from ..compiler import import_config
from ..device import Device
from ..errors import InputError
from ..step import Step
from . import values
from .cache import Cache, Context, inputs_of
from .folder import ModelFolder


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen, as transformers has it: the penalty for repetition first,
    then temperature, top_k, top_p and min_p. A temperature of 0 takes the most likely."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("temperature", float), ("top_k", int), ("top_p", float),
                           ("min_p", float), ("repetition_penalty", float), ("seed", int)):
            value = getattr(self, name)
            try:  # a generation_config.json has what it has
                if isinstance(value, bool) or kind(value) != value:
                    raise ValueError
            except (TypeError, ValueError, OverflowError):
                raise InputError("%s must be %s, got %r" % (name, "an integer" if kind is int
                                                            else "a number", value)) from None
            object.__setattr__(self, name, kind(value))
        for name, good, wanted in (
                ("temperature", self.temperature >= 0, "at least 0"),
                ("top_k", self.top_k >= 0, "at least 0 (0: all)"),
                ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1"),
                ("min_p", 0 <= self.min_p <= 1, "from 0 to 1"),
                ("repetition_penalty", self.repetition_penalty > 0, "above 0"),
                ("seed", 0 <= self.seed < 1 << 40, "from 0 to 2^40")):
            if not good or not math.isfinite(getattr(self, name)):
                raise InputError("%s must be %s, got %r" % (name, wanted, getattr(self, name)))

    @classmethod
    def of(cls, generation: dict[str, Any], **given: Any) -> Sampling:
        """What a generation_config.json says, and what is given over it."""
        found = {k: generation[k] for k in (
            "temperature", "top_k", "top_p", "min_p", "repetition_penalty")
            if generation.get(k) is not None}
        if not generation.get("do_sample", False):
            found = {k: v for k, v in found.items() if k == "repetition_penalty"}
            found["temperature"] = 0.0
        found.update({k: v for k, v in given.items() if v is not None})
        return cls(**found)

    def processors(self) -> list[Any]:
        """transformers' own, on logits [rows, V]."""
        from transformers.generation import logits_process as p
        out: list[Any] = []
        if self.repetition_penalty != 1:
            out.append(p.RepetitionPenaltyLogitsProcessor(self.repetition_penalty))
        if self.temperature not in (0, 1):
            out.append(p.TemperatureLogitsWarper(self.temperature))
        if self.temperature:
            if self.top_k:
                out.append(p.TopKLogitsWarper(self.top_k))
            if self.top_p < 1:
                out.append(p.TopPLogitsWarper(self.top_p))
            if self.min_p:
                out.append(p.MinPLogitsWarper(self.min_p))
        return out


class Row:
    """One answer as it grows. Text that may be the beginning of a stop string is held
    back."""

    def __init__(self, number: int, prompt: Sequence[int], stop: Sequence[str],
                 seed: int) -> None:
        from tokenizers.decoders import DecodeStream
        self.number, self.ids, self.prompt = number, list(prompt), len(prompt)
        self.text, self.done = "", False
        self._given, self._stop = 0, stop
        self._stream = DecodeStream(skip_special_tokens=True)
        # A row's numbers depend on its own prompt only, not on its neighbours.
        self.random = torch.Generator().manual_seed(seed * 1_000_003 + number)

    @property
    def tokens(self) -> list[int]:
        """The answer's."""
        return self.ids[self.prompt:]

    def add(self, token: int, tokenizer: Any) -> None:
        self.ids.append(token)
        self.text += self._stream.step(tokenizer, token) or ""
        at = min((self.text.find(s) for s in self._stop if s in self.text), default=-1)
        if at >= 0:
            self.text, self.done = self.text[:at], True

    def end(self, token: int) -> None:
        self.ids.append(token)
        self.done = True

    def ready(self, finished: bool = False) -> str:
        """The text that was not given before."""
        held = 0 if self.done or finished else max(
            (n for s in self._stop for n in range(1, len(s)) if self.text.endswith(s[:n])),
            default=0)
        new = self.text[self._given:len(self.text) - held]
        self._given += len(new)
        return new


class Generator:
    """A model that writes: a folder, compiled for `batch` rows of at most `length` tokens,
    prompt and answer together.

    Earlier tokens are in a cache of ``cache_blocks`` blocks, which rows take as they grow
    (by default as many as all rows need). One program takes prompts, `chunk` tokens at a
    time, another one token of each row; both have the same weights.
    """

    block = 16  # tokens

    def __init__(self, folder: ModelFolder, *, length: int = 512, batch: int = 1,
                 chunk: int = 64, cache_blocks: Union[int, None] = None, device: str = "host",
                 threads: int = 0, quantize: Union[str, None] = None,
                 dtype: Union[str, None] = None) -> None:
        if length < 2 or batch < 1 or chunk < 1:
            raise InputError("a generator has a length of at least 2, a batch and a chunk of at "
                             "least 1")
        self.folder, self.batch, self.chunk = folder, batch, min(chunk, length)
        self.length = length
        self.tokenizer = folder.tokenizer()
        self._places = -(-length // self.block)
        self._window = folder.config.get("sliding_window")
        if not (self._window is None or isinstance(self._window, int)):
            raise InputError("%s: sliding_window is %r, expected a number" % (
                folder.base.path, self._window))
        self._device = Device(device, threads=threads)
        blocks = cache_blocks or batch * self._places
        options = {"context": self._places * self.block, "cache_block": self.block,
                   "cache_blocks": blocks, "quantize": quantize, "dtype": dtype}
        if folder.adapter:
            options.update(folder.adapter.import_options())
        modules = [import_config(folder.config, mode="generate", batch=rows, seq=tokens,
                                 **options).run(fuse_attention=True)
                   for rows, tokens in ((1, self.chunk), (batch, 1))]
        #: The memory of a step that writes a token of each row.
        self.report = modules[1].report()
        target = {"target": self._device.target} if self._device.target else {}
        # A simulator's memory is its own, so there each program has weights.
        shared = self._device.kind != "sim"
        self._read, self._write_one = (self._device.load(
            m.emit(mode="infer", **target), bind_tensors=shared) for m in modules)
        memory = self._device.name if self._device.kind == "cuda" else "cpu"
        if shared:
            self._share(memory)
        found = values.Assignment(self._read.parameters, folder.tensors(),
                                  folder.adapter_tensors())
        found.set(self._read, 0)
        if not shared:
            found.set(self._write_one, 0)
        if not any(o.name == "logits" for o in self._read.outputs("forward")):
            raise InputError("%s has no head that writes tokens" % folder.base.path)
        self.cache = Cache(self._read, self.block, memory)
        self._inputs = {p.name for p in self._read.inputs("forward")}
        for step in (self._read, self._write_one):
            self.cache.bind(step)

    def _share(self, memory: str) -> None:
        for p in self._read.parameters:
            tensor = values.memory_of(p, device=memory)
            for step in (self._read, self._write_one):
                step.bind_parameter(p.name, tensor)

    def prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        from .examples import Renderer
        return Renderer(self.tokenizer).prompt(messages)

    def encode(self, text: str, special: bool = True) -> list[int]:
        try:
            return list(self.tokenizer(text, add_special_tokens=special,
                                       verbose=False)["input_ids"])
        except (TypeError, UnicodeError):
            raise InputError("the prompt %r is no text" % text[:50]) from None

    def ends(self) -> set[int]:
        """The tokens that end an answer."""
        found = self.folder.generation.get("eos_token_id", self.folder.config.get("eos_token_id"))
        ends = found if isinstance(found, list) else [found]
        if not all(e is None or isinstance(e, int) for e in ends):
            raise InputError("%s: eos_token_id is %r, expected token numbers" % (
                self.folder.base.path, found))
        return {e for e in [*ends, self.tokenizer.eos_token_id] if e is not None}

    def generate(self, prompts: Sequence[Sequence[int]], *, most: int = 128,
                 sampling: Sampling = Sampling(temperature=0.0), stop: Sequence[str] = (),
                 write: Callable[[int, str], None] = lambda number, text: None) -> list[Row]:
        """An answer of at most `most` tokens to each prompt of tokens. ``write`` gets
        (number of the prompt, text) as text is complete. A stop string ends an answer and
        is not in it."""
        if "" in stop:
            raise InputError("a stop string is empty")
        most_token = self.folder.config.get("vocab_size", 1 << 31)
        for number, prompt in enumerate(prompts):
            if not prompt:
                raise InputError("prompt %d is empty" % number)
            if min(prompt) < 0 or max(prompt) >= most_token:
                raise InputError("prompt %d has token %d, outside the model's vocabulary of %d" % (
                    number, max(prompt, key=lambda t: t if t >= 0 else most_token - t),
                    most_token))
            if len(prompt) >= self.length or -(
                    -(len(prompt) + 1) // self.block) > self.cache.free_blocks:
                raise InputError("prompt %d has %d tokens; the model is compiled for %d, the "
                                 "answer included" % (number, len(prompt), self.length))
        rows = [Row(k, p, stop, sampling.seed) for k, p in enumerate(prompts)]
        for first in range(0, len(rows), self.batch):
            self._write(rows[first:first + self.batch], most, sampling, write)
        return rows

    def _write(self, rows: list[Row], most: int, sampling: Sampling,
               write: Callable[[int, str], None]) -> None:
        ends, processors = self.ends(), sampling.processors()
        contexts = [Context() for _ in range(self.batch)]
        try:
            logits = [self._prompt(c, r.ids) for r, c in zip(rows, contexts)]
            for count in range(most):
                for row, context, scores in zip(rows, contexts, logits):
                    if row.done:
                        continue
                    token = self._choose(row, scores[None], processors,
                                         sampling.temperature == 0)
                    if token in ends:
                        row.end(token)
                    else:
                        row.add(token, self.tokenizer.backend_tokenizer)
                        row.done |= len(row.ids) >= self.length
                    new = row.ready(finished=count + 1 == most)
                    if new:
                        write(row.number, new)
                    if row.done:
                        self.cache.release(context.blocks)
                        context.tokens = 0
                if all(r.done for r in rows) or count + 1 == most:
                    break
                logits = self._next(contexts, [[] if r.done else r.ids[-1:] for r in rows])
        finally:
            for context in contexts:
                self.cache.release(context.blocks)

    def _prompt(self, context: Context, ids: Sequence[int]) -> torch.Tensor:
        """Logits [V] after a prompt, which is in the cache then."""
        logits = torch.empty(0)
        for first in range(0, len(ids), self.chunk):
            logits = self._run(self._read, [context], [ids[first:first + self.chunk]],
                               self.chunk)[0]
        return logits

    def _next(self, contexts: list[Context], fresh: list[Sequence[int]]) -> list[torch.Tensor]:
        """Logits [V] after one more token of each row that has one."""
        fresh = fresh + [[] for _ in range(self.batch - len(fresh))]
        return list(self._run(self._write_one, contexts, fresh, 1))

    def _run(self, step: Step, contexts: list[Context], fresh: Sequence[Sequence[int]],
             chunk: int) -> torch.Tensor:
        given = inputs_of(contexts, fresh, self._places, self.block, chunk, self._window)
        out = step.run("forward", inputs={n: a for n, a in given.items() if n in self._inputs})
        tokens, places = [], []
        for r, (context, new) in enumerate(zip(contexts, fresh)):
            self.cache.grow(context.blocks, context.tokens + len(new))
            for i in range(len(new)):
                tokens.append(r * chunk + i)
                places.append(context.place(context.tokens + i, self.block))
            context.tokens += len(new)
        if tokens:
            self.cache.write(out, tokens, places)
        return torch.as_tensor(out["logits"]).float()

    @staticmethod
    def _choose(row: Row, scores: torch.Tensor, processors: list[Any], greedy: bool) -> int:
        ids = torch.tensor([row.ids])
        for process in processors:
            scores = process(ids, scores)
        if not scores.max().isfinite():
            raise InputError("the logits are not finite after %d tokens" % len(row.ids))
        return int(scores.argmax()) if greedy else int(
            torch.multinomial(scores.softmax(-1), 1, generator=row.random))
