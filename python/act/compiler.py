# SPDX-License-Identifier: Apache-2.0
"""Modules: models and kernels as the compiler sees them."""

from __future__ import annotations

import json
import os
from typing import Any, Union

from . import _act
from .report import Report


def _options(options: dict[str, Any]) -> str:
    """{"target": "sm_80", "cubins": True} as the compiler's text for options."""
    words = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            value = ",".join(str(v) for v in value)
        value = str(value)
        if any(c.isspace() for c in value) and not value.startswith(("{", "'")):
            value = "{" + value + "}"
        words.append(name.replace("_", "-") + "=" + value)
    return " ".join(words)


def _flag(name: str, value: Any) -> list[str]:
    name = "--" + name.replace("_", "-")
    if value is True:
        return [name]
    if value is False or value is None:
        return []
    if isinstance(value, dict):
        return [name + "=" + _options(value)]
    return ["%s=%s" % (name, value)]


class Module:
    """A model or a set of kernels: a module of MLIR with act's dialects.

    >>> m = Module.parse('''
    ... module {
    ...   func.func @forward(%x: tensor<4xf32> {act.name = "x"})
    ...       -> (tensor<4xf32> {act.name = "y"}) {
    ...     %y = act.gelu %x : tensor<4xf32>
    ...     return %y : tensor<4xf32>
    ...   }
    ... }''')
    >>> m.report()["launches"]
    1
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        #: What the compiler said in the last call of run(), remarks as well.
        self.diagnostics: list[_act.Diagnostic] = []

    @classmethod
    def parse(cls, text: Union[str, bytes], name: str = "<text>") -> Module:
        """A module from MLIR's text, or from its bytecode (bytes)."""
        data = text.encode() if isinstance(text, str) else bytes(text)
        return cls(_act.Module.parse(data, name))

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Module:
        """A module from a file of text or bytecode."""
        with open(path, "rb") as file:
            return cls.parse(file.read(), os.fspath(path))

    def clone(self) -> Module:
        """A copy that later passes do not change."""
        return Module(self._native.clone())

    def run(self, *flags: str, **passes: Any) -> Module:
        """Runs passes in place and returns the module.

        Flags are act-opt's (``"--canonicalize"``); keywords are the same with
        underscores. A call that fails changes nothing.

        >>> m = import_config({"model_type": "llama", "hidden_size": 32,
        ...     "intermediate_size": 64, "num_hidden_layers": 2,
        ...     "num_attention_heads": 2, "vocab_size": 64}, batch=1, seq=8)
        >>> m.run("--fuse-attention", remat="selective", optimizer="adamw")
        <act.Module: @forward @grad @step>
        """
        words = list(flags)
        for name, value in passes.items():
            words += _flag(name, value)
        self.diagnostics = self._native.run(words)
        return self

    @property
    def text(self) -> str:
        """The module as MLIR's text."""
        return self._native.print(False).decode()

    @property
    def bytecode(self) -> bytes:
        """The module as MLIR's bytecode."""
        return self._native.print(True)

    def report(self, **options: Any) -> Any:
        """The memory report of a training step, or of inference.

        Options are those of ``--memory-report``, such as ``view="torch"``. With
        ``format="text"`` (or html, svg, csv, formula) it is a text.
        """
        form = options.pop("format", "json")
        text = self._native.report(_options({"format": form, **options})).decode()
        return Report(json.loads(text)) if form == "json" else text

    def emit(self, **options: Any) -> bytes:
        """The artifact (bytes) that a device loads. Options are ``--emit``'s:
        ``target="sm_80"``, ``mode="infer"``."""
        return self._native.emit(_options(options))

    def emit_ptx(self, **options: Any) -> dict[str, bytes]:
        """The kernels as ``{"NAME.ptx": bytes, ..., "index.json": bytes}``."""
        return self._native.emit_ptx(_options(options))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        entries = ["@" + f for f in ("forward", "grad", "step")
                   if "func.func @%s(" % f in self.text]
        return "<act.Module: %s>" % " ".join(entries or ["no model"])


def import_config(config: Any, **options: Any) -> Module:
    """The model of a Hugging Face config: a dict, a JSON text, or a file's name.

    Options are those of ``act-import``: ``batch=2, seq=1024, dtype="bf16"``,
    ``lora_rank=16``.

    >>> m = import_config({"model_type": "llama", "hidden_size": 32,
    ...     "intermediate_size": 64, "num_hidden_layers": 2,
    ...     "num_attention_heads": 2, "vocab_size": 64}, batch=1, seq=8)
    >>> m.report()["parameters_bytes"]
    98944
    """
    if hasattr(config, "to_json_string"):
        config = config.to_json_string()
    elif isinstance(config, dict):
        config = json.dumps(config)
    elif not str(config).lstrip().startswith("{"):
        with open(config, encoding="utf-8") as file:
            config = file.read()
    words = []
    for name, value in options.items():
        words += _flag(name, value)
    return Module(_act.Module.import_config(config, words))
