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

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from ._act import Diagnostic, Entity
from . import tile
from .compiler import Module, import_config
from .device import Buffer, Device, Event, Stream
from .errors import CompileError, DeviceError, Error, Finding, InputError
from .kernel import Code, Kernel, TensorMap
from .report import Report
from .step import Step

if TYPE_CHECKING:
    from ._torch.door import from_torch
    from ._torch.memory import TorchMemory, quantize_4bit, torch_memory
    from ._torch.sizes import torch_fits, torch_formula

__all__ = [
    "Buffer", "Code", "CompileError", "Device", "DeviceError", "Diagnostic", "Entity",
    "Error", "Event", "Finding", "InputError", "Kernel", "Module", "Report", "Step", "Stream",
    "TensorMap", "import_config", "tile",
]
_TORCH = ["TorchMemory", "from_torch", "quantize_4bit", "torch_fits", "torch_formula",
          "torch_memory"]
if importlib.util.find_spec("torch"):
    __all__ += _TORCH


def __getattr__(name: str) -> Any:
    """What needs PyTorch is imported when it is used first."""
    if name not in _TORCH:
        raise AttributeError("module 'act' has no attribute %r" % name)
    from ._torch import public
    globals()[name] = getattr(public, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_TORCH})
