# SPDX-License-Identifier: Apache-2.0
"""What the package offers to users of PyTorch."""

import functools

from ..errors import Error
from . import memory, sizes
from .door import from_torch
from .memory import TorchMemory, quantize_4bit

__all__ = ["TorchMemory", "from_torch", "quantize_4bit", "torch_fits", "torch_formula",
           "torch_memory"]


def _refusing(function):
    """memory.py stands alone, so its exception is none of act's."""
    @functools.wraps(function)
    def call(*args, **options):
        try:
            return function(*args, **options)
        except memory.Refused as error:
            raise Error("PyTorch has no such kernel: %s" % error) from error
    return call


torch_memory = _refusing(memory.torch_memory)
torch_formula = _refusing(sizes.torch_formula)
torch_fits = _refusing(sizes.torch_fits)
