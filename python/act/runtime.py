# SPDX-License-Identifier: Apache-2.0
"""Devices, compiled steps and kernels."""

import json
import re

import numpy as np

from . import _act
from ._act import EntityKind as _Kind
from ._act import Part as _Part
from .errors import DeviceError, Error

# The flags of Runtime.h.
_ALLOW_NATIVE, _DEBUG, _MEASURE, _TIME, _ANY_MEMORY, _BIND_TENSORS = 1, 2, 4, 8, 16, 32

_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i1": np.bool_,
          "i32": np.int32, "i64": np.int64}


class Device:
    """``Device("host")``, ``Device("cuda:0")`` or ``Device("sim:sm_90a")``, which runs
    PTX on the CPU and checks it.

    ``threads`` run kernels (0: one per core). A sim device checks kernels unless
    ``checks`` is False; ``seed`` varies what the ISA leaves open.
    """

    def __init__(self, name="host", *, threads=0, checks=True, seed=0,
                 max_instructions=0, strict=False):
        self._native = _act.open_device(name, threads, checks, seed, max_instructions,
                                        strict)

    name = property(lambda self: self._native.name)
    #: host, cuda or sim
    kind = property(lambda self: self._native.kind)
    #: sm_80, ...; empty on the host
    target = property(lambda self: self._native.target)

    def load(self, artifact, **options):
        """A step from an artifact: bytes of ``Module.emit`` or a file's name."""
        if not isinstance(artifact, (bytes, bytearray)):
            with open(artifact, "rb") as file:
                artifact = file.read()
        return Step(self, bytes(artifact), **options)

    def array(self, array):
        """The device's memory with the elements of a NumPy or torch array: a copy, or
        the array's own memory if the device can use it (the host always can)."""
        return Buffer(_act.Buffer.from_array(self._native, array))

    def kernel(self, code, name, entry=None):
        """A kernel from PTX, a cubin, or an ELF object of the host. ``entry`` is its
        entry in index.json, which says its shape of launch."""
        data = code.encode() if isinstance(code, str) else bytes(code)
        flags = _ALLOW_NATIVE if self.kind == "host" else 0
        return Kernel(self, _act.Kernel(self._native, data, name, flags), name, entry,
                      _parameters(data, name))

    def kernels(self, module, **options):
        """The kernels of a module for this device, by name."""
        files = module.emit_ptx(target=self.target, **options)
        return {k["name"]: self.kernel(files[k["file"]], k["entry"], k)
                for k in json.loads(files["index.json"])}

    def __repr__(self):
        return "<act.Device %s>" % self.name


class Buffer:
    """Memory of a device with a type."""

    def __init__(self, native):
        self._native = native

    dtype = property(lambda self: self._native.dtype)
    shape = property(lambda self: tuple(self._native.shape))

    def numpy(self):
        """A copy of the elements."""
        if self.dtype not in _NUMPY:
            raise Error("NumPy has no element type %s; read it into a torch tensor"
                        % self.dtype)
        out = np.empty(self.shape, _NUMPY[self.dtype])
        self._native.read(out)
        return out

    def read(self, array):
        """Copies the elements into an array of the same type and shape."""
        self._native.read(array)
        return array

    def __repr__(self):
        return "<act.Buffer %s %s>" % (self.dtype, list(self.shape))


class Kernel:
    """A kernel on a device. One that the compiler made knows its grid, and is called
    with its arguments; for others the grid is given: ``kernel[grid](buffer, 3.0)``."""

    def __init__(self, device, native, name, entry=None, letters=None):
        self.device, self.name, self.entry = device, name, entry
        self._letters = letters
        self._native = native

    def __call__(self, *arguments):
        if not self.entry:
            raise Error("kernel %s: its grid is not known; launch it with kernel[grid](...)"
                        % self.name)
        self.launch(self.entry["grid"], *arguments)

    def _types(self, arguments):
        letters = self._letters
        if letters is None:
            return "".join("p" if isinstance(a, Buffer) else "l" if isinstance(a, int)
                           else "d" for a in arguments)
        # An address is a number of 64 bits where PTX does not say that it is one.
        return "".join("p" if c == "l" and isinstance(a, Buffer) else c
                       for c, a in zip(letters, arguments)) + letters[len(arguments):]

    def __getitem__(self, grid):
        grid = (grid,) if isinstance(grid, int) else tuple(grid)
        return lambda *arguments, **shape: self.launch(grid, *arguments, **shape)

    def launch(self, grid, *arguments, block=None, shared=None, types=None):
        """Launches the kernel and waits for it. A kernel that the compiler made knows
        its block; for others ``block``, ``shared`` (bytes) and ``types`` (a letter for
        each argument: p, i, l, f, d) are given."""
        entry = self.entry or {}
        if block is None:
            block = entry.get("block")
            if block is None:
                raise Error("kernel %s: the size of a block is not known; give block=" % self.name)
        if entry.get("tensor_maps"):
            raise Error("kernel %s takes tensor maps; compile it for a target without them"
                        % self.name)
        if types is None:
            types = self._types(arguments)
        cluster = entry.get("cluster") or []
        self._native.launch(
            list(grid), [block] if isinstance(block, int) else list(block),
            entry.get("shared_bytes", 0) if shared is None else shared,
            [cluster] if isinstance(cluster, int) else list(cluster),
            bool(entry.get("persistent", False)), entry.get("at_once", 0), types,
            [a._native if isinstance(a, Buffer) else a for a in arguments])


def _parameters(code, name):
    """A letter for each parameter that PTX declares; None for other code."""
    text = code if isinstance(code, str) else code.decode("ascii", "replace")
    found = re.search(r"\.entry\s+%s\s*\((.*?)\)" % re.escape(name), text, re.S)
    if not found:
        return None
    letters = ""
    for one in re.findall(r"\.param([^,]*)", found.group(1)):
        kind = re.search(r"\.([usbf])(32|64)\b", one)
        if not kind:
            return None
        letters += "p" if ".ptr" in one else {
            "f32": "f", "f64": "d"}.get("".join(kind.groups()),
                                        "l" if kind.group(2) == "64" else "i")
    return letters


class Step:
    """A compiled step on a device: training, inference, or a differentiable function.

    Parameters and states are set and read by name; inputs and outputs are bound to
    arrays, which the step reads and writes in place.
    """

    def __init__(self, device, artifact, *, debug=False, measure=False, time=False,
                 any_memory=False, bind_tensors=False):
        flags = (_ALLOW_NATIVE if device.kind == "host" else 0) | _DEBUG * debug \
            | _MEASURE * measure | _TIME * time | _ANY_MEMORY * any_memory \
            | _BIND_TENSORS * bind_tensors
        self.device = device
        self._native = _act.Step(device._native, artifact, flags)

    parameters = property(lambda self: self._native.list(_Kind.PARAMETER))
    #: Gradients and optimizer states.
    states = property(lambda self: self._native.list(_Kind.STATE))
    #: lr, step, seed
    scalars = property(lambda self: self._native.list(_Kind.SCALAR))
    functions = property(lambda self: [f.name for f in self._native.list(_Kind.FUNCTION)])

    def inputs(self, function):
        return self._native.list(_Kind.INPUT, function)

    def outputs(self, function):
        return self._native.list(_Kind.OUTPUT, function)

    def initialise(self, seed=42):
        """Sets parameters as the model says, from the seed, and states to zero."""
        self._native.initialise(seed)

    def _kind(self, name):
        for kind in (_Kind.PARAMETER, _Kind.STATE):
            for entity in self._native.list(kind):
                if entity.name == name:
                    return kind, entity
        raise DeviceError("the step has no parameter or state %r" % name)

    def set(self, name, array):
        """Sets a parameter or a state. Floats are converted."""
        kind, _ = self._kind(name)
        self._native.set(kind, name, array)

    def get(self, name):
        """A copy of a parameter or a state; 16-bit floats of bf16 as f32."""
        kind, entity = self._kind(name)
        out = np.empty(entity.shape, _NUMPY.get(entity.dtype, np.float32))
        self._native.get(kind, name, out)
        return out

    def set_scalar(self, name, value):
        dtype = {s.name: s.dtype for s in self.scalars}.get(name, "")
        self._native.set_scalar(name, float(value) if dtype in ("f32", "f64") else value)

    def bind_input(self, function, name, array):
        self._native.bind(function, _Kind.INPUT, name, array)

    def bind_output(self, function, name, array):
        self._native.bind(function, _Kind.OUTPUT, name, array)

    def bind_parameter(self, name, array):
        """Of a step loaded with ``bind_tensors``."""
        self._native.bind(None, _Kind.PARAMETER, name, array)

    def bind_state(self, name, array):
        self._native.bind(None, _Kind.STATE, name, array)

    def release(self):
        """Lets go of bound arrays; they are bound again before the next run."""
        self._native.release()

    def run(self, function="step", *, inputs=None, scalars=None):
        """Runs a function and returns its outputs, as ``{name: array}``. Inputs that
        are not given must be bound; outputs that are not bound are allocated."""
        for name, array in (inputs or {}).items():
            self.bind_input(function, name, np.ascontiguousarray(array)
                            if isinstance(array, np.ndarray) else array)
        for name, value in (scalars or {}).items():
            self.set_scalar(name, value)
        outputs = {}
        for port in self.outputs(function):
            if port.dtype not in _NUMPY:
                continue
            outputs[port.name] = np.empty(port.shape, _NUMPY[port.dtype])
            self.bind_output(function, port.name, outputs[port.name])
        self._native.run(function, _Part.WHOLE)
        return outputs

    def run_bound(self, function):
        """Runs a function whose inputs and outputs are all bound."""
        self._native.run(function, _Part.WHOLE)

    def forward(self, function="grad"):
        """Runs the forward part of a differentiable function."""
        self._native.run(function, _Part.FORWARD)

    def backward(self, function="grad"):
        """Runs its backward part; the forward part was the last run."""
        self._native.run(function, _Part.BACKWARD)

    def statistics(self, function="step"):
        """Bytes as a dict; what was measured needs ``measure=True``."""
        return self._native.statistics(function)

    def launches(self, function="step"):
        """(name, kernel, milliseconds) of each launch; times need ``time=True``."""
        return self._native.launches(function)

    @property
    def report(self):
        from .report import Report
        return Report(json.loads(self._native.about()["report"] or "{}"))
