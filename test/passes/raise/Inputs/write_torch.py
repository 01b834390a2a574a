# SPDX-License-Identifier: Apache-2.0
"""Writes the modules of this folder anew that torch-mlir makes: write_torch.py"""
import pathlib

import torch
from torch_mlir import fx


class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


qkv = [torch.randn(2, 4, 16, 8) for _ in range(3)]
for form in ("linalg-on-tensors", "tosa"):
    module = fx.export_and_import(Attention(), *qkv, output_type=form, func_name="forward")
    name = f"sdpa.{form.split('-')[0]}"
    (pathlib.Path(__file__).parent / name).write_text(str(module))
