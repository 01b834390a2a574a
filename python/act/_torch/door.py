# SPDX-License-Identifier: Apache-2.0
"""``torch.compile(backend="act")`` and ``act.from_torch``."""

from __future__ import annotations

import warnings
from typing import Any, Mapping, Optional, Sequence

import torch

from ..compiler import Module
from ..errors import Error
from . import capture, write
from .function import Compiled, device_of

_OPTIONS = ("remat", "budget", "device", "fuse_attention", "on_unsupported", "passes")


def compile_graph(gm, examples, *, names=None, remat=None, budget=None, device=None,
                  fuse_attention=True, passes=(), on_unsupported=None):
    """A Compiled of an FX graph with example arguments."""
    del on_unsupported
    graph = capture.lower(gm, examples, names)
    device = device_of([e for e in examples if isinstance(e, torch.Tensor)], device)
    program = write.write(graph)
    text = program.text()
    module = Module.parse(text, "<torch>")
    flags = list(passes)
    if fuse_attention:
        flags.append("--fuse-attention")
    if remat and budget:
        raise Error("remat and budget exclude each other: a budget chooses what to "
                    "recompute")
    differentiable = any(a.requires_grad for a in graph.arguments)
    if differentiable:
        flags.append("--remat=" + ("budget=%s" % budget if budget else
                                   remat or "selective"))
    module.run(*flags)
    return Compiled(graph, program, module, device)


def backend(gm: Any, examples: Sequence[Any], options: Optional[Mapping[str, Any]] = None,
            **more: Any) -> Any:
    """The backend of torch.compile. A graph that act does not take runs in eager
    PyTorch, with a warning that says why; ``on_unsupported="error"`` raises."""
    options = {**(options or {}), **more}
    unknown = [k for k in options if k not in _OPTIONS]
    if unknown:
        raise Error("unknown options of backend act: %s; expected %s" % (
            ", ".join(unknown), ", ".join(_OPTIONS)))
    try:
        return compile_graph(gm, examples, **options)
    except Error as error:
        if options.get("on_unsupported") == "error":
            raise
        warnings.warn("act: this graph stays in eager PyTorch: %s" % error, stacklevel=2)
        return gm.forward


class Exported(torch.nn.Module):
    """A module whose forward and backward act runs. Parameters and buffers are those
    of the module that it was made from."""

    def __init__(self, module, exported, compiled):
        super().__init__()
        self.module, self.compiled = module, compiled
        self._exported = exported

    def report(self, **options: Any) -> Any:
        return self.compiled.report(**options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        import torch.utils._pytree as pytree
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._exported["in_spec"]:
            raise Error("the arguments have another structure than the examples had")
        own = [self._find(n) for n in self._exported["own"]]
        results = self.compiled(*own, *[f for f in flat if isinstance(f, torch.Tensor)])
        return pytree.tree_unflatten(results, self._exported["out_spec"])

    def _find(self, name):
        *path, last = name.split(".")
        return getattr(self.module.get_submodule(".".join(path)), last)


def from_torch(module: torch.nn.Module, args: Sequence[Any] = (),
               kwargs: Optional[Mapping[str, Any]] = None, **options: Any) -> Exported:
    """A torch module, captured by torch.export with example arguments, that act runs
    and differentiates.

    Options: ``remat`` (a policy; default: selective) or ``budget`` ("24GB"), ``device`` (an act Device or
    its name; default: where the tensors are), ``fuse_attention``, ``passes``. A module
    that act does not take is an Error that says why.
    """
    import torch.utils._pytree as pytree
    kwargs = dict(kwargs or {})
    exported = torch.export.export(module, tuple(args), kwargs, strict=False)
    gm = exported.graph_module
    signature = exported.graph_signature
    flat, in_spec = pytree.tree_flatten((tuple(args), kwargs))
    own = []
    examples, names = [], []
    state = {**dict(module.named_parameters(remove_duplicate=False)),
             **dict(module.named_buffers(remove_duplicate=False))}
    given = iter([f for f in flat])
    for spec in signature.input_specs:
        if spec.target is not None and spec.target in state:
            own.append(spec.target)
            examples.append(state[spec.target])
            names.append(spec.target)
        elif spec.kind.name == "CONSTANT_TENSOR":
            raise Error("the module has a constant tensor %s; register it as a buffer"
                        % spec.target)
        else:
            value = next(given)
            if isinstance(value, torch.Tensor):
                examples.append(value)
                names.append(spec.arg.name)
            elif value is not None:
                raise Error("argument %s is a %s: only tensors vary" % (
                    spec.arg.name, type(value).__name__))
    compiled = compile_graph(gm, examples, names=names, **options)
    return Exported(module, {"in_spec": in_spec, "own": own,
                             "out_spec": exported.call_spec.out_spec}, compiled)


def register():
    """Makes ``backend="act"`` known to torch.compile."""
    from torch._dynamo import register_backend
    register_backend(name="act", compiler_fn=backend)
