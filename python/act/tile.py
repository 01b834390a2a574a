# SPDX-License-Identifier: Apache-2.0
"""Kernels on blocks, written in Python.

A function is run once, with blocks that have shapes and types but no values; what it
does with them is written down as a module of the ``tile`` dialect. There is no second
compiler: the text is the .mlir that one would have written, and act compiles that.

>>> from act import tile
>>> @tile.kernel(grid=(10,))
... def softmax(x: tile.view("f32", 37, 200), y: tile.view("f32", 37, 200)):
...     i = tile.program_id("x") * 4
...     a = tile.load(x, (i, 0), (4, 256), pad="neg_inf")
...     e = tile.exp(a - a.max(axis=1, keepdims=True))
...     tile.store(e / e.sum(axis=1, keepdims=True), y, (i, 0))
>>> list(softmax.emit_ptx("sm_80"))
['softmax.ptx', 'index.json']

Loops are explicit, because Python's would be unrolled: ``tile.loop`` calls its body
once, and returns what the last iteration yields. ``tile.block_size`` makes a size that
a search can change later without a change of the function.
"""

from __future__ import annotations

import inspect
import struct
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .compiler import Module
from .device import Device
from .errors import Error
from .kernel import Kernel

__all__ = [
    "kernel", "view", "program_id", "num_programs", "block_size", "cdiv", "load", "store",
    "atomic_add", "dot", "loop", "full", "zeros", "iota", "where", "exp", "exp2", "log",
    "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "maximum", "minimum", "index",
]

_FLOATS = ("f64", "f32", "bf16", "f16")
_BITS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "f8E4M3FN": 8, "f8E5M2": 8,
         "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1}


class _Trace:
    """The kernel that is being written."""

    current: Optional[_Trace] = None

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth, self.count = 2, 0
        self.sizes: Mapping[str, int] = {}
        self.constants: list[dict[str, str]] = [{}]

    def fresh(self) -> str:
        self.count += 1
        return "%%%d" % (self.count - 1)

    def put(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def op(self, text: str) -> str:
        name = self.fresh()
        self.put("%s = %s" % (name, text))
        return name

    def constant(self, text: str) -> str:
        for known in self.constants:
            if text in known:
                return known[text]
        name = self.constants[-1][text] = self.op("arith.constant " + text)
        return name


def _trace() -> _Trace:
    if _Trace.current is None:
        raise Error("act.tile: operations on blocks stand inside a kernel")
    return _Trace.current


#: A block, an index, or a number.
Operand = Union["_Value", int, float]
#: A number, or what block_size returns.
Size = Union["Index", int]
Shape = Union[Size, tuple[Size, ...]]
Offsets = Union["Index", int, tuple[Union["Index", int], ...]]


# ---- Values -----------------------------------------------------------------

class _Value:
    """An operand: arithmetic with Python's operators."""

    def __add__(self, other: Operand) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Operand) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Operand) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Operand) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Block:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Block:
        return _binary("div", other, self)

    def __floordiv__(self, other: Operand) -> Any:
        return _binary("divu", self, other)

    def __mod__(self, other: Operand) -> Any:
        return _binary("remu", self, other)

    def __and__(self, other: Operand) -> Block:
        return _binary("and", self, other)

    def __or__(self, other: Operand) -> Block:
        return _binary("or", self, other)

    def __neg__(self) -> Any:
        return _binary("sub", 0, self)

    def __lt__(self, other: Operand) -> Block:
        return _compare("lt", self, other)

    def __le__(self, other: Operand) -> Block:
        return _compare("le", self, other)

    def __gt__(self, other: Operand) -> Block:
        return _compare("gt", self, other)

    def __ge__(self, other: Operand) -> Block:
        return _compare("ge", self, other)

    def __bool__(self) -> bool:
        raise Error("act.tile: the value of a block is known when the kernel runs; choose "
                    "with tile.where")


class Index(_Value):
    """A number of type index: a program's, a loop's, an offset."""

    shape: tuple[int, ...] = ()
    dtype = type = "index"

    def __init__(self, name: str, size: Optional[int] = None,
                 symbol: Optional[str] = None) -> None:
        self.name, self.size, self.symbol = name, size, symbol



class Block(_Value):
    """A block of elements."""

    def __init__(self, name: str, shape: Sequence[int], dtype: str) -> None:
        self.name, self.shape, self.dtype = name, tuple(shape), dtype

    @property
    def type(self) -> str:
        return _tensor(self.shape, self.dtype)

    @property
    def T(self) -> Block:
        """The transposed block of two dimensions."""
        return Block(_trace().op("tile.trans %s : %s" % (self.name, self.type)),
                     self.shape[::-1], self.dtype)

    def to(self, dtype: str) -> Block:
        """The elements in another type."""
        if dtype == self.dtype:
            return self
        floats = (self.dtype in _FLOATS, dtype in _FLOATS)
        wider = _BITS[dtype] > _BITS[self.dtype]
        op = {(True, True): "extf" if wider else "truncf",
              (False, False): "extsi" if wider else "trunci",
              (False, True): "sitofp", (True, False): "fptosi"}[floats]
        return Block(_trace().op("arith.%s %s : %s to %s" % (
            op, self.name, self.type, _tensor(self.shape, dtype))), self.shape, dtype)

    def _reduce(self, what: str, axis: int, keepdims: bool) -> Block:
        shape = self.shape[:axis] + self.shape[axis + 1:]
        out = Block(_trace().op("tile.reduce %s %s axis %d : %s" % (
            what, self.name, axis, self.type)), shape, self.dtype)
        return out.expand_dims(axis) if keepdims else out

    def sum(self, axis: int, keepdims: bool = False) -> Block:
        return self._reduce("add", axis % len(self.shape), keepdims)

    def max(self, axis: int, keepdims: bool = False) -> Block:
        return self._reduce("max", axis % len(self.shape), keepdims)

    def min(self, axis: int, keepdims: bool = False) -> Block:
        return self._reduce("min", axis % len(self.shape), keepdims)

    def expand_dims(self, axis: int) -> Block:
        axis %= len(self.shape) + 1
        return Block(_trace().op("tile.expand_dims %s axis %d : %s" % (
            self.name, axis, self.type)), self.shape[:axis] + (1,) + self.shape[axis:],
            self.dtype)

    def broadcast(self, shape: Sequence[Size]) -> Block:
        """Repeats dimensions of 1."""
        sizes = tuple(_size(s) for s in shape)
        if self.shape == sizes:
            return self
        return Block(_trace().op("tile.broadcast %s : %s -> %s" % (
            self.name, self.type, _tensor(sizes, self.dtype))), sizes, self.dtype)

    def __getitem__(self, places: Any) -> Block:
        """``b[:, None]`` and ``b[None, :]``."""
        places = places if isinstance(places, tuple) else (places,)
        out = self
        for axis, place in enumerate(places):
            if place is None:
                out = out.expand_dims(axis)
            elif place != slice(None):
                raise Error("act.tile: a block is indexed with : and None only")
        return out


class View:
    """A tensor in memory, as a kernel's argument."""

    def __init__(self, dtype: str, *shape: Optional[int]) -> None:
        self.dtype, self.shape, self.name = dtype, shape, ""

    @property
    def type(self) -> str:
        return "!tile.view<%s%s>" % ("".join("%sx" % (d or "?") for d in self.shape),
                                     self.dtype)


def view(dtype: str, *shape: Optional[int]) -> Any:
    """The annotation of an argument: a row-major tensor."""
    return View(dtype, *shape)


def _tensor(shape: Sequence[int], dtype: str) -> str:
    return "tensor<%s%s>" % ("".join("%dx" % d for d in shape), dtype)


def index(value: Union[Index, int]) -> Index:
    """An Index from an int."""
    return value if isinstance(value, Index) else Index(
        _trace().constant("%d : index" % value), int(value))


def _literal(value: Any, dtype: str) -> str:
    if dtype in _FLOATS:
        value = float(value)
        if value in (float("inf"), float("-inf")) or value != value:
            if dtype == "f64":
                return "0x%016X" % struct.unpack("<Q", struct.pack("<d", value))[0]
            bits = struct.unpack("<I", struct.pack("<f", value))[0]
            return {"f32": "0x%08X" % bits, "bf16": "0x%04X" % (bits >> 16),
                    "f16": "0x%04X" % struct.unpack("<H", struct.pack("<e", value))[0]}[dtype]
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return "true" if value is True else "false" if value is False else str(int(value))


def full(shape: Sequence[Size], value: Union[int, float, bool], dtype: str) -> Block:
    """A block with one value everywhere."""
    sizes = [_size(s) for s in shape]
    return Block(_trace().constant("dense<%s> : %s" % (
        _literal(value, dtype), _tensor(sizes, dtype))), sizes, dtype)


def zeros(shape: Sequence[Size], dtype: str) -> Block:
    return full(shape, 0, dtype)


def _size(size: Size) -> int:
    if isinstance(size, Index):
        if size.size is None:
            raise Error("act.tile: a block's size is a number or a block_size")
        return size.size
    return int(size)


def _together(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one type and shape."""
    if isinstance(x, Index) or isinstance(y, Index):
        block = x if isinstance(x, Block) else y if isinstance(y, Block) else None
        if block is None:
            return index(x), index(y)
        one, other = (v if v is block else splat(v, block.shape, block.dtype)
                      for v in (x, y))
        return one, other
    if not isinstance(x, Block):
        return full(y.shape, x, y.dtype), y
    if not isinstance(y, Block):
        return x, full(x.shape, y, x.dtype)
    if x.dtype != y.dtype:
        raise Error("act.tile: blocks of %s and of %s; convert one with .to()" % (
            x.dtype, y.dtype))
    if len(x.shape) != len(y.shape):
        raise Error("act.tile: blocks of shapes %s and %s; add dimensions with [:, None]"
                    % (x.shape, y.shape))
    shape = tuple(max(a, b) for a, b in zip(x.shape, y.shape))
    if any(d not in (1, n) for v in (x, y) for d, n in zip(v.shape, shape)):
        raise Error("act.tile: blocks of shapes %s and %s do not broadcast" % (
            x.shape, y.shape))
    return x.broadcast(shape), y.broadcast(shape)


def splat(value: Union[Index, int], shape: Sequence[int], dtype: str) -> Block:
    """A block of an Index."""
    if dtype not in ("i32", "i64"):
        raise Error("act.tile: an index is compared or added with i32 or i64, not %s" % dtype)
    t = _trace()
    name = t.op("arith.index_cast %s : index to %s" % (index(value).name, dtype))
    return Block(t.op("tensor.splat %s : %s" % (name, _tensor(shape, dtype))), shape, dtype)


def _binary(op: str, x: Any, y: Any) -> Any:
    x, y = _together(x, y)
    if isinstance(x, Index):
        if op == "div":
            raise Error("act.tile: divide an index with //")
        name = {"divu": "divui", "remu": "remui"}.get(op, op + "i")
        if op == "add" and y.size == 0:
            return x
        if op == "add" and x.size == 0:
            return y
        return Index(_trace().op("arith.%s %s, %s : index" % (name, x.name, y.name)))
    if x.dtype in _FLOATS:
        word = op + "f" if op in ("add", "sub", "mul", "div") else None
    else:
        word = {"divu": "divui", "remu": "remui", "div": None}.get(op, op + "i")
    if word is None:
        raise Error("act.tile: no %s of %s" % (op, x.dtype))
    return Block(_trace().op("arith.%s %s, %s : %s" % (word, x.name, y.name, x.type)),
                 x.shape, x.dtype)


def _compare(op: str, x: Any, y: Any) -> Block:
    x, y = _together(x, y)
    if isinstance(x, Index):
        raise Error("act.tile: compare blocks, not indices")
    form, prefix = ("cmpf", "o") if x.dtype in _FLOATS else ("cmpi", "s")
    return Block(_trace().op("arith.%s %s%s, %s, %s : %s" % (
        form, prefix, op, x.name, y.name, x.type)), x.shape, "i1")


def _elementwise(op: str) -> Callable[[Block], Block]:
    def function(x: Block) -> Block:
        return Block(_trace().op("math.%s %s : %s" % (op, x.name, x.type)), x.shape, x.dtype)
    function.__name__ = function.__qualname__ = op
    function.__doc__ = "math.%s of each element." % op
    return function


exp, exp2, log, sqrt, rsqrt, sin, cos, tanh, erf = map(
    _elementwise, ("exp", "exp2", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf"))


def _extremum(name: str) -> Callable[[Operand, Operand], Any]:
    def function(x: Operand, y: Operand) -> Any:
        a, b = _together(x, y)
        if isinstance(a, Index):
            short = name[:3] + "ui"
            return Index(_trace().op("arith.%s %s, %s : index" % (short, a.name, b.name)))
        op = name + "f" if a.dtype in _FLOATS else name[:3] + "si"
        return Block(_trace().op("arith.%s %s, %s : %s" % (op, a.name, b.name, a.type)),
                     a.shape, a.dtype)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The %s of two blocks or indices, element by element." % name
    return function


maximum, minimum = _extremum("maximum"), _extremum("minimum")


def where(condition: Block, x: Operand, y: Operand) -> Block:
    """x where the condition holds, else y."""
    a, b = _together(x, y)
    condition = condition.broadcast(a.shape)
    return Block(_trace().op("arith.select %s, %s, %s : %s, %s" % (
        condition.name, a.name, b.name, condition.type, a.type)), a.shape, a.dtype)


# ---- Programs, memory, products ----------------------------------------------

def program_id(axis: str) -> Index:
    """This program's number along x, y or z."""
    return Index(_trace().op("tile.program_id " + axis))


def num_programs(axis: str) -> Index:
    """How many programs there are along x, y or z."""
    return Index(_trace().op("tile.num_programs " + axis))


def block_size(name: str) -> Index:
    """A size by name; its value is the kernel's ``block_sizes[name]``."""
    t = _trace()
    if name not in t.sizes:
        raise Error("act.tile: the kernel has no block size %s" % name)
    return Index(t.op("tile.block_size " + name), t.sizes[name], name)


def cdiv(size: int, block: str) -> tuple[int, str]:
    """A grid's dimension: so many blocks (a name of a block size) as cover size."""
    return (size, block)


def _places(offsets: Any, shape: Any) -> str:
    out = []
    for at, size in zip(offsets, shape):
        text = str(_size(size))
        if isinstance(size, Index) and size.symbol:
            text = size.symbol + " = " + text
        out.append("%s : %s" % (index(at).name, text))
    return ", ".join(out)


def load(view: View, offsets: Offsets, shape: Shape, pad: Optional[str] = None) -> Block:
    """A block of a view. Elements outside read as zero, or as ``pad`` says."""
    offsets = offsets if isinstance(offsets, tuple) else (offsets,)
    shape = shape if isinstance(shape, tuple) else (shape,)
    places = _places(offsets, shape)
    return Block(_trace().op("tile.load %s[%s]%s : %s" % (
        view.name, places, " pad = " + pad if pad else "", view.type)),
        [_size(s) for s in shape], view.dtype)


def store(block: Block, view: View, offsets: Offsets, shape: Optional[Shape] = None) -> None:
    """Writes a block to a view; elements outside are dropped. ``shape`` names sizes."""
    offsets = offsets if isinstance(offsets, tuple) else (offsets,)
    places = _places(offsets, shape or block.shape)
    _trace().put("tile.store %s, %s[%s] : %s" % (block.name, view.name, places, view.type))


def atomic_add(block: Block, view: View, offsets: Offsets,
               shape: Optional[Shape] = None) -> None:
    """Adds a block to a view, in any order of programs."""
    offsets = offsets if isinstance(offsets, tuple) else (offsets,)
    places = _places(offsets, shape or block.shape)
    _trace().put("tile.atomic_add %s, %s[%s] : %s" % (
        block.name, view.name, places, view.type))


def dot(x: Block, y: Block, accumulator: Block) -> Block:
    """accumulator + x y."""
    return Block(_trace().op("tile.dot %s, %s, %s : %s, %s -> %s" % (
        x.name, y.name, accumulator.name, x.type, y.type, accumulator.type)),
        accumulator.shape, accumulator.dtype)


def iota(size: Size) -> Block:
    """The numbers from 0, as i32."""
    size = _size(size)
    return Block(_trace().op("tile.iota 0 to %d" % size), (size,), "i32")


def loop(begin: Union[Index, int], end: Union[Index, int], step: Union[Index, int],
         body: Callable[..., Any], *carried: Block) -> Any:
    """``for i in range(begin, end, step): carried = body(i, *carried)``.

    The body is called once. Carried values keep their types; the last ones are
    returned, a single one as itself.
    """
    t = _trace()
    begin, end, step = index(begin), index(end), index(step)
    i = Index(t.fresh())
    inner = [Block(t.fresh(), c.shape, c.dtype) for c in carried]
    types = [c.type for c in carried]
    number = len(t.lines)
    t.put("")
    t.depth += 1
    t.constants.append({})
    made = body(i, *inner)
    made = made if isinstance(made, tuple) else (made,) if made is not None else ()
    if [m.type for m in made] != types:
        raise Error("act.tile: a loop carries %s, but its body returns %s" % (
            ", ".join(types) or "nothing", ", ".join(m.type for m in made) or "nothing"))
    if carried:
        t.put("scf.yield %s : %s" % (", ".join(m.name for m in made), ", ".join(types)))
    t.constants.pop()
    t.depth -= 1
    head = "scf.for %s = %s to %s step %s" % (i.name, begin.name, end.name, step.name)
    if not carried:
        t.lines[number] = "  " * t.depth + head + " {"
        t.put("}")
        return None
    out = t.fresh()
    many = ":%d" % len(carried) if len(carried) > 1 else ""
    t.lines[number] = "  " * t.depth + "%s%s = %s iter_args(%s) -> (%s) {" % (
        out, many, head, ", ".join("%s = %s" % (a.name, c.name)
                                   for a, c in zip(inner, carried)), ", ".join(types))
    t.put("}")
    results = tuple(Block("%s#%d" % (out, k) if many else out, c.shape, c.dtype)
                    for k, c in enumerate(carried))
    return results if many else results[0]


# ---- Kernels ------------------------------------------------------------------

class TileKernel:
    """A traced kernel. ``text`` is its module; call it with arrays of a device."""

    def __init__(self, function: Callable[..., Any], grid: Any,
                 block_sizes: Optional[Mapping[str, int]],
                 schedule: Optional[Mapping[str, Any]]) -> None:
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.text, views = _write(function, grid, block_sizes or {}, schedule)
        self._views = [(v.dtype, v.shape) for v in views]
        self._module: Optional[Module] = None
        self._loaded: dict[int, tuple[Device, Kernel]] = {}

    @property
    def module(self) -> Module:
        if self._module is None:
            self._module = Module.parse(self.text, self.name + ".mlir")
        return self._module

    def emit_ptx(self, target: str, **options: Any) -> dict[str, bytes]:
        """The PTX and its index, as Module.emit_ptx."""
        return self.module.emit_ptx(target=target, **options)

    def on(self, device: Device) -> Kernel:
        """The kernel on a device, compiled once."""
        key = id(device)
        if key not in self._loaded:
            kernel = device.kernels(self.module)[self.name]
            kernel._views = self._views
            self._loaded[key] = (device, kernel)
        return self._loaded[key][1]

    def __call__(self, device: Device, *arguments: Any) -> None:
        return self.on(device)(*arguments)


def kernel(grid: Any, block_sizes: Optional[Mapping[str, int]] = None,
           schedule: Optional[Mapping[str, Any]] = None,
           ) -> Callable[[Callable[..., Any]], TileKernel]:
    """Makes a kernel of a function whose arguments are annotated with views.

    ``grid``: up to three numbers, or ``tile.cdiv(size, "NAME")``. ``schedule``: warps,
    stages, ... as in ``#tile.schedule``; words without a value are True:
    ``{"groups": 2, "persistent": True, "raster": "2x3", "roles": "{copy = 4, compute}"}``.
    """
    return lambda function: TileKernel(function, grid, block_sizes, schedule)


def _write(function: Callable[..., Any], grid: Any, block_sizes: Mapping[str, int],
           schedule: Optional[Mapping[str, Any]]) -> tuple[str, list[View]]:
    trace = _Trace()
    trace.sizes = block_sizes
    views = []
    # Strings with "from __future__ import annotations".
    annotations = {name: eval(a, function.__globals__) if isinstance(a, str) else a
                   for name, a in function.__annotations__.items()}
    for name in inspect.signature(function).parameters:
        given = annotations.get(name)
        if not isinstance(given, View):
            raise Error("act.tile: argument %s of %s has no tile.view as its annotation" % (
                name, function.__name__))
        v = View(given.dtype, *given.shape)
        v.name = "%" + name
        views.append(v)
    if _Trace.current is not None:
        raise Error("act.tile: a kernel is defined inside another one")
    _Trace.current = trace
    try:
        if function(*views) is not None:
            raise Error("act.tile: %s returns a value; a kernel stores its results" %
                        function.__name__)
    finally:
        _Trace.current = None
    grid = grid if isinstance(grid, (tuple, list)) and not (
        len(grid) == 2 and isinstance(grid[1], str)) else (grid,)
    if any(isinstance(g, tuple) for g in grid):
        shape = "#tile.grid<%s>" % ", ".join(
            "%s/%s" % g if isinstance(g, tuple) else str(g) for g in grid)
    else:
        shape = "array<i64: %s>" % ", ".join(str(g) for g in (*grid, 1, 1)[:3])
    attributes = []
    if block_sizes:
        attributes.append("tile.block_sizes = {%s}" % ", ".join(
            "%s = %d" % item for item in block_sizes.items()))
    attributes.append("tile.grid = " + shape)
    if schedule:
        attributes.append("tile.schedule = #tile.schedule<%s>" % ", ".join(
            name if value is True else "%s = %s" % (name, value)
            for name, value in schedule.items() if value is not False))
    text = "gpu.module @kernels {\n  gpu.func @%s(%s)\n      kernel attributes {%s} {\n%s\n" \
        "    gpu.return\n  }\n}\n" % (
            function.__name__, ", ".join("%s: %s" % (v.name, v.type) for v in views),
            ", ".join(attributes), "\n".join(trace.lines))
    return text, views
