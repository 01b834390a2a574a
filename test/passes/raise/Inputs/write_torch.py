# SPDX-License-Identifier: Apache-2.0
"""Writes the modules of this folder anew that torch-mlir makes: write_torch.py"""
import pathlib

import torch
from torch_mlir import fx


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def rope_every_two(x, cos, sin):
    """Tables whose numbers are repeated, for each element of a pair of neighbours."""
    cos, sin = (table.repeat_interleave(2, -1).cos()[None, :, None] for table in (cos, sin))
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos + turned * sin


def rope_pairs(x, cos, sin):
    """Neighbours as a dimension of two."""
    pairs = x.reshape(2, 6, 3, 4, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    cos, sin = cos[None, :, None], sin[None, :, None]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(2, 6, 3, 8)


def rope_strided(x, cos, sin):
    """Every other element, of a tensor with heads first."""
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


qkv = [torch.randn(2, 4, 16, 8) for _ in range(3)]
tables = [torch.randn(6, 4), torch.randn(6, 4)]
rotated, first = [torch.randn(2, 6, 3, 8), *tables], [torch.randn(2, 3, 6, 8), *tables]
for name, function, arguments in (
        ("sdpa.linalg", torch.nn.functional.scaled_dot_product_attention, qkv),
        ("sdpa.tosa", torch.nn.functional.scaled_dot_product_attention, qkv),
        ("rope_every_two.linalg", rope_every_two, rotated), ("rope_pairs.tosa", rope_pairs, rotated),
        ("rope_strided.stablehlo", rope_strided, first)):
    form = name.split(".")[1]
    module = fx.export_and_import(
        Function(function), *arguments, func_name="forward",
        output_type="linalg-on-tensors" if form == "linalg" else form)
    (pathlib.Path(__file__).parent / name).write_text(
        module.operation.get_asm(print_generic_op_form=form == "stablehlo"))
