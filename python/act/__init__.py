# SPDX-License-Identifier: Apache-2.0
"""act: a compiler for training transformers in less memory.

>>> import act
>>> m = act.import_config({"model_type": "llama", "hidden_size": 32,
...     "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
...     "vocab_size": 64}, batch=1, seq=8)
>>> m.run(fuse_attention=True, remat="selective", optimizer="adamw")
<act.Module: @forward @grad @step>
>>> step = act.Device("host").load(m.emit())
>>> step.initialise(seed=1)
"""

from ._act import Diagnostic, Entity
from . import tile
from .compiler import Module, import_config
from .errors import CompileError, DeviceError, Error, Finding
from .report import Report
from .runtime import Buffer, Device, Kernel, Step


def from_torch(module, args=(), kwargs=None, **options):
    """A PyTorch module that act runs and differentiates: see act._torch.door."""
    from ._torch.door import from_torch as door
    return door(module, args, kwargs, **options)


def torch_memory(loss, model, **options):
    """What PyTorch on a card takes for a step of a module: see act._torch.memory."""
    from ._torch import memory
    return _refusing(memory.torch_memory, loss, model, **options)


def torch_formula(step, sizes, **options):
    """torch_memory's retained bytes as a formula: see act._torch.sizes."""
    from ._torch import sizes as many
    return _refusing(many.torch_formula, step, sizes, **options)


def torch_fits(step, name, card, **options):
    """The largest size whose step fits on a card in PyTorch: see act._torch.sizes."""
    from ._torch import sizes as many
    return _refusing(many.torch_fits, step, name, card, **options)


def quantize_4bit(model, **options):
    """A model with bitsandbytes' 4-bit layers, for torch_memory: see act._torch.memory."""
    from ._torch import memory
    return memory.quantize_4bit(model, **options)


def _refusing(call, *args, **kwargs):
    from ._torch import memory
    try:
        return call(*args, **kwargs)
    except memory.Refused as error:
        raise Error("PyTorch has no such kernel: %s" % error) from error


__all__ = [
    "Buffer", "CompileError", "Device", "DeviceError", "Diagnostic", "Entity", "Error",
    "Finding", "Kernel", "Module", "Report", "Step", "from_torch", "import_config",
    "quantize_4bit", "tile", "torch_fits", "torch_formula", "torch_memory",
]
