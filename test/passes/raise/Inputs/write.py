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


def rms_norm(x, w):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def rope(x):
    d = x.shape[-1]
    angle = jnp.arange(x.shape[-2])[:, None] / 100.0**(jnp.arange(0, d, 2) / d)
    a, b = jnp.split(x, 2, -1)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def llama(tokens, table, n1, wq, wk, wv, wo, n2, gate, up, down, n3):
    """The logits of one layer: 4 heads of 8, 2 of keys."""
    heads = lambda x: x.reshape(*x.shape[:2], -1, 8).transpose(0, 2, 1, 3)
    x = table[tokens]
    h = rms_norm(x, n1)
    q, k, v = rope(heads(h @ wq)), rope(heads(h @ wk)), heads(h @ wv)
    s = q @ jnp.repeat(k, 2, 1).transpose(0, 1, 3, 2) / jnp.sqrt(8.0)
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
    o = jax.nn.softmax(s, -1) @ jnp.repeat(v, 2, 1)
    x = x + o.transpose(0, 2, 1, 3).reshape(x.shape) @ wo
    h = rms_norm(x, n2)
    x = x + (jax.nn.silu(h @ gate) * (h @ up)) @ down
    return rms_norm(x, n3) @ table.T


QKV = [(2, 4, 16, 8)] * 3
for f, shapes in ((attention, QKV), (causal, QKV), (mlp, [(3, 5, 8), (8, 16), (16,), (16, 4)]),
                  (layer_norm, [(4, 8), (8,), (8,)]),
                  (llama, ["tokens", (50, 32), (32,), (32, 32), (32, 16), (32, 16), (32, 32), (32,), (32, 64), (32, 64),
                           (64, 32), (32,)])):
    arguments = [jax.ShapeDtypeStruct(s, jnp.float32) if s != "tokens" else jax.ShapeDtypeStruct((2, 16), jnp.int32)
                 for s in shapes]
    module = jax.jit(f).lower(*arguments).compiler_ir("stablehlo")
    text = module.operation.get_asm(print_generic_op_form=True)
    (pathlib.Path(__file__).parent / f"{f.__name__}.stablehlo").write_text(text)
