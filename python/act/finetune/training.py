# SPDX-License-Identifier: Apache-2.0
"""The training run: from a folder and a data set to an adapter or a trained folder."""

from __future__ import annotations

import math
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..compiler import Module, import_config
from ..device import Device
from ..errors import InputError
from ..step import Step
from . import checkpoints, values
from .adapters import Lora
from .folder import ModelFolder, PathLike
from .logs import Log
from .rows import IGNORED, Batch, Batches, Rows
from .schedule import Schedule
from .tokens import Tokenised, tokenised


def whole(name: str, value: Any, least: int, most: int = 1 << 31) -> None:
    """Raises unless the value is an integer from least to most."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError("%s must be an integer from %d to %d, got %r" % (
            name, least, most, value))


@dataclass(frozen=True)
class Shape:
    """The model as it is compiled: what decides memory."""

    batch: int = 1  # rows of a micro-batch
    seq: int = 2048  # tokens of a row
    micro_batches: int = 1  # whose gradients are added before an update
    lora: Union[Lora, None] = None  # None trains all weights
    quantize: Union[str, None] = None  # nf4 or nf4-nested
    dtype: Union[str, None] = None  # the config's
    pack: bool = True
    remat: str = "selective"
    fuse_attention: bool = True
    #: Parameters that do not train, by patterns of their names in files (*.bias).
    freeze: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("batch", "seq", "micro_batches"):
            whole(name, getattr(self, name), 1)

    def import_model(self, config: dict[str, Any]) -> Module:
        options: dict[str, Any] = {"batch": self.batch, "seq": self.seq, "dtype": self.dtype,
                                   "quantize": self.quantize, "packed": self.pack,
                                   "freeze": ",".join(self.freeze) or None}
        if self.lora:
            options.update(self.lora.import_options())
        return import_config(config, **options)

    def type(self, config: dict[str, Any]) -> str:
        """The element type of weights: f32, bf16 or f16."""
        names = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
        named = config.get("dtype") or config.get("torch_dtype") or "float32"
        return self.dtype or names.get(str(named), "f32")

    def step_module(self, config: dict[str, Any], optimizer: Optimizer) -> Module:
        """The training step before kernels are formed."""
        return self.without_remat(config, optimizer, remat=self.remat)

    def without_remat(self, config: dict[str, Any], optimizer: Optimizer,
                      remat: Union[str, None] = None) -> Module:
        """The same with nothing chosen yet to compute again. In f16 its loss has a scale."""
        return self.import_model(config).run(
            fuse_attention=self.fuse_attention, remat=remat, write_step={
                **optimizer.options(), "micro-batches": self.micro_batches,
                "loss-scale": self.type(config) == "f16"})


@dataclass(frozen=True)
class Optimizer:
    """What updates the weights, and clips the gradient's norm before (0: never).

    Norms and biases do not decay, unless ``decay_all`` says so.
    """

    name: str = "adamw"
    beta1: float = 0.9
    beta2: Union[float, None] = None  # adamw: 0.999, lion: 0.99
    eps: float = 1e-8
    momentum: float = 0.0  # of sgd
    weight_decay: float = 0.0
    decay_all: bool = False
    state_dtype: str = "f32"  # of moments; or bf16
    clip: float = 1.0

    def options(self) -> dict[str, Any]:
        """As --write-step has them."""
        return {"optimizer": self.name, "beta1": repr(self.beta1),
                "beta2": None if self.beta2 is None else repr(self.beta2),
                "eps": repr(self.eps), "momentum": repr(self.momentum),
                "weight-decay": repr(self.weight_decay),
                "decay-on": "all" if self.decay_all else "matrices",
                "state-dtype": self.state_dtype, "clip": repr(self.clip), "grad-norm": True}


@dataclass(frozen=True)
class Plan:
    """How long a run is, and what it does on the way."""

    epochs: float = 1.0
    steps: int = 0  # in place of epochs
    seed: int = 0
    eval_every: int = 0  # steps; 0: after the last
    eval_fraction: float = 0.0  # of the data, where no data of its own is given
    save_every: int = 0  # steps; 0: after the last
    keep: int = 2  # checkpoints
    learn: str = "responses"  # or all

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epochs) and self.epochs > 0):
            raise InputError("epochs must be a number above 0, got %r" % self.epochs)
        whole("seed", self.seed, 0, (1 << 63) - 1)
        for name in ("steps", "eval_every", "save_every"):
            whole(name, getattr(self, name), 0)
        whole("keep", self.keep, 1)


class LossScale:
    """The factor of a loss in f16, found as torch's GradScaler finds it: halved when
    gradients overflow, doubled after so many steps without."""

    largest, patience = 2.0 ** 24, 2000

    def __init__(self, value: float = 2.0 ** 16, good: int = 0) -> None:
        self.value, self.good = value, good

    def update(self, finite: bool) -> None:
        if not finite:
            self.value, self.good = self.value / 2, 0
            return
        self.good += 1
        if self.good == self.patience:
            self.value, self.good = min(self.largest, self.value * 2), 0


class Feed:
    """A function's inputs from batches."""

    def __init__(self, step: Step, function: str, seq: int) -> None:
        self._shapes = {p.name: p.shape for p in step.inputs(function)}
        #: Whether the loss has a scale.
        self.scaled = self._shapes.pop("loss_scale", None) is not None
        unknown = set(self._shapes) - {"tokens", "labels", "cu_seqlens"}
        if unknown:
            raise InputError("the model has inputs that a text does not give: %s"
                             % ", ".join(sorted(unknown)))
        self.rows = math.prod(self._shapes["tokens"]) // seq

    def __call__(self, batch: Batch) -> dict[str, np.ndarray]:
        inputs = {"tokens": batch.tokens, "labels": batch.labels}
        if "cu_seqlens" in self._shapes:
            *groups, places = self._shapes["cu_seqlens"]
            inputs["cu_seqlens"] = batch.boundaries(math.prod(groups), places - 1)
        return {name: np.ascontiguousarray(array.reshape(self._shapes[name]), np.int32)
                for name, array in inputs.items()}


class Trainer:
    """A training run that is set up: everything that can be wrong is checked by then.

    ``output`` gets checkpoints, logs, and at the end ``adapter`` or ``model``.
    """

    def __init__(self, folder: ModelFolder, data: PathLike, output: PathLike, *,
                 shape: Shape = Shape(), optimizer: Optimizer = Optimizer(),
                 schedule: Schedule = Schedule(), plan: Plan = Plan(),
                 eval_data: Union[PathLike, None] = None, device: str = "host",
                 threads: int = 0, resume: bool = False, cache: Union[PathLike, None] = None,
                 log: Union[Log, None] = None, any_memory: bool = False) -> None:
        if folder.adapter and shape.lora and shape.lora != folder.adapter:
            raise InputError("%s is an adapter of other settings (%s); continue it with its "
                             "own, or merge it first" % (folder.path, folder.adapter))
        if folder.adapter and not shape.lora:
            raise InputError("%s is an adapter; merge it to train all weights" % folder.path)
        if shape.quantize and not shape.lora:
            raise InputError("weights of 4 bits are not trained; use LoRA on them")
        self.folder, self.shape, self.output = folder, shape, Path(output)
        self.optimizer, self.schedule, self.plan = optimizer, schedule, plan
        self.log = log or Log(self.output)
        self._open_data(Path(data), eval_data, cache)
        self._device = Device(device, threads=threads)
        self._settings = checkpoints.settings(
            shape=shape, optimizer=optimizer, schedule=schedule, seed=plan.seed,
            steps=self.steps, data=self.train_rows.data.key, base=folder.identity(),
            eval_fraction=plan.eval_fraction,
            eval_data=self.eval_rows.data.key if self.eval_rows else None)
        self._check_output()
        self._found = checkpoints.latest(self.output) if resume else None
        if self._found:
            checkpoints.check(self._found, self._settings)
        elif checkpoints.latest(self.output):
            raise InputError("%s has checkpoints of a run; --resume continues it, another "
                             "--output begins a new one" % self.output)
        self.log.stage("compiling")
        module = shape.step_module(folder.config, optimizer)
        self.report = module.report()
        target = {"target": self._device.target} if self._device.target else {}
        self.step = self._device.load(module.emit(**target), any_memory=any_memory)
        self._scalars = [s.name for s in self.step.scalars]
        self._feed = Feed(self.step, "step", shape.seq)
        self._feed_eval = Feed(self.step, "eval", shape.seq)
        self.batches = Batches(self.train_rows, self._feed.rows, plan.seed)
        self._set_values()

    def _check_output(self) -> None:
        """What the run ends with must not take the place of what is not its own."""
        made = self.output / ("adapter" if self.shape.lora else "model")
        for mine in (self.folder.path, self.folder.base.path):
            if made.resolve() == mine.resolve():
                raise InputError("the run would replace %s, which it begins with; choose "
                                 "another --output" % mine)
        if made.exists() and not checkpoints.latest(self.output):
            raise InputError("%s is there already, and no run's" % made)

    def _open_data(self, data: Path, eval_data: Union[PathLike, None],
                   cache: Union[PathLike, None]) -> None:
        def read(path: Path) -> Tokenised:
            self.log.stage("tokenising %s" % path)
            return tokenised(path, self.folder, self.plan.learn, progress=self.log.records,
                             cache=Path(cache) if cache else None)

        whole = read(data)
        self.train_rows = Rows(whole, self.shape.seq, self.shape.pack)
        self.eval_rows: Union[Rows, None] = None
        if eval_data is not None:
            self.eval_rows = Rows(read(Path(eval_data)), self.shape.seq, self.shape.pack)
        elif self.plan.eval_fraction:
            self.train_rows, self.eval_rows = self.train_rows.held_out(
                self.plan.eval_fraction, self.plan.seed)
        rows = self.shape.batch * self.shape.micro_batches
        per_epoch = -(-len(self.train_rows) // rows)
        self.steps = self.plan.steps or max(1, round(self.plan.epochs * per_epoch))
        if self.steps == 1 and self.schedule.rate(1, 1) == 0:
            self.log.note("the only step has a learning rate of 0: --warmup 0 begins at once")
        self.log.data(self.train_rows, self.eval_rows, per_epoch, self.steps)

    def _set_values(self) -> None:
        self.log.stage("reading %s" % self.folder.base.path)
        adapter = self.folder.adapter_tensors()
        base = self.folder.tensors()
        # Updates are fewer than steps where some overflowed.
        self.position = self.updates = 0
        self.best, self.scale = math.inf, LossScale()
        self._saved = self._found.step if self._found else -1
        if self._found:
            self.position, self.updates = self._found.step, self._found.updates
            self.best, self.scale = self._found.best, LossScale(*self._found.scale)
            base, adapter = self._found.weights(self.folder)
        found = values.Assignment(self.step.parameters, base, adapter)
        found.set(self.step, self.plan.seed, self.log.bytes)
        if self._found:
            self._found.set_states(self.step)

    def run(self) -> bool:
        """Trains to the last step, or to the one that an interrupt ends; says whether it
        was the last."""
        with _interrupts() as interrupted:
            self.log.begin(self.position, self.steps, self.report, self.step.statistics())
            while self.position < self.steps and not interrupted.is_set():
                self._one(self.position + 1)
            if self.position < self.steps:
                self._stop()
                self.log.end("stopped after step %d; --resume goes on" % self.position)
                return False
            self._finish()
            return True

    def _stop(self) -> None:
        """Saves where an interrupt ends the run, unless the last step was saved."""
        if self.position != self._saved:
            self._save(None)

    def _one(self, number: int) -> None:
        batch = self.batches[number]
        inputs = self._feed(batch)
        if self._feed.scaled:
            inputs["loss_scale"] = np.array(self.scale.value, np.float32)
        rate = self.schedule.rate(number, self.steps)
        given = {"lr": rate, "step": self.updates + 1, "seed": self.plan.seed}
        start = time.perf_counter()
        out = self.step.run("step", inputs=inputs,
                            scalars={name: given[name] for name in self._scalars})
        seconds = time.perf_counter() - start
        loss, norm = float(out["loss"]), float(out["grad_norm"])
        record: dict[str, Any] = {
            "step": number, "loss": loss, "lr": rate, "epoch": number / self.batches.steps_per_epoch,
            "grad_norm": norm if math.isfinite(norm) else None}
        self._check(loss, norm, number)
        if self._feed.scaled:
            record["loss_scale"] = self.scale.value
            self.scale.update(math.isfinite(norm))
        self.position = number
        self.updates += math.isfinite(norm)
        last = number == self.steps
        if self.eval_rows and (last or (self.plan.eval_every
                                        and number % self.plan.eval_every == 0)):
            record["eval_loss"] = found = self._evaluate(self.eval_rows)
            record["eval_perplexity"] = math.exp(min(found, 700)) if found is not None else None
        self.log.step(record, batch.real, seconds)
        found = record.get("eval_loss")
        if last or (found is not None and found < self.best) or (
                self.plan.save_every and number % self.plan.save_every == 0):
            self._save(found)

    def _check(self, loss: float, norm: float, number: int) -> None:
        """A run whose numbers are lost ends. Gradients that overflow in f16 are not: the
        step changed nothing, and the next has a smaller scale."""
        lost = "" if math.isfinite(loss) else "the loss"
        if not math.isfinite(norm) and (not self._feed.scaled or self.scale.value < 2 ** -14):
            lost = lost or "the gradient's norm"
        if lost:
            kept = checkpoints.latest(self.output)
            raise InputError("%s of step %d is not finite; %s" % (
                lost, number, "the checkpoint of step %d was kept" % kept.step if kept
                else "nothing was saved"))

    def _evaluate(self, held_out: Rows) -> Union[float, None]:
        """The mean loss over all labels of the held-out data; none if it is not finite."""
        rows = Batches(held_out, self._feed_eval.rows, shuffle=False)
        total = count = 0.0
        for k in range(rows.steps_per_epoch):
            batch = rows[k + 1]
            labels = int((batch.labels != IGNORED).sum())
            if labels:
                out = self.step.run("eval", inputs=self._feed_eval(batch))
                total += labels * float(out["loss"])
                count += labels
        mean = total / count
        return mean if math.isfinite(mean) else None

    def _save(self, eval_loss: Union[float, None]) -> None:
        if eval_loss is not None:
            self.best = min(self.best, eval_loss)
        checkpoints.save(self, eval_loss)
        self._saved = self.position
        checkpoints.prune(self.output, self.plan.keep)

    def _finish(self) -> None:
        chosen = checkpoints.best(self.output) or checkpoints.latest(self.output)
        assert chosen, "the last step was saved"
        path = checkpoints.publish(chosen, self.output, adapter=bool(self.shape.lora))
        self.log.end("saved %s" % path)
        self.result = path


class _interrupts:
    """Within it, a first SIGINT or SIGTERM sets the event, and a second one ends the
    process."""

    def __enter__(self) -> threading.Event:
        self._event = threading.Event()
        self._old: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._old = {number: signal.signal(number, self._first)
                         for number in (signal.SIGINT, signal.SIGTERM)}
        return self._event

    def _first(self, number: int, frame: Any) -> None:
        self._event.set()
        signal.signal(number, signal.SIG_DFL)

    def __exit__(self, *unused: Any) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
