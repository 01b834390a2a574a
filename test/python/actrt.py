# SPDX-License-Identifier: Apache-2.0
"""Compiled steps and kernels through the C interface (include/act-c/Runtime.h), with
numpy arrays for tensors. What is bound or set must have the type that the step says;
NumPy has no bf16: it is uint16."""
import ctypes
from ctypes import byref, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, \
    c_uint64, c_void_p

import numpy as np

DTYPES = {0: np.float64, 1: np.float32, 2: np.uint16, 3: np.float16, 5: np.bool_, 6: np.int32, 7: np.int64}
BF16 = 2
PARAMETER, STATE, SCALAR, FUNCTION, INPUT, OUTPUT = range(6)
GRADIENT = 1  # actrt_role
ALLOW_NATIVE, DEBUG, MEASURE, TIME = 1, 2, 4, 8
TO_DEVICE, TO_HOST = 0, 1  # actrt_direction
POINTER, I32, I64, F32 = range(4)  # actrt_argument_kind


class Type(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_uint32), ("shape", c_int64 * 16)]

    def empty(self):
        return np.zeros(tuple(self.shape[:self.rank]), DTYPES[self.dtype])


class EntityInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", Type),
                ("bytes", c_uint64), ("frozen", c_uint32), ("role", c_int32),
                ("parameter", c_char_p)]


class DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_uint32), ("without_checks", c_uint32),
                ("seed", c_uint64), ("max_instructions", c_uint64)]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", ctypes.c_char * 64), ("kind", ctypes.c_char * 16),
                ("threads", c_uint32), ("host_addressable", c_uint32), ("memory_bytes", c_uint64),
                ("target", ctypes.c_char * 16), ("multiprocessors", c_uint32),
                ("shared_bytes_per_block", c_uint64)]


class Statistics(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "parameter_bytes", "gradient_bytes", "optimizer_bytes", "arena_bytes", "arena_high_water",
        "scratch_bytes_per_thread", "scratch_bytes", "runs", "scratch_high_water", "host_arena_bytes",
        "host_arena_high_water")]


class LaunchInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("kernel", c_char_p),
                ("milliseconds", c_double)]


class Argument(ctypes.Structure):
    class Value(ctypes.Union):
        _fields_ = [("pointer", c_void_p), ("i32", c_int32), ("i64", c_int64), ("f32", c_float)]
    _fields_ = [("kind", c_int32), ("bytes", c_uint32), ("value", Value)]


class LaunchShape(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3),
                ("shared_bytes", c_uint64), ("scratch_bytes", c_uint64), ("cluster", c_uint32 * 3),
                ("cooperative", c_uint32), ("persistent", c_uint32), ("at_once", c_uint32)]


class Runtime:
    """The library and one of its devices."""

    def __init__(self, library, threads=1, device="host", checks=True, seed=0):
        self.c = ctypes.CDLL(str(library))
        self.c.actrt_last_error.restype = c_char_p
        options = DeviceOptions(ctypes.sizeof(DeviceOptions), threads, not checks, seed, 0)
        self.device = self.make("device_open", device.encode(), byref(options))
        self._stream = None

    def call(self, name, *arguments):
        if getattr(self.c, "actrt_" + name)(*arguments):
            raise RuntimeError(f"actrt_{name}: {self.c.actrt_last_error().decode()}")

    def make(self, name, *arguments):
        made = c_void_p()
        self.call(name, *arguments, byref(made))
        return made

    def info(self):
        info = DeviceInfo(ctypes.sizeof(DeviceInfo))
        self.call("device_query", self.device, byref(info))
        return info

    def load(self, path, flags=ALLOW_NATIVE, initialised=True):
        return Step(self, path, flags, initialised)

    @property
    def stream(self):
        self._stream = self._stream or self.make("stream_create", self.device)
        return self._stream

    def synchronize(self):
        self.call("stream_synchronize", self.stream)

    def allocate(self, array, filled=True):
        """Memory of the device for an array, with its values if `filled`."""
        memory = self.make("allocate", self.device, c_uint64(array.nbytes))
        if filled:
            self.copy(memory, array, TO_DEVICE)
        return memory

    def free(self, memory):
        self.call("free", self.device, memory)

    def copy(self, memory, array, direction):
        pair = (memory, c_void_p(array.ctypes.data))
        self.call("copy", self.stream, *(pair if direction == TO_DEVICE else pair[::-1]),
                  c_uint64(array.nbytes), direction)
        self.synchronize()

    def function(self, code, name):
        """A kernel of PTX or of a cubin."""
        module = self.make("module_load", self.device, code, c_size_t(len(code)), 0)
        return self.make("function_get", module, name.encode())

    def launch(self, function, grid, block, shared_bytes, arguments, at_once=0):
        """`arguments` are pairs of a kind and a value."""
        values = (Argument * len(arguments))()
        for to, (kind, value) in zip(values, arguments):
            to.kind = kind
            setattr(to.value, {POINTER: "pointer", I32: "i32", I64: "i64", F32: "f32"}[kind], value)
        three = lambda size: (*size, 1, 1)[:3]
        shape = LaunchShape(ctypes.sizeof(LaunchShape), three(grid), three(block), shared_bytes, at_once=at_once)
        self.call("launch", function, self.stream, byref(shape), values, c_size_t(len(arguments)))

    def milliseconds(self, work):
        """How long what `work()` gives the stream takes, by events."""
        events = [self.make("event_create", self.device) for _ in range(2)]
        elapsed = c_double()
        self.call("event_record", events[0], self.stream)
        work()
        self.call("event_record", events[1], self.stream)
        self.synchronize()
        self.call("event_elapsed", *events, byref(elapsed))
        for event in events:
            self.call("event_release", event)
        return elapsed.value


class Step:
    def __init__(self, runtime, path, flags, initialised):
        self.runtime, self.bound = runtime, {}
        self.handle = c_void_p()
        runtime.call("step_load_file", runtime.device, str(path).encode(), c_uint32(flags),
                     byref(self.handle))
        if initialised:
            self.call("initialise", c_uint64(1))
        infos = {e: list(self.describe(e, None)) for e in (PARAMETER, STATE, SCALAR, FUNCTION)}
        self.parameters = {i.name.decode(): i for i in infos[PARAMETER]}
        self.gradients = {i.parameter.decode(): i for i in infos[STATE] if i.role == GRADIENT}
        self.scalars = {i.name.decode() for i in infos[SCALAR]}
        self.functions = {i.name.decode() for i in infos[FUNCTION]}

    def release(self):
        self.call("release")

    def call(self, name, *arguments):
        self.runtime.call("step_" + name, self.handle, *arguments)

    def describe(self, entity, function):
        count = c_size_t()
        self.call("count", c_int32(entity), function, byref(count))
        for i in range(count.value):
            info = EntityInfo(struct_size=ctypes.sizeof(EntityInfo))
            self.call("describe", c_int32(entity), function, c_size_t(i), byref(info))
            yield info

    def set_parameter(self, name, value):
        info = self.parameters[name]
        # A parameter of bf16 or of 4 bits is given as floats and rounded.
        rounded = info.type.dtype == BF16 or info.type.dtype not in DTYPES
        value = np.array(value, np.float32 if rounded else DTYPES[info.type.dtype], order="C")
        t = Type.from_buffer_copy(info.type)
        if rounded:
            t.dtype = 1
        assert value.shape == tuple(t.shape[:t.rank]), (name, value.shape)
        self.call("set", c_int32(PARAMETER), info.name, value.ctypes.data_as(c_void_p), byref(t))

    def gradient(self, name):
        info = self.gradients[name]
        out = info.type.empty()
        self.call("get", c_int32(STATE), info.name, out.ctypes.data_as(c_void_p),
                  byref(info.type))
        return out

    def set_scalar(self, name, value):
        if isinstance(value, int):
            self.call("set_i64", name.encode(), c_int64(value))
        else:
            self.call("set_f64", name.encode(), c_double(value))

    def statistics(self, function):
        s = Statistics(ctypes.sizeof(Statistics))
        self.call("measure", function.encode(), byref(s))
        return s

    def launches(self, function):
        """(name, kernel, milliseconds of the last run) of each launch; the last of these
        with TIME alone."""
        count = c_size_t()
        self.call("launch_count", function.encode(), byref(count))
        for i in range(count.value):
            info = LaunchInfo(ctypes.sizeof(LaunchInfo))
            self.call("launch_query", function.encode(), c_size_t(i), byref(info))
            yield info.name.decode(), info.kernel.decode(), info.milliseconds

    def input(self, function, name):
        """The array that bind made for an input; the next run reads it."""
        return self.bound[function, INPUT, name]

    def bind_memory(self, function, entity, name, memory):
        """Binds a port to memory of the device."""
        f = function.encode()
        [info] = [i for i in self.describe(entity, f) if i.name.decode() == name]
        self.call("bind", f, c_int32(entity), info.name, memory, byref(info.type))

    def bind(self, function, inputs):
        """Binds every port of a function; returns the arrays of its outputs."""
        f = function.encode()
        outputs = {}
        for entity in (INPUT, OUTPUT):
            for info in self.describe(entity, f):
                name, array = info.name.decode(), info.type.empty()
                if entity == INPUT:
                    array[...] = inputs[name]
                else:
                    outputs[name] = array
                self.bound[function, entity, name] = array
                self.call("bind", f, c_int32(entity), info.name,
                          array.ctypes.data_as(c_void_p), byref(info.type))
        return outputs

    def run(self, function):
        self.call("run", function.encode())
