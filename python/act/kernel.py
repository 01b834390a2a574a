# SPDX-License-Identifier: Apache-2.0
"""Kernels, and what they are launched with."""

from __future__ import annotations

import math
import operator
import re
import struct
from typing import Any, Callable, Sequence, Union

from . import _act
from .device import ALLOW_NATIVE, Buffer, Device, Stream
from .errors import DeviceError, whole

#: The letters of parameters: memory, integers of 8, 16, 32 and 64 bits, floats of 16,
#: 32 and 64 bits, and bytes (a struct, a tensor map).
_INTEGERS = {"b": 1, "h": 2, "i": 4, "l": 8}
_FLOATS = {"e": 2, "f": 4, "d": 8}

#: cuTensorMapEncodeTiled's numbers of element types.
_MAP_TYPES = {name: i for i, name in enumerate((
    "u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32.ftz",
    "tf32", "tf32.ftz"))}
_MAP_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)


class Code:
    """Loaded code. Its kernels share its variables."""

    def __init__(self, device: Device, code: Union[bytes, str]) -> None:
        self.device = device
        self._data = code.encode() if isinstance(code, str) else bytes(code)
        self._native = _act.Code.load(device._native, self._data,
                                      ALLOW_NATIVE if device.kind == "host" else 0)

    def kernel(self, name: str, entry: Union[dict[str, Any], None] = None) -> "Kernel":
        """A kernel by name. ``entry`` is its entry in index.json."""
        return Kernel(self, name, entry)

    def variable(self, name: str, dtype: str) -> Buffer:
        """A variable of the code (``__device__``, ``.global``, ``.const``), as elements
        of a type."""
        return Buffer(self.device, self._native.variable(name, dtype))


class TensorMap:
    """A tensor map: what Hopper's copy engine reads of a tensor in memory, as an
    argument of a kernel. It keeps the buffer.

    ``box`` is the block that one copy moves. Dimensions are in the order of the
    buffer's shape. By default the tensor is the whole buffer; ``offset`` (bytes),
    ``shape`` (elements) and ``strides`` (bytes, for each dimension but the last) choose
    another one in it. Strides are the buffer's unless they are given, or those of
    ``shape`` if it has another number of dimensions. ``dtype`` is the buffer's, or u8, u16, u32, u64, tf32, f32.ftz or
    tf32.ftz. ``swizzle``, ``interleave`` and ``l2_promotion`` are in bytes. ``fill`` is
    what elements outside read as: "zeros" or "nan". The rules are those of the CUDA
    driver's cuTensorMapEncodeTiled.

    >>> x = Device("sim:sm_90a").zeros((64, 128), "bf16")
    >>> TensorMap(x, box=(64, 64), swizzle=128)
    <act.TensorMap bf16 [64, 128], box [64, 64]>
    """

    def __init__(self, buffer: Buffer, box: Sequence[int], *, offset: int = 0,
                 shape: Union[Sequence[int], None] = None,
                 strides: Union[Sequence[int], None] = None,
                 dtype: Union[str, None] = None,
                 element_strides: Union[Sequence[int], None] = None, swizzle: int = 0,
                 interleave: int = 0, l2_promotion: int = 0, fill: str = "zeros") -> None:
        name = dtype or {"i1": "u8", "f8E4M3FN": "u8"}.get(buffer.dtype, buffer.dtype)
        shape = _numbers("shape", buffer.shape if shape is None else shape)
        box = _numbers("box", box)
        steps = [1] * len(shape) if element_strides is None \
            else _numbers("element_strides", element_strides)
        number = _choice("dtype", name, _MAP_TYPES)
        if strides is None:
            inside, strides = shape, []
            if len(buffer.shape) == len(shape):
                inside = list(buffer.shape)
            for i in reversed(range(1, len(inside))):
                strides.insert(0, inside[i] * (strides[0] if strides else _MAP_BYTES[number]))
        strides = _numbers("strides", strides)
        if not 1 <= len(shape) <= 5:
            raise DeviceError("a tensor map has 1 to 5 dimensions, got %d" % len(shape))
        for what, given, expected in (("box", box, len(shape)),
                                      ("element_strides", steps, len(shape)),
                                      ("strides", strides, len(shape) - 1)):
            if len(given) != expected:
                raise DeviceError("a tensor map of %d dimensions has %d numbers in %s, got %d" % (
                    len(shape), expected, what, len(given)))
        self.buffer, self.dtype, self.shape, self.box = buffer, name, shape, box
        self._native = _encode(
            "a tensor map", buffer, whole("offset", offset, most=1 << 62), number, shape[::-1], list(strides)[::-1],
            box[::-1], steps[::-1],
            interleave=_choice("interleave", interleave, {0: 0, 16: 1, 32: 2}),
            swizzle=_swizzle(swizzle),
            l2_promotion=_choice("l2_promotion", l2_promotion, {0: 0, 64: 1, 128: 2, 256: 3}),
            fill=_choice("fill", fill, {"zeros": 0, "nan": 1}))

    def __bytes__(self) -> bytes:
        """Its 128 bytes, as they lie in memory."""
        return self._native.bytes()

    def __repr__(self) -> str:
        return "<act.TensorMap %s %s, box %s>" % (self.dtype, self.shape, self.box)


def _numbers(what: str, given: Any) -> list[int]:
    try:
        return [whole(what, n, most=1 << 62) for n in given]
    except TypeError:
        raise DeviceError("%s of a tensor map: expected numbers, got %r" % (what, given)) from None


def _choice(what: str, given: Any, known: dict[Any, int]) -> int:
    if not isinstance(given, (int, str)) or given not in known:
        raise DeviceError("%s of a tensor map: expected %s, got %s" % (
            what, ", ".join(str(k) for k in known), given))
    return known[given]


def _swizzle(size: int) -> int:
    return _choice("swizzle", size, {0: 0, 32: 1, 64: 2, 128: 3})


def _encode(what: str, buffer: Buffer, offset: int, number: int, sizes: list[int],
            strides: list[int], box: list[int], steps: list[int], **options: int) -> Any:
    """A native tensor map. Lists begin with the innermost dimension."""
    if max(sizes + box + steps, default=0) >= 1 << 32 or max([offset, *strides]) >= 1 << 40:
        raise DeviceError("%s has a number that is too large" % what)
    width = _MAP_BYTES[number]
    end = offset + width + sum((n - 1) * stride for n, stride in zip(sizes, [width, *strides]))
    if 0 not in sizes and end > buffer.bytes:
        raise DeviceError("%s reads %d bytes of a buffer that has %d" % (
            what, end, buffer.bytes))
    return _act.TensorMap.of(buffer._native, offset, number, sizes, strides, box, steps,
                             **options)


class Kernel:
    """A kernel on a device. One that the compiler made knows its grid, and is called
    with its arguments; for others the grid is given: ``kernel[grid](buffer, 3.0)``.

    An argument is a :class:`Buffer`, a number, a :class:`TensorMap`, or bytes for a
    struct that is passed by value. Tensor maps that the compiler asks for are made from
    the buffers.
    """

    def __init__(self, code: Code, name: str, entry: Union[dict[str, Any], None] = None) -> None:
        self.device, self.name, self.entry = code.device, name, entry
        self._native = code._native.kernel(name)
        self._letters = _parameters(code._data, name)
        # What a kernel of tiles reads: the type and the shape of each argument.
        self._views: list[tuple[str, tuple[Any, ...]]] = []

    def about(self) -> dict[str, Any]:
        """``registers``, ``shared_bytes`` (static), ``local_bytes``,
        ``max_threads_per_block``, ``required_block`` and ``required_cluster``; 0 where
        that is not known."""
        return self._native.about()

    def __call__(self, *arguments: Any, stream: Union[Stream, None] = None) -> None:
        if not self.entry or not any(self.entry["grid"]):
            raise DeviceError("kernel %s: its grid is not known; launch it with "
                              "kernel[grid](...)" % self.name)
        self.launch(self.entry["grid"], *arguments, stream=stream)

    def __getitem__(self, grid: Union[int, Sequence[int]]) -> Callable[..., None]:
        return lambda *arguments, **options: self.launch(grid, *arguments, **options)

    def launch(self, grid: Union[int, Sequence[int]], *arguments: Any,
               block: Union[int, Sequence[int], None] = None,
               shared: Union[int, None] = None, types: Union[str, None] = None,
               cluster: Union[int, Sequence[int]] = (), cooperative: bool = False,
               stream: Union[Stream, None] = None) -> None:
        """Launches the kernel, and waits for it unless a stream is given.

        A kernel that the compiler made knows its block; for others ``block`` and
        ``shared`` (bytes of dynamic shared memory) are given, and ``cluster`` if the
        code does not say it. ``types`` has a letter for each argument where the code
        does not: p (memory), b, h, i, l (integers of 8 to 64 bits), e, f, d (floats of
        16 to 64 bits), x (bytes or a tensor map). PTX says it.
        """
        entry = self.entry or {}
        if block is None:
            block = entry.get("block")
            if block is None:
                raise DeviceError("kernel %s: the size of a block is not known; give block="
                                  % self.name)
        persistent = bool(entry.get("schedule", {}).get("persistent"))
        grid = _dimensions("grid", grid)
        if persistent:  # its programs are counted along x
            grid = [grid[0] * grid[1] * grid[2]]
        given = [*arguments, *self._maps(arguments, types)]
        self._check_views(arguments)
        letters = types if types is not None else self._types(given)
        if types is not None and len(types) != len(given):
            raise DeviceError("kernel %s: types has %d letters for %d arguments" % (
                self.name, len(types), len(given)))
        if len(letters) != len(given):
            raise DeviceError("kernel %s takes %d arguments, got %d" % (
                self.name, len(letters) - len(entry.get("tensor_maps", ())), len(arguments)))
        values = [self._value(i, letter, a) for i, (letter, a) in enumerate(zip(letters, given))]
        block, cluster = _dimensions("block", block), _dimensions("cluster", cluster)
        shared = whole("shared", entry.get("shared_bytes", 0) if shared is None else shared)
        self.device._submit(stream, (self, given), lambda on: self._native.launch(
            on, grid, block, cluster, shared, persistent, cooperative,
            entry.get("at_once", 0), values))

    def _check_views(self, arguments: Sequence[Any]) -> None:
        for i, (given, (dtype, shape)) in enumerate(zip(arguments, self._views)):
            # Memory is dense, so a view may have another shape of as many elements.
            if isinstance(given, Buffer) and (given.dtype != dtype or (
                    None not in shape and math.prod(shape) != math.prod(given.shape))):
                raise DeviceError("kernel %s, argument %d: expected %s %s, got %s %s" % (
                    self.name, i, dtype, list(shape), given.dtype, list(given.shape)))

    def _maps(self, arguments: Sequence[Any], types: Union[str, None]) -> list[Any]:
        """The tensor maps that the compiler asks for, unless the caller gives them."""
        wanted = (self.entry or {}).get("tensor_maps", ())
        letters = self._letters if types is None else types
        if not wanted or (letters and len(arguments) != len(letters) - len(wanted)):
            return []
        made = []
        for m in wanted:
            at = m["argument"]
            if at >= len(arguments) or not isinstance(arguments[at], Buffer):
                raise DeviceError("kernel %s, argument %d: expected memory of the device" % (
                    self.name, at))
            made.append(_encode(
                "kernel %s, argument %d" % (self.name, at), arguments[at], 0, m["type"],
                m["sizes"], m["strides"][1:], m["box"], [1] * len(m["box"]), interleave=0,
                swizzle=_swizzle(m["swizzle"]), l2_promotion=3, fill=0))
        return made

    def _types(self, arguments: Sequence[Any]) -> str:
        letters = self._letters
        if letters is None:
            if self.device.kind != "host" and any(isinstance(a, (bool, int, float))
                                                  for a in arguments):
                raise DeviceError("kernel %s: its code does not say what its numbers are; "
                                  "give types=" % self.name)
            return "".join("p" if isinstance(a, Buffer) else "l" if isinstance(a, int)
                           else "d" if isinstance(a, float) else "x" for a in arguments)
        # An address is a number of 64 bits where PTX does not say that it is one.
        return "".join("p" if c == "l" and isinstance(a, Buffer) else c
                       for c, a in zip(letters, arguments)) + letters[len(arguments):]

    def _value(self, at: int, letter: str, given: Any) -> Any:
        def wrong(expected: str) -> DeviceError:
            return DeviceError("kernel %s, argument %d: expected %s, got %s" % (
                self.name, at, expected, given if isinstance(given, (int, float))
                else type(given).__name__))

        if letter == "p":
            if isinstance(given, Buffer):
                return given._native
            raise wrong("memory of the device")
        if letter == "x":
            if isinstance(given, TensorMap):
                return given._native
            if isinstance(given, (bytes, _act.TensorMap)):
                return given
            raise wrong("a tensor map or bytes")
        # A kernel of the host finds each number in eight bytes.
        wide = self.device.kind == "host"
        if letter in _FLOATS:
            try:
                return struct.pack("<" + letter, float(given)).ljust(8 if wide else 0, b"\0")
            except (TypeError, ValueError, OverflowError):
                raise wrong("a float of %d bits" % (8 * _FLOATS[letter])) from None
        if letter not in _INTEGERS:
            raise DeviceError("kernel %s, argument %d: no type of arguments is %r" % (
                self.name, at, letter))
        bits = 8 * _INTEGERS[letter]
        try:
            value = operator.index(given)
        except TypeError:
            raise wrong("an integer") from None
        if not -1 << (bits - 1) <= value < 1 << bits:
            raise wrong("an integer of %d bits" % bits)
        bits = 64 if wide else bits
        return (value % (1 << bits)).to_bytes(bits // 8, "little")

    def __repr__(self) -> str:
        return "<act.Kernel %s on %s>" % (self.name, self.device.name)


def _dimensions(what: str, given: Union[int, Sequence[int]]) -> list[int]:
    """Three numbers, or none."""
    try:
        sizes = [given] if hasattr(given, "__index__") else list(given)  # type: ignore[arg-type]
    except TypeError:
        raise DeviceError("%s: expected sizes, got %r" % (what, given)) from None
    numbers = [whole(what, n, least=1) for n in sizes]
    if len(numbers) > 3 or (not numbers and what != "cluster"):
        raise DeviceError("%s: expected one to three sizes, got %s" % (what, given))
    return (numbers + [1, 1])[:3] if numbers else []


def _parameters(code: bytes, name: str) -> Union[str, None]:
    """A letter for each parameter that PTX declares; None for other code."""
    text = code.decode("ascii", "replace")
    found = re.search(r"\.entry\s+%s\s*(\((.*?)\))?\s*[.{]" % re.escape(name), text, re.S)
    if not found:
        return None
    letters = ""
    for one in re.findall(r"\.param([^,]*)", found.group(2) or ""):
        kind = re.search(r"\.([usbf])(8|16|32|64)\b", one)
        if not kind:
            return None
        floats = kind.group(1) == "f"
        size = int(kind.group(2)) // 8
        letters += "x" if "[" in one else "p" if ".ptr" in one else next(
            k for k, v in (_FLOATS if floats else _INTEGERS).items() if v == size)
    return letters
