# SPDX-License-Identifier: Apache-2.0
"""Devices, their memory and their streams."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

import numpy as np

from . import _act
from .errors import DeviceError, Error, whole

if TYPE_CHECKING:
    from .compiler import Module
    from .kernel import Code, Kernel
    from .step import Step

#: What NumPy calls an element type. It has none for bf16 and f8E4M3FN.
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i1": np.bool_,
         "i32": np.int32, "i64": np.int64, "u8": np.uint8}
#: A flag of Runtime.h: native code has all rights of the process.
ALLOW_NATIVE = 1
_U64 = (1 << 64) - 1


class Device:
    """``Device("host")``, ``Device("cuda:0")`` or ``Device("sim:sm_90a")``, which runs
    PTX on the CPU and checks it.

    ``threads`` run kernels (0: one per core). The rest is for sim devices:

    - They check kernels unless ``checks`` is False. With ``strict``, memory that nobody
      has written is a finding when it is read, and not only when it is used. With
      ``benign_fails``, so are races that break no program.
    - ``seed`` varies what the ISA leaves open: with ``orders_only`` the order in which
      things happen, otherwise rounding too.
    - A launch ends with an error after ``max_instructions`` of all warps (0: never).
    """

    def __init__(self, name: str = "host", *, threads: int = 0, checks: bool = True,
                 seed: int = 0, max_instructions: int = 0, strict: bool = False,
                 orders_only: bool = False, benign_fails: bool = False) -> None:
        self._native = _act.open_device(
            str(name), whole("threads", threads), bool(checks),
            whole("seed", seed, most=_U64),
            whole("max_instructions", max_instructions, most=_U64), bool(strict),
            bool(orders_only), bool(benign_fails))
        self._own: Any = None  # the stream of calls that name none

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def kind(self) -> str:
        """host, cuda or sim"""
        return self._native.kind

    @property
    def target(self) -> str:
        """sm_80, ...; empty on the host"""
        return self._native.target

    def about(self) -> dict[str, Any]:
        """What Runtime.h says of the device and its memory, by the same names:
        ``multiprocessors``, ``free_bytes``, ``peak_bytes``, ..."""
        return self._native.about()

    def reset_peak(self) -> None:
        """Counts ``peak_bytes`` anew."""
        self._native.reset_peak()

    def load(self, artifact: Union[bytes, str, os.PathLike[str]], **options: bool) -> "Step":
        """A step from an artifact: bytes of ``Module.emit`` or a file's name. Options
        are :class:`Step`'s."""
        from .step import Step
        if not isinstance(artifact, (bytes, bytearray)):
            if not isinstance(artifact, (str, os.PathLike)):
                raise DeviceError("expected an artifact's bytes or a file's name, got %r"
                                  % (artifact,))
            with open(artifact, "rb") as file:
                artifact = file.read()
        return Step(self, bytes(artifact), **options)

    def array(self, array: Any) -> "Buffer":
        """The device's memory with the elements of a NumPy or torch array: a copy, or
        the array's own memory if the device can use it. The host can use what is without
        gaps and may be written."""
        return Buffer(self, _act.Buffer.from_array(self._native, array))

    def zeros(self, shape: Union[int, Sequence[int]], dtype: str = "f32") -> "Buffer":
        """New memory, all zeros.

        >>> Device("host").zeros((2, 3), "bf16")
        <act.Buffer bf16 [2, 3]>
        """
        sizes = [shape] if hasattr(shape, "__index__") else shape
        return Buffer(self, _act.Buffer.zeros(
            self._native, [whole("shape", n, most=1 << 62) for n in _iterable("shape", sizes)],
            str(dtype)))

    def stream(self) -> "Stream":
        return Stream(self)

    def code(self, code: Union[bytes, str]) -> "Code":
        """PTX, a cubin, or an ELF object of the host, loaded."""
        from .kernel import Code
        return Code(self, code)

    def kernel(self, code: Union[bytes, str], name: str,
               entry: Union[dict, None] = None) -> "Kernel":
        """One kernel of a code. ``entry`` is its entry in index.json, which says how it
        is launched."""
        return self.code(code).kernel(name, entry)

    def kernels(self, module: "Module", **options: Any) -> dict[str, "Kernel"]:
        """The kernels of a module for this device, by name. Options are those of
        ``Module.emit_ptx``."""
        if self.kind == "host":
            raise DeviceError("device host runs no PTX; kernels of tiles run on cuda and sim")
        files = module.emit_ptx(target=self.target, **options)
        return {k["name"]: self.kernel(files[k["file"]], k["entry"], k)
                for k in json.loads(files["index.json"])}

    def _submit(self, stream: Union["Stream", None], uses: tuple[Any, ...],
                call: Callable[[Any], None]) -> None:
        """A call on a stream, which keeps what is used; without one it is waited for."""
        if stream is not None:
            stream._uses += uses
            call(stream._native)
            return
        self._own = self._own or _act.Stream(self._native)
        call(self._own)
        self._own.synchronize()

    def __repr__(self) -> str:
        return "<act.Device %s>" % self.name


def _iterable(what: str, values: Any) -> Iterable[Any]:
    if not isinstance(values, Iterable):
        raise DeviceError("%s: expected integers, got %r" % (what, values))
    return values


class Stream:
    """Operations of one stream run in the order of the calls; those of several may
    run together.

    A call that is given a stream may return before its work is done (that of the host
    does it at once). What it uses is kept until :meth:`synchronize`, which also raises
    errors of that work.

    >>> device = Device("sim:sm_80")
    >>> stream = device.stream()
    >>> x = device.zeros(4)
    >>> x.write(np.arange(4, dtype=np.float32), stream)
    >>> there = stream.record()
    >>> stream.synchronize()
    >>> x.numpy()
    array([0., 1., 2., 3.], dtype=float32)
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._native = _act.Stream(device._native)
        self._uses: list[Any] = []

    def synchronize(self) -> None:
        """Waits until everything in the stream is done."""
        self._native.synchronize()
        self._uses.clear()

    def __del__(self) -> None:
        if getattr(self, "_uses", None):
            self._native.synchronize()

    def wait(self, event: "Event") -> None:
        """What comes later in this stream begins after the event."""
        self._native.wait(event._native)

    def record(self) -> "Event":
        """An event here: after what is in the stream, before what comes later."""
        event = Event(self.device)
        event._native.record(self._native)
        return event

    def call(self, function: Callable[[], Any]) -> None:
        """Calls a function of Python when the stream gets here, on any thread. It must
        not wait for work of act, and on cuda not use act at all."""
        self._native.call_back(function)


class Event:
    """A place in a stream, from :meth:`Stream.record`."""

    def __init__(self, device: Device) -> None:
        self._native = _act.Event(device._native)

    def synchronize(self) -> None:
        """Waits for it."""
        self._native.synchronize()

    def elapsed(self, end: "Event") -> float:
        """Milliseconds from this event to another."""
        return self._native.elapsed(end._native)


class Buffer:
    """Memory of a device with an element type and a shape, without gaps.

    NumPy and torch see it without a copy (``torch.from_dlpack(buffer)``). That of a
    sim device is memory of the CPU. Arrays that are read and written are without gaps
    and in memory of the host.
    """

    def __init__(self, device: Device, native: Any) -> None:
        self.device, self._native = device, native

    @property
    def dtype(self) -> str:
        return self._native.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._native.shape)

    @property
    def bytes(self) -> int:
        return self._native.bytes

    @property
    def address(self) -> int:
        return self._native.address

    def numpy(self) -> np.ndarray:
        """A copy of the elements."""
        if self.dtype not in NUMPY:
            raise Error("NumPy has no element type %s; read it into a torch tensor"
                        % self.dtype)
        return self.read(np.empty(self.shape, NUMPY[self.dtype]))

    def read(self, array: Any, stream: Union[Stream, None] = None) -> Any:
        """Copies the elements into an array of the same type and shape."""
        self._on(stream, array, lambda s: self._native.read(s, array))
        return array

    def write(self, array: Any, stream: Union[Stream, None] = None) -> None:
        """Copies the elements of an array of the same type and shape to the device."""
        def call(native: Any) -> None:
            kept = self._native.write(native, array)
            if stream is not None:
                stream._uses.append(kept)
        self._on(stream, None, call)

    def copy(self, buffer: "Buffer", stream: Union[Stream, None] = None) -> None:
        """Copies another buffer of the device, of as many bytes, into this one."""
        self._on(stream, buffer, lambda s: self._native.copy(s, buffer._native))

    def fill(self, byte: int, stream: Union[Stream, None] = None) -> None:
        """Sets every byte."""
        value = whole("a byte", byte, most=255)
        self._on(stream, None, lambda s: self._native.fill(s, value))

    def _on(self, stream: Union[Stream, None], other: Any, call: Callable[[Any], None]) -> None:
        self.device._submit(stream, (self, other), call)

    def __dlpack__(self, **options: Any) -> Any:
        if options.pop("copy", None):
            other = self.device.zeros(self.shape, self.dtype)
            other.copy(self)
            return other.__dlpack__(**options)
        return self._native.array().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._native.array().__dlpack_device__()

    def __repr__(self) -> str:
        return "<act.Buffer %s %s>" % (self.dtype, list(self.shape))
