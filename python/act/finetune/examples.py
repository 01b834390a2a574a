# SPDX-License-Identifier: Apache-2.0
"""Examples of a data set as text: what is in a record, and which part is learned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..errors import InputError

#: Columns, the first that a record has decides.
COLUMNS = ("messages", "conversations", "prompt", "text")
_ROLES = {"human": "user", "gpt": "assistant", "system": "system", "user": "user",
          "assistant": "assistant", "tool": "tool", "function_call": "assistant",
          "observation": "tool"}


@dataclass
class Text:
    """A text, and the ranges of its characters that are learned."""

    text: str
    learned: list[tuple[int, int]]
    #: Whether the tokenizer adds its special tokens, and an end of text follows. Chat
    #: templates write their own.
    plain: bool = True


def records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a JSONL or Parquet file, each with its place for messages."""
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix in (".jsonl", ".json", ".ndjson"):
        yield from _jsonl(path)
    else:
        raise InputError("%s: expected a .jsonl or a .parquet file" % path)


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                place = "%s:%d" % (path, number)
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError("%s: not JSON: %s" % (place, error)) from None
                if not isinstance(record, dict):
                    raise InputError("%s: expected a JSON object per line" % place)
                yield place, record
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror)) from None


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet
    try:
        file = pyarrow.parquet.ParquetFile(path)
        row = 0
        known = [n for n in (*COLUMNS, "completion", "tools") if n in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=256, columns=known or None):
            for record in batch.to_pylist():
                yield "%s: row %d" % (path, row), record
                row += 1
    except (OSError, ValueError, ArithmeticError, pyarrow.ArrowException) as error:
        raise InputError("%s: %s" % (path, error)) from None


def columns_of(record: dict[str, Any], place: str) -> str:
    """The column that a record's example is in."""
    for name in COLUMNS:
        if record.get(name) is not None:
            return name
    raise InputError("%s: expected one of %s (with completion), found %s" % (
        place, ", ".join(COLUMNS), ", ".join(record) or "nothing"))


class Renderer:
    """Records as text by a tokenizer's chat template.

    ``learn`` is "responses", what the model has to say, or "all".
    """

    def __init__(self, tokenizer: Any, learn: str = "responses") -> None:
        if learn not in ("responses", "all"):
            raise InputError("learn is 'responses' or 'all', got %r" % learn)
        self.tokenizer = tokenizer
        self.everything = learn == "all"

    def __call__(self, record: dict[str, Any], place: str) -> Text:
        column = columns_of(record, place)
        if column == "text":
            text = _string(record, "text", place)
            return Text(text, [(0, len(text))])
        if column == "prompt":
            return self._completion(record, place)
        found = self._conversation(record[column], record.get("tools"), place)
        return self._whole(found)

    def _whole(self, text: Text) -> Text:
        if self.everything:
            text.learned = [(0, len(text.text))]
        return text

    def _completion(self, record: dict[str, Any], place: str) -> Text:
        prompt, completion = record["prompt"], record.get("completion")
        if completion is None:
            raise InputError("%s: a record with a prompt needs a completion" % place)
        if isinstance(prompt, list) and isinstance(completion, list):
            before = _messages(prompt, place)
            return self._whole(self._render(before + _messages(completion, place), place,
                                            record.get("tools"), len(before)))
        prompt, completion = (_string(record, n, place) for n in ("prompt", "completion"))
        return self._whole(Text(prompt + completion,
                                [(len(prompt), len(prompt) + len(completion))]))

    def _conversation(self, found: Any, tools: Any, place: str) -> Text:
        return self._render(_messages(found, place), place, tools)

    def prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """What stands before the answer."""
        return self._template(messages, None, "the prompt", add_generation_prompt=True)

    def _template(self, messages: Sequence[dict[str, Any]], tools: Any, place: str,
                  **options: Any) -> str:
        if not self.tokenizer.chat_template:
            raise InputError("%s: the tokenizer has no chat template; use a folder with one, or "
                             "records with text, or prompt and completion" % place)
        try:
            return str(self.tokenizer.apply_chat_template(
                list(messages), tools=tools, tokenize=False, **options))
        except Exception as error:  # templates are programs that raise what they like
            raise InputError("%s: the chat template refuses it: %s" % (place, error)) from None

    def _render(self, messages: list[dict[str, Any]], place: str, tools: Any,
                first: int = 0) -> Text:
        """Learned is what the template puts between the end of a prompt and the end of the
        answer, which tells the model to stop there."""
        answers = [i for i, m in enumerate(messages) if m["role"] == "assistant" and i >= first]
        if not answers:
            raise InputError("%s: no message is the assistant's, so there is nothing to learn"
                             % place)
        text = self._template(messages, tools, place)
        learned = []
        for i in answers:
            try:
                start = self._template(messages[:i], tools, place, add_generation_prompt=True)
            except InputError:
                if i:
                    raise
                continue  # a template may refuse to begin with an answer
            end = text if i + 1 == len(messages) else self._template(
                messages[:i + 1], tools, place)
            # A template may write earlier turns in another way than the last one. What it
            # wrote only there is not in the text, and its turn is not learned.
            if text.startswith(start) and text.startswith(end) and len(start) < len(end):
                learned.append((len(start), len(end)))
        if not learned:
            raise InputError("%s: the chat template's prompt is no beginning of the whole, so "
                             "the answers cannot be told apart; --learn all learns all of it"
                             % place)
        return Text(text, learned, plain=False)


def _string(record: dict[str, Any], name: str, place: str) -> str:
    found = record.get(name)
    if not isinstance(found, str):
        raise InputError("%s: expected a text in %s" % (place, name))
    return found


def _messages(found: Any, place: str) -> list[dict[str, Any]]:
    """Messages as role and content, from either of two conventions."""
    if not isinstance(found, list) or not found:
        raise InputError("%s: expected a list of messages" % place)
    out = []
    for message in found:
        if not isinstance(message, dict):
            raise InputError("%s: expected messages with role and content" % place)
        if "from" in message and "role" not in message:
            message = {"role": message["from"], "content": message.get("value")}
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise InputError("%s: the role %r is not one of %s" % (
                place, role, ", ".join(_ROLES)))
        if message.get("content") is None and not message.get("tool_calls"):
            raise InputError("%s: the %s's message has no content" % (place, role))
        # Parquet writes a column that another message has as null.
        out.append({k: v for k, v in message.items() if v is not None})
        out[-1]["role"] = _ROLES[role]
    return out
