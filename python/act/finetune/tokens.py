# SPDX-License-Identifier: Apache-2.0
"""A data set as tokens: made once, in parallel, and continued where it was interrupted."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import pickle
import queue
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Sequence, Union

import numpy as np

from ..errors import InputError
from .examples import Renderer, Text, records
from .folder import ModelFolder

_FORMAT = 1  # of the files, and of what is in them
_CHUNK = 512  # records that a worker takes
_FILES = {"tokens": np.dtype(np.int32), "learned": np.dtype(np.uint8),
          "ends": np.dtype(np.int64)}

Progress = Callable[[int], None]  # records done


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "act"


class Tokenised:
    """Samples as tokens: all behind each other in files that are mapped, not read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tokens, self._learned, self._ends = (
            np.memmap(path / name, dtype, "r") if (path / name).stat().st_size
            else np.zeros(0, dtype) for name, dtype in _FILES.items())
        #: Tells data sets apart.
        self.key = path.name

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self._ends, prepend=0)

    def sample(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Its tokens, and for each whether it is learned."""
        start, end = int(self._ends[index - 1]) if index else 0, int(self._ends[index])
        return self._tokens[start:end], self._learned[start:end].astype(bool)

    def learned_in(self, most: int) -> np.ndarray:
        """For each sample, how many of its first `most` tokens are learned, but for the
        first one, which nothing predicts."""
        out = np.zeros(len(self), np.int64)
        starts = self._ends - self.lengths
        for first in range(0, len(self), _CHUNK):  # of samples, or all tokens would be counted
            part = slice(first, first + _CHUNK)
            begin, ends = int(starts[first]), self._ends[part]
            sums = np.concatenate([[0], np.cumsum(
                self._learned[begin:int(ends[-1])], dtype=np.int64)])
            out[part] = (sums[np.minimum(ends, starts[part] + most) - begin]
                         - sums[np.minimum(ends, starts[part] + 1) - begin])
        return out


class Tokeniser:
    """Makes tokens of records. ``vocabulary`` is the model's."""

    def __init__(self, tokenizer: Any, vocabulary: Union[int, None] = None,
                 learn: str = "responses") -> None:
        if not tokenizer.is_fast:
            raise InputError("the tokenizer does not say which characters a token is of; save "
                             "it as a fast one (tokenizer.json)")
        self.tokenizer, self.vocabulary, self.learn = tokenizer, vocabulary, learn
        self._render = Renderer(tokenizer, learn)

    def __call__(self, batch: Sequence[tuple[str, dict[str, Any]]]) -> list[np.ndarray]:
        """[tokens, learned, lengths] of the records."""
        tokens, learned, lengths = [], [], []
        for place, record in batch:
            ids, mask = self.sample(self._render(record, place), place)
            tokens += ids
            learned += mask
            lengths.append(len(ids))
        return [np.array(a, t) for a, t in zip((tokens, learned, lengths), _FILES.values())]

    def sample(self, text: Text, place: str) -> tuple[list[int], list[bool]]:
        try:
            found = self.tokenizer(text.text, add_special_tokens=text.plain,
                                   return_offsets_mapping=True, verbose=False)
        except (TypeError, UnicodeError):
            raise InputError("%s: the text is not Unicode" % place) from None
        ids = list(found["input_ids"])
        mask = [any(start < b and a < end for start, end in text.learned)
                for a, b in found["offset_mapping"]]
        end = self.tokenizer.eos_token_id
        if text.plain and end is not None:
            if not ids or ids[-1] != end:
                ids.append(end)
                mask.append(False)
            mask[-1] = any(stop == len(text.text) for _, stop in text.learned)
        top = max(ids, default=-1)
        if self.vocabulary is not None and top >= self.vocabulary:
            raise InputError("%s: token %d (%r) is outside the model's vocabulary of %d" % (
                place, top, self.tokenizer.convert_ids_to_tokens(top), self.vocabulary))
        return ids, mask


def tokenised(data: Path, folder: ModelFolder, learn: str = "responses", *,
              cache: Union[Path, None] = None, workers: int = 0,
              progress: Progress = lambda done: None) -> Tokenised:
    """The tokens of a data set, from the cache if they are there."""
    if not data.is_file():
        raise InputError("%s is not a file" % data)
    tokeniser = Tokeniser(folder.tokenizer(), folder.config.get("vocab_size"), learn)
    path = (cache or cache_folder()) / ("tokens-" + _key(data, tokeniser))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / (path.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making them
        if not path.is_dir():
            _make(path, data, tokeniser, workers or os.cpu_count() or 1, progress)
    found = Tokenised(path)
    if not len(found):
        raise InputError("%s has no records" % data)
    return found


def _key(data: Path, tokeniser: Tokeniser) -> str:
    """Of everything that decides what the tokens are."""
    hashed = hashlib.sha256(json.dumps([_FORMAT, tokeniser.learn]).encode())
    with open(data, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            hashed.update(piece)
    tokenizer = tokeniser.tokenizer
    for part in (tokenizer.backend_tokenizer.to_str(), json.dumps(tokenizer.chat_template),
                 json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str),
                 str(tokenizer.eos_token_id), str(tokeniser.vocabulary)):
        hashed.update(part.encode())
    return hashed.hexdigest()[:32]


def _make(path: Path, data: Path, tokeniser: Tokeniser, workers: int,
          progress: Progress) -> None:
    part = path.parent / (path.name + ".part")
    part.mkdir(parents=True, exist_ok=True)
    done = {"records": 0, **dict.fromkeys(_FILES, 0)}
    try:
        done.update(json.loads((part / "done.json").read_text()))
    except (OSError, ValueError):
        pass  # a first try, or one that was killed before its first chunk
    files = {}
    for name, dtype in _FILES.items():
        files[name] = open(part / name, "r+b" if (part / name).exists() else "w+b")
        files[name].truncate(done[name] * dtype.itemsize)
        files[name].seek(0, os.SEEK_END)
    rest = itertools.islice(records(data), done["records"], None)
    for tokens, learned, lengths in _chunks(rest, tokeniser, workers):
        ends = done["tokens"] + np.cumsum(lengths, dtype=np.int64)
        for name, array in (("tokens", tokens), ("learned", learned), ("ends", ends)):
            files[name].write(array.tobytes())
            files[name].flush()
            os.fsync(files[name].fileno())  # before what says that it is there
            done[name] += len(array)
        done["records"] += len(lengths)
        (part / "done.json.next").write_text(json.dumps(done))
        os.replace(part / "done.json.next", part / "done.json")
        progress(done["records"])
    for file in files.values():
        file.close()
    (part / "done.json").unlink(missing_ok=True)
    part.rename(path)


def _chunks(rest: Iterable[tuple[str, dict[str, Any]]], tokeniser: Tokeniser,
            workers: int) -> Iterator[list[np.ndarray]]:
    """Chunks in their order. A small file is not worth a second process."""
    def chunks() -> Iterator[list[tuple[str, dict[str, Any]]]]:
        source = iter(rest)
        return iter(lambda: list(itertools.islice(source, _CHUNK)), [])

    waiting = chunks()
    first = list(itertools.islice(waiting, 4))
    if workers == 1 or len(first) < 4:
        for chunk in itertools.chain(first, waiting):
            yield tokeniser(chunk)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for _ in range(workers):
            worker = _Worker(tokeniser)
            stack.callback(worker.close)
            idle.put(worker)

        def work(chunk: list[tuple[str, dict[str, Any]]]) -> list[np.ndarray]:
            worker = idle.get()
            try:
                return worker(chunk)
            finally:
                idle.put(worker)

        running = [pool.submit(work, chunk) for chunk in first]
        for chunk in waiting:
            running.append(pool.submit(work, chunk))
            if len(running) > 4 * workers:
                yield running.pop(0).result()
        while running:
            yield running.pop(0).result()


class _Worker:
    """A process that makes tokens. It is none of multiprocessing's, which would run the
    program's main module again."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from act.finetune.tokens import _serve; _serve()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                 "TOKENIZERS_PARALLELISM": "false"})
        self._send((tokeniser.tokenizer, tokeniser.vocabulary, tokeniser.learn))

    def _send(self, what: Any) -> None:
        assert self._process.stdin
        pickle.dump(what, self._process.stdin)
        self._process.stdin.flush()

    def __call__(self, chunk: list[tuple[str, dict[str, Any]]]) -> list[np.ndarray]:
        assert self._process.stdout
        try:
            self._send(chunk)
            good, out = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise InputError("a process that makes tokens ended, with status %s" %
                             self._process.wait()) from None
        if not good:
            raise InputError(out)
        return list(out)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def _serve() -> None:
    """What a worker does: chunks from standard input to standard output."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    tokeniser = Tokeniser(*pickle.load(source))
    while True:
        try:
            chunk = pickle.load(source)
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = (True, tokeniser(chunk))
        except InputError as error:
            answer = (False, str(error))
        try:
            pickle.dump(answer, target)
            target.flush()
        except BrokenPipeError:  # nobody waits for it
            return
