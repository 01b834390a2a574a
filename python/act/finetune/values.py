# SPDX-License-Identifier: Apache-2.0
"""Weights between the tensors of a folder and the parameters of a step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable, Iterator, Mapping, Sequence, Union

from .._act import Entity
from ..errors import InputError
from ..step import Step
from .adapters import PREFIX
from .folder import Tensors

if TYPE_CHECKING:
    import torch

# What files of real models have and no program needs: constants that it computes.
_COMPUTED = re.compile(r"rotary_emb\.inv_freq$|\.attn\.(masked_)?bias$|position_ids$")
# A file of a bare model lacks the prefix of one with a head, or the reverse.
_PREFIXES = ("model.", "transformer.", "bert.")

Progress = Callable[[int, int], None]  # bytes done, bytes in all


def is_adapter(name: str) -> bool:
    return name.endswith((".lora_A.weight", ".lora_B.weight"))


def adapted_modules(step: Step) -> list[str]:
    """The modules that have adapters."""
    end = ".lora_A.weight"
    return [p.name[:-len(end)] for p in step.parameters if p.name.endswith(end)]


def whole_modules(step: Step) -> list[str]:
    """The modules that train as a whole beside adapters."""
    return sorted({p.name.rpartition(".")[0] for p in trained(step) if not is_adapter(p.name)})


def _named(known: set[str], names: Sequence[str]) -> dict[str, str]:
    """The parameter's name for each name of a file: itself, or with one prefix more or
    less for all of them, whichever matches most."""
    def plain(name: str) -> str:
        return name

    def added(prefix: str) -> Callable[[str], str]:
        return lambda n: prefix + n if n not in known and prefix + n in known else n

    def removed(prefix: str) -> Callable[[str], str]:
        return lambda n: (n[len(prefix):] if n not in known and n.startswith(prefix)
                          and n[len(prefix):] in known else n)

    ways = [plain, *map(added, _PREFIXES), *map(removed, _PREFIXES)]
    best = max(ways, key=lambda way: sum(way(n) in known for n in names))
    return {n: best(n) for n in names}


class Assignment:
    """Which tensor each parameter takes. All that does not fit is one error."""

    def __init__(self, parameters: Sequence[Entity], base: Tensors,
                 adapter: Union[Tensors, None] = None) -> None:
        self.sources: dict[str, tuple[Tensors, str]] = {}
        self._problems: dict[str, list[str]] = {}
        own = {p.name: p for p in parameters}
        self._replaced = _replaced(adapter)
        tied = {other: p.name for p in parameters for other in p.tied}
        self._take(own, tied, base)
        if adapter is not None:
            self._take(own, tied, adapter, adapter=True)
        for p in parameters:
            if p.name not in self.sources and (adapter is not None or not is_adapter(p.name)):
                self._problem("missing", p.name)
        if self._problems:
            where = str(base.folder) + (", %s" % adapter.folder if adapter else "")
            raise InputError("the weights of %s do not fit the model%s" % (where, "".join(
                "\n  %s:%s" % (what, _listed(names))
                for what, names in self._problems.items())))

    def _problem(self, what: str, name: str) -> None:
        self._problems.setdefault(what, []).append(name)

    def _take(self, own: Mapping[str, Entity], tied: Mapping[str, str], tensors: Tensors,
              adapter: bool = False) -> None:
        names = {n: bare(n) if adapter else n for n in tensors}
        matched = _named({*own, *tied}, list(names.values()))
        for file_name, name in names.items():
            name = matched[name]
            target = tied.get(name, name)
            if target not in own:
                if not _COMPUTED.search(name):
                    self._problem("unknown to the model", file_name)
            elif not adapter and target in self._replaced:
                continue
            elif tensors.shape(file_name) != list(own[target].shape):
                self._problem("of another shape", "%s is %s, in the file %s" % (
                    target, list(own[target].shape), tensors.shape(file_name)))
            elif target in self.sources:
                first, there = self.sources[target]
                if not first[there].equal(tensors[file_name]):
                    self._problem("tied in the model, but different in the files", file_name)
            else:
                self.sources[target] = (tensors, file_name)

    def set(self, step: Step, seed: int, progress: Progress = lambda done, total: None) -> None:
        """Sets all parameters: those without a tensor from the seed, as an adapter's that
        begins. States become zero."""
        parameters = step.parameters
        total, done = sum(p.bytes for p in parameters), 0
        for p in parameters:
            if p.name in self.sources:
                tensors, name = self.sources[p.name]
                step.set(p.name, tensors[name])
            else:
                step.initialise(seed, p.name)
            done += p.bytes
            progress(done, total)


def _replaced(adapter: Union[Tensors, None]) -> set[str]:
    """What trained as a whole is in the adapter's file; the base's is not used."""
    return {bare(n) for n in adapter or () if not is_adapter(n)}


def bare(name: str) -> str:
    """The parameter's name of one in an adapter's file."""
    return name[len(PREFIX):] if name.startswith(PREFIX) else name


def _listed(names: Sequence[str], most: int = 20) -> str:
    more = ["and %d more" % (len(names) - most)] if len(names) > most else []
    return "".join("\n    " + n for n in [*names[:most], *more])


def plain(entity: Entity) -> bool:
    """Whether torch has its elements, as it has none of 4 bits."""
    return entity.dtype in ("f32", "bf16", "f16", "u8")


def memory_of(entity: Entity, dtype: str = "", device: str = "cpu") -> torch.Tensor:
    """A tensor for a parameter, a state or a port, in its own type unless another is named;
    for elements of 4 bits, their bytes."""
    import torch
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16,
             "u8": torch.uint8}
    if not dtype and not plain(entity):
        return torch.zeros(entity.bytes, dtype=torch.uint8, device=device)
    return torch.zeros(list(entity.shape), dtype=types[dtype or entity.dtype], device=device)


class StepTensors(Mapping[str, "torch.Tensor"]):
    """Parameters or states of a step as torch tensors, which are read when they are asked
    for, in the step's own type; those of 4 bits as f32."""

    def __init__(self, step: Step, entities: Union[Sequence[Entity], Mapping[str, Entity]]
                 ) -> None:
        self._step = step
        self._entities = (dict(entities) if isinstance(entities, Mapping)
                          else {e.name: e for e in entities})

    def __iter__(self) -> Iterator[str]:
        return iter(self._entities)

    def __len__(self) -> int:
        return len(self._entities)

    def __getitem__(self, name: str) -> torch.Tensor:
        entity = self._entities[name]
        return self._step.get(entity.name, memory_of(entity) if plain(entity) else memory_of(
            entity, "f32"))


def trained(step: Step) -> list[Entity]:
    return [p for p in step.parameters if not p.frozen]


def adapter_of(step: Step) -> StepTensors:
    """What peft's file has: the adapters, and what trains as a whole, under all its names
    where it is tied."""
    return StepTensors(step, {PREFIX + name: p for p in trained(step)
                              for name in (p.name, *p.tied)})
