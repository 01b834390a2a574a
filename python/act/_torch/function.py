# SPDX-License-Identifier: Apache-2.0
"""A compiled graph under PyTorch's autograd.

Parameters, their gradients, inputs and results stay PyTorch's tensors; act reads and
writes them in place. What forward saves for backward is in the arena of a step, so
each call that waits for its backward has a step of its own.
"""

import threading

import torch

from ..device import Device
from ..step import Step


class Compiled:
    """A graph that act runs. Call it with the graph's arguments, in order."""

    def __init__(self, graph, program, module, device):
        self.graph, self.program, self.module, self.device = graph, program, module, device
        options = {} if device.kind == "host" else {"target": device.target}
        trains = any(a.requires_grad for a in graph.arguments)
        self._artifact = module.emit(mode="function" if trains else "infer", **options)
        self._free, self._lock = [], threading.Lock()
        step = self._take()
        self._inputs = {p.name: p for p in step.inputs("grad")} if self._has("grad", step) \
            else {}
        self.functions = step.functions
        self.gradients = {s.parameter: s.name for s in step.states if s.role == "gradient"}
        self.outputs = {p.name: p for p in step.outputs(self.functions[0])}
        self.forward_outputs = [p.name for p in step.outputs("forward")]
        self._give(step)
        self._arguments = {a.name: i for i, a in enumerate(graph.arguments)}
        self._ports = [port for _, port, _ in program.inputs if port in self._arguments]
        self.differentiates = "grad" in self.functions

    @staticmethod
    def _has(name, step):
        return name in step.functions

    def _take(self):
        with self._lock:
            if self._free:
                return self._free.pop()
        step = Step(self.device, self._artifact, bind_tensors=True)
        for port, tensor in self.program.held:
            for function in step.functions:
                step.bind_input(function, port, tensor)
        for name in ("seed", "step"):
            if any(s.name == name for s in step.scalars):
                step.set_scalar(name, 0)
        return step

    def _give(self, step):
        with self._lock:
            self._free.append(step)

    @property
    def arena_bytes(self):
        """Of a call: what is saved for backward and all that is in between."""
        step = self._take()
        bytes_ = step.statistics(self.functions[0])["arena_bytes"]
        self._give(step)
        return bytes_

    def report(self, **options):
        """The memory report of forward and backward."""
        return self.module.report(**options)

    # ---- Calls ----

    def __call__(self, *arguments):
        graph = self.graph
        tensors = list(arguments)
        for position in graph.updates:  # backward may read the value of before
            tensors[position] = arguments[position].detach().clone()
        if self.differentiates and torch.is_grad_enabled() and any(
                a.requires_grad for a in tensors):
            made = _Call.apply(self, *tensors)
        else:
            step = self._take()
            made = self._run_forward(step, "forward", [a.detach() for a in tensors])
            self._give(step)
        made = list(made)
        results = []
        for i, node in enumerate(graph.results):
            value = made.pop(0) if self.program.results[i] else node
            if i < len(graph.updates):
                with torch.no_grad():
                    arguments[graph.updates[i]].copy_(value.detach())
            else:
                results.append(value)
        return results

    def _run_forward(self, step, function, arguments):
        for position, name in self.program.places:
            step.bind_parameter(name, _dense(arguments[position]))
        for port in self._ports:
            step.bind_input(function, port, _dense(arguments[self._arguments[port]]))
        seeds = [s.name for s in step.scalars]
        if "seed" in seeds:
            step.set_scalar("seed", int(torch.randint(2**62, ()).item()))
            step.set_scalar("step", 0)
        device = arguments[0].device if arguments else torch.device("cpu")
        made = []
        for name in self.forward_outputs:
            port = self.outputs[name]
            tensor = torch.empty(port.shape, dtype=_DTYPES[port.dtype], device=device)
            step.bind_output(function, name, tensor)
            made.append(tensor)
        if function == "grad":
            step.forward()
        else:
            step.run_bound(function)
        return tuple(made)

    def _run_backward(self, step, arguments, gradients):
        """The gradients of the arguments, by position."""
        for name, g in zip(self.forward_outputs, gradients):
            port = self._inputs.get(name + ".grad")
            if port:
                if g is None:
                    g = torch.zeros(port.shape, dtype=_DTYPES[port.dtype])
                step.bind_input("grad", name + ".grad", _dense(g))
        out = [None] * len(arguments)
        for position, name in self.program.places:
            state = self.gradients.get(name)
            if state:
                out[position] = torch.zeros_like(
                    arguments[position], memory_format=torch.contiguous_format)
                step.bind_state(state, out[position])
        for port in self._ports:
            if port + ".grad" in self.outputs:
                position = self._arguments[port]
                out[position] = torch.empty_like(
                    arguments[position], memory_format=torch.contiguous_format)
                step.bind_output("grad", port + ".grad", out[position])
        step.backward()
        return out


_DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16,
           "f16": torch.float16, "i1": torch.bool, "i32": torch.int32, "i64": torch.int64}


def _dense(tensor):
    return tensor.detach().contiguous()


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(ctx, compiled, *arguments):
        step = compiled._take()
        ctx.compiled, ctx.step = compiled, step
        made = compiled._run_forward(step, "grad", [a.detach() for a in arguments])
        # PyTorch then knows when one of them is changed before backward.
        ctx.save_for_backward(*arguments, *made)
        ctx.mark_non_differentiable(*[
            m for m, name in zip(made, compiled.forward_outputs)
            if name + ".grad" not in compiled._inputs])
        ctx.set_materialize_grads(False)
        return made

    @staticmethod
    def backward(ctx, *gradients):
        if ctx.step is None:
            raise RuntimeError("act: backward ran twice through one call; the arena no "
                               "longer has what forward saved (retain_graph)")
        saved = ctx.saved_tensors
        arguments = saved[:len(saved) - len(gradients)]
        out = ctx.compiled._run_backward(ctx.step, arguments, gradients)
        ctx.compiled._give(ctx.step)
        ctx.step = None
        return (None, *[g if n else None
                        for g, n in zip(out, ctx.needs_input_grad[1:])])


def device_of(tensors, wanted=None):
    """The device to run on: as wanted, or where the tensors are."""
    if isinstance(wanted, Device):
        return wanted
    if wanted is None:
        kinds = {t.device for t in tensors}
        if len(kinds) > 1:
            raise ValueError("act: the arguments are on several devices: %s" % kinds)
        kind = kinds.pop() if kinds else torch.device("cpu")
        wanted = "cuda:%d" % (kind.index or 0) if kind.type == "cuda" else "host"
    if wanted not in _devices:
        _devices[wanted] = Device(wanted)
    return _devices[wanted]


_devices = {}
