# SPDX-License-Identifier: Apache-2.0
"""Compiled steps through the C interface (include/act-c/Runtime.h), with numpy
arrays for tensors. What is bound or set must have the type that the step says."""
import ctypes
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, \
    c_uint64, c_void_p

import numpy as np

DTYPES = {0: np.float64, 1: np.float32, 5: np.bool_, 6: np.int32, 7: np.int64}
PARAMETER, STATE, SCALAR, FUNCTION, INPUT, OUTPUT = range(6)
GRADIENT = 1  # actrt_role
ALLOW_NATIVE, DEBUG = 1, 2


class Type(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_uint32), ("shape", c_int64 * 16)]

    def empty(self):
        return np.zeros(tuple(self.shape[:self.rank]), DTYPES[self.dtype])


class EntityInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", Type),
                ("bytes", c_uint64), ("frozen", c_uint32), ("role", c_int32),
                ("parameter", c_char_p)]


class DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_uint32)]


class Runtime:
    """The library and its host device."""

    def __init__(self, library, threads=1):
        self.c = ctypes.CDLL(str(library))
        self.c.actrt_last_error.restype = c_char_p
        self.device = c_void_p()
        options = DeviceOptions(ctypes.sizeof(DeviceOptions), threads)
        self.call("device_open", b"host", byref(options), byref(self.device))

    def call(self, name, *arguments):
        if getattr(self.c, "actrt_" + name)(*arguments):
            raise RuntimeError(f"actrt_{name}: {self.c.actrt_last_error().decode()}")

    def load(self, path, flags=ALLOW_NATIVE):
        return Step(self, path, flags)


class Step:
    def __init__(self, runtime, path, flags):
        self.runtime, self.bound = runtime, {}
        self.handle = c_void_p()
        runtime.call("step_load_file", runtime.device, str(path).encode(), c_uint32(flags),
                     byref(self.handle))
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
        # A 4-bit parameter is given as floats and quantised.
        value = np.array(value, DTYPES.get(info.type.dtype, np.float32), order="C")
        t = Type.from_buffer_copy(info.type)
        if info.type.dtype not in DTYPES:
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
