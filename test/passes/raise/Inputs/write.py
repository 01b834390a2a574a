# SPDX-License-Identifier: Apache-2.0
"""Writes the modules of this folder anew, with JAX: write.py"""
import pathlib

import jax
import jax.numpy as jnp


def attention(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.353553385
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)


def causal(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(8.0)
    s = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), s, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)


def mlp(x, w1, b1, w2):
    return jax.nn.silu(jnp.tanh(x @ w1 + b1)) @ w2


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean)**2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * g + b


QKV = [(2, 4, 16, 8)] * 3
for f, shapes in ((attention, QKV), (causal, QKV), (mlp, [(3, 5, 8), (8, 16), (16,), (16, 4)]),
                  (layer_norm, [(4, 8), (8,), (8,)])):
    arguments = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    module = jax.jit(f).lower(*arguments).compiler_ir("stablehlo")
    text = module.operation.get_asm(print_generic_op_form=True)
    (pathlib.Path(__file__).parent / f"{f.__name__}.stablehlo").write_text(text)
