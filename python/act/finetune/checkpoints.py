# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run: folders OUTPUT/checkpoint-STEP.

A checkpoint is a folder as transformers or peft loads it, with two files more:
``optimizer.safetensors``, the optimizer's states, and ``training.json``, where the run
is and what it was started with. Each is written aside and then renamed, so a run that is
killed leaves complete ones.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ..errors import InputError
from ..step import Step
from . import values
from .folder import (
    ModelFolder, Tensors, read_json, write_json, write_tensors, written)

if TYPE_CHECKING:
    from .training import Trainer

_STATE, _TRAINING = "optimizer", "training.json"


def settings(**parts: Any) -> dict[str, Any]:
    """What a run was started with, as JSON has it."""
    return {name: _plain(part) for name, part in parts.items()}


def _plain(part: Any) -> Any:
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        part = dataclasses.asdict(part)
    if isinstance(part, dict):
        return {k: _plain(v) for k, v in part.items()}
    return list(part) if isinstance(part, tuple) else part


class Checkpoint:
    def __init__(self, path: Path) -> None:
        self.path = path
        found = read_json(path / _TRAINING)
        try:
            self.step, self.updates = int(found["step"]), int(found["updates"])
            value, good = found["loss_scale"]
            self.scale = float(value), int(good)
            self.eval_loss: Union[float, None] = found["eval_loss"]
            self.best = float(found["best"])
            self.settings: dict[str, Any] = found["settings"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError("%s: not of a training run: %r" % (
                path / _TRAINING, error)) from None

    def weights(self, folder: ModelFolder) -> tuple[Tensors, Union[Tensors, None]]:
        """Base and adapter."""
        if (self.path / "adapter_config.json").is_file():
            return folder.tensors(), Tensors(self.path, "adapter_model")
        return Tensors(self.path), None

    def set_states(self, step: Step) -> None:
        """After the weights, which set the optimizer's copies of them."""
        tensors = Tensors(self.path, _STATE)
        for state in _saved_states(step):
            if state.name not in tensors:
                raise InputError("%s has no optimizer state %s" % (self.path, state.name))
            step.set(state.name, tensors[state.name])


def _saved_states(step: Step) -> list[Any]:
    """Gradients are made anew by each step."""
    return [s for s in step.states if s.role != "gradient"]


def all_of(output: Path) -> list[Checkpoint]:
    """A run's checkpoints, the newest last."""
    found = [p for p in output.glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", p.name)
             and (p / _TRAINING).is_file()]
    return sorted((Checkpoint(p) for p in found), key=lambda c: c.step)


def latest(output: Path) -> Union[Checkpoint, None]:
    return max(all_of(output), key=lambda c: c.step, default=None)


def best(output: Path) -> Union[Checkpoint, None]:
    """The one of the least held-out loss, or none if nothing is held out."""
    measured = [(c.eval_loss, k, c) for k, c in enumerate(all_of(output))
                if c.eval_loss is not None]
    return min(measured)[2] if measured else None


def prune(output: Path, keep: int) -> None:
    """Keeps the newest, and of the others the best or else the newest, `keep` in all; but
    always the best, which the run ends with."""
    *others, newest = all_of(output)
    if any(c.eval_loss is not None for c in others):
        keep = max(keep, 2)
    others.sort(key=lambda c: (c.eval_loss is None, c.eval_loss or 0, -c.step))
    for c in others[max(0, keep - 1):]:
        shutil.rmtree(c.path)


def check(found: Checkpoint, now: dict[str, Any]) -> None:
    """Raises if a run cannot continue with what it was not started with. What is
    recomputed may change: it changes no bit."""
    def flat(part: Any, name: str = "") -> dict[str, Any]:
        if isinstance(part, dict):
            return {k: v for n, p in part.items()
                    for k, v in flat(p, "%s.%s" % (name, n) if name else n).items()}
        return {name: part}

    old, new = flat(found.settings), flat(now)
    other = ["%s was %r and is %r" % (name, old.get(name), new.get(name))
             for name in sorted({*old, *new})
             if old.get(name) != new.get(name) and name != "shape.remat"]
    if other:
        raise InputError("%s was made with other settings: %s" % (found.path, "; ".join(other)))


def save(trainer: Trainer, eval_loss: Union[float, None]) -> None:
    """The run as it is after its last step."""
    step, folder = trainer.step, trainer.folder
    trained = values.StepTensors(step, values.trained(step))
    for name, tensor in trained.items():
        if not tensor.isfinite().all():
            raise InputError("parameter %s is not finite after step %d; nothing was saved" % (
                name, trainer.position))
    with written(trainer.output / ("checkpoint-%d" % trainer.position), replace=True) as path:
        if trainer.shape.lora:
            write_adapter(step, trainer.shape.lora, folder, path)
        else:
            write_tensors(path, "model", values.StepTensors(step, step.parameters))
            folder.write_config(path)
        folder.write_tokenizer(path)
        write_tensors(path, _STATE, values.StepTensors(step, _saved_states(step)),
                      shard_bytes=1 << 62)
        write_json(path / _TRAINING, {
            "step": trainer.position, "updates": trainer.updates,
            "loss_scale": [trainer.scale.value, trainer.scale.good], "eval_loss": eval_loss, "best": trainer.best,
            "settings": trainer._settings})


def write_adapter(step: Step, lora: Any, folder: ModelFolder, path: Path) -> None:
    write_tensors(path, "adapter_model", values.adapter_of(step))
    write_json(path / "adapter_config.json", lora.to_peft(
        str(folder.base.path.resolve()), values.adapted_modules(step),
        values.whole_modules(step),
        transposed=folder.config.get("model_type") == "gpt2",
        tied=any(p.tied for p in step.parameters)))


def publish(chosen: Checkpoint, output: Path, adapter: bool) -> Path:
    """The chosen checkpoint without what only a run needs."""
    target = output / ("adapter" if adapter else "model")
    with written(target, replace=True) as path:
        for file in chosen.path.iterdir():
            if file.name == _TRAINING or file.name.startswith(_STATE + "."):
                continue
            try:
                os.link(file, path / file.name)
            except OSError:  # a file system without links
                shutil.copyfile(file, path / file.name)
    return target
