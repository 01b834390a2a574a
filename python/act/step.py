# SPDX-License-Identifier: Apache-2.0
"""Compiled steps on a device."""

from __future__ import annotations

import json
import operator
from typing import Any, Mapping, Union

import numpy as np

from . import _act
from ._act import Entity
from ._act import EntityKind as _Kind
from ._act import Part as _Part
from .device import ALLOW_NATIVE, NUMPY, Device
from .errors import DeviceError
from .report import Report

# Flags of Runtime.h.
_DEBUG, _MEASURE, _TIME, _ANY_MEMORY, _BIND_TENSORS = 2, 4, 8, 16, 32


class Step:
    """A compiled step on a device: training, inference, or a differentiable function.

    Parameters and states are set and read by name; inputs and outputs are bound to
    arrays, which the step reads and writes in place.

    - ``debug`` fills memory with NaNs before its use and after its end.
    - ``measure`` and ``time`` are for :meth:`statistics` and :meth:`launches`.
    - ``any_memory`` loads a step that needs more memory than is free.
    - ``bind_tensors`` allocates nothing for parameters and states: they are bound.
    """

    def __init__(self, device: Device, artifact: bytes, *, debug: bool = False,
                 measure: bool = False, time: bool = False, any_memory: bool = False,
                 bind_tensors: bool = False) -> None:
        flags = (ALLOW_NATIVE if device.kind == "host" else 0) | _DEBUG * debug \
            | _MEASURE * measure | _TIME * time | _ANY_MEMORY * any_memory \
            | _BIND_TENSORS * bind_tensors
        self.device = device
        self._native = _act.Step(device._native, artifact, flags)
        self._outputs: set[tuple[str, str]] = set()  # those that the caller bound
        self._named = {e.name: (kind, e) for kind in (_Kind.STATE, _Kind.PARAMETER)
                       for e in self._native.entities(kind)}

    @property
    def parameters(self) -> list[Entity]:
        return self._native.entities(_Kind.PARAMETER)

    @property
    def states(self) -> list[Entity]:
        """Gradients and optimizer states."""
        return self._native.entities(_Kind.STATE)

    @property
    def scalars(self) -> list[Entity]:
        """lr, step, seed"""
        return self._native.entities(_Kind.SCALAR)

    @property
    def functions(self) -> list[str]:
        return [f.name for f in self._native.entities(_Kind.FUNCTION)]

    def inputs(self, function: str) -> list[Entity]:
        return self._native.entities(_Kind.INPUT, function)

    def outputs(self, function: str) -> list[Entity]:
        return self._native.entities(_Kind.OUTPUT, function)

    def initialise(self, seed: int = 42, parameter: Union[str, None] = None) -> None:
        """Sets parameters as the model says, from the seed, and states to zero; or one
        parameter alone."""
        if parameter is None:
            self._native.initialise(seed)
        else:
            self._native.initialise_parameter(parameter, seed)

    def _kind(self, name: str) -> tuple[Any, Entity]:
        try:
            return self._named[name]
        except KeyError:
            raise DeviceError("the step has no parameter or state %r" % name) from None

    def set(self, name: str, array: Any) -> None:
        """Sets a parameter or a state. Floats are converted."""
        kind, _ = self._kind(name)
        self._native.set(kind, name, _dense(array))

    def get(self, name: str, out: Any = None) -> Any:
        """A copy of a parameter or a state: in `out`, an array of its shape, or in a new
        one of NumPy, with bf16 as f32."""
        kind, entity = self._kind(name)
        if out is None:
            out = np.empty(entity.shape, NUMPY.get(entity.dtype, np.float32))
        self._native.get(kind, name, out)
        return out

    def set_scalar(self, name: str, value: Any) -> None:
        dtype = {s.name: s.dtype for s in self.scalars}.get(name, "")
        try:
            number = float(value) if dtype in ("f32", "f64") else operator.index(value)
        except (TypeError, ValueError):
            raise DeviceError("%s is %s, got %r" % (name, dtype or "no scalar", value)) from None
        self._native.set_scalar(name, number)

    def bind_input(self, function: str, name: str, array: Any) -> None:
        self._native.bind(function, _Kind.INPUT, name, array)

    def bind_output(self, function: str, name: str, array: Any) -> None:
        self._native.bind(function, _Kind.OUTPUT, name, array)
        self._outputs.add((function, name))

    def bind_parameter(self, name: str, array: Any) -> None:
        """Of a step loaded with ``bind_tensors``."""
        self._native.bind(None, _Kind.PARAMETER, name, array)

    def bind_state(self, name: str, array: Any) -> None:
        self._native.bind(None, _Kind.STATE, name, array)

    def release(self) -> None:
        """Lets go of bound arrays; they are bound again before the next run."""
        self._outputs.clear()
        self._native.release()

    def run(self, function: str = "step", *, inputs: Union[Mapping[str, Any], None] = None,
            scalars: Union[Mapping[str, Union[int, float]], None] = None) -> dict[str, Any]:
        """Runs a function and returns its outputs, as ``{name: array}``. Inputs that
        are not given must be bound. Outputs that the caller did not bind are allocated:
        as NumPy arrays, those of bf16 and f8E4M3FN as torch tensors."""
        for name, array in (inputs or {}).items():
            self.bind_input(function, name, _dense(array))
        for name, value in (scalars or {}).items():
            self.set_scalar(name, value)
        outputs = {}
        for port in self.outputs(function):
            if (function, port.name) not in self._outputs:
                outputs[port.name] = _empty(port)
                self._native.bind(function, _Kind.OUTPUT, port.name, outputs[port.name])
        self._native.run(function, _Part.WHOLE)
        return outputs

    def run_bound(self, function: str) -> None:
        """Runs a function whose inputs and outputs are all bound."""
        self._native.run(function, _Part.WHOLE)

    def forward(self, function: str = "grad") -> None:
        """Runs the forward part of a differentiable function."""
        self._native.run(function, _Part.FORWARD)

    def backward(self, function: str = "grad") -> None:
        """Runs its backward part; the forward part was the last run."""
        self._native.run(function, _Part.BACKWARD)

    def statistics(self, function: str = "step") -> dict[str, int]:
        """Bytes as a dict; what was measured needs ``measure=True``."""
        return self._native.statistics(function)

    def launches(self, function: str = "step") -> list[tuple[str, str, float]]:
        """(name, kernel, milliseconds) of each launch; times need ``time=True``."""
        return self._native.launches(function)

    @property
    def report(self) -> Report:
        """The memory report that the artifact was made with."""
        return Report(json.loads(self._native.about()["report"] or "{}"))


def _dense(array: Any) -> Any:
    """The array without gaps."""
    if isinstance(array, np.ndarray):
        return array if array.flags.c_contiguous else array.copy(order="C")
    return array.contiguous() if hasattr(array, "contiguous") else array


def _empty(port: Entity) -> Any:
    """Memory for an output."""
    if port.dtype in NUMPY:
        return np.empty(port.shape, NUMPY[port.dtype])
    import torch
    return torch.empty(port.shape, dtype={
        "bf16": torch.bfloat16, "f8E4M3FN": torch.float8_e4m3fn}[port.dtype])
