# SPDX-License-Identifier: Apache-2.0
"""A base with its adapter in its weights."""

from __future__ import annotations

from typing import Iterator, Mapping

import torch

from ..errors import InputError
from .folder import (
    ModelFolder, PathLike, Tensors, write_tensors, written)
from .values import bare


class Merged(Mapping[str, torch.Tensor]):
    """The tensors of the base, those with an adapter as W + B A alpha / rank: computed in
    f32 and rounded to W's type once. What trained as a whole is the adapter's."""

    def __init__(self, folder: ModelFolder) -> None:
        if not folder.adapter:
            raise InputError("%s is no adapter" % folder.path)
        self._base, adapter = folder.tensors(), folder.adapter_tensors()
        assert adapter is not None
        self._adapter: Tensors = adapter
        self._scale = folder.adapter.scale
        self._transposed = folder.config.get("model_type") == "gpt2"
        self._pairs: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        unknown = []
        for name in adapter:
            module, found, _ = name.partition(".lora_A.weight")
            if found:
                weight = _named(module + ".weight", self._base)
                if weight and module + ".lora_B.weight" in adapter:
                    self._pairs[weight] = module
                    continue
            elif name.endswith(".lora_B.weight"):
                if name.replace(".lora_B.", ".lora_A.") in adapter:
                    continue
            else:  # trained as a whole
                weight = _named(name, self._base)
                if weight:
                    self._whole[weight] = name
                    continue
                if folder.base.tied and bare(name) == "lm_head.weight":
                    same = [n for n in adapter if n.endswith(("embed_tokens.weight", "wte.weight"))]
                    if same and adapter[same[0]].equal(adapter[name]):
                        continue
                    raise InputError("%s: its lm_head is not the embedding, which the base ties "
                                     "it to; act computes no such model" % folder.path)
            unknown.append(name)
        if unknown:
            raise InputError("%s: no weight of %s belongs to %s" % (
                folder.path, folder.base.path, ", ".join(unknown[:5])))

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)

    def __getitem__(self, name: str) -> torch.Tensor:
        if name in self._whole:
            return self._adapter[self._whole[name]]
        weight = self._base[name]
        module = self._pairs.get(name)
        if module is None:
            return weight
        a, b = (self._adapter["%s.lora_%s.weight" % (module, m)].float() for m in "AB")
        if a.dim() != 2 or b.dim() != 2 or b.shape[1] != a.shape[0]:
            raise InputError("%s: adapters of %s and %s do not fit" % (
                module, list(a.shape), list(b.shape)))
        update = (b @ a) * self._scale
        if self._transposed:
            update = update.T
        if update.shape != weight.shape:
            raise InputError("%s: an update of %s for a weight of %s" % (
                name, list(update.shape), list(weight.shape)))
        return (weight.float() + update).to(weight.dtype)


def _named(name: str, base: Tensors) -> str:
    """The base's name of a parameter; a file of a bare model has no prefix."""
    name = bare(name)
    for prefix in ("model.", "transformer."):
        if name not in base and name.startswith(prefix) and name[len(prefix):] in base:
            return name[len(prefix):]
    return name if name in base else ""


def merge(folder: ModelFolder, output: PathLike) -> None:
    """Writes the base with the adapter in its weights as a folder that needs no peft."""
    tensors = Merged(folder)
    with written(output) as path:
        write_tensors(path, "model", tensors)
        folder.write_config(path)
        folder.write_tokenizer(path)
