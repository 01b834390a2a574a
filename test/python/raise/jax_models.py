# SPDX-License-Identifier: Apache-2.0
"""The models of torch_models.py in JAX, as its users write them: functions of inputs and
parameters. The parameters are PyTorch's in its order; those of linear layers are [in, out]
here, and of convolutions [height, width, in, out]."""
import jax
import jax.numpy as jnp
from jax import lax, nn

VOCABULARY, WIDTH, HEADS, ROWS = 48, 32, 4, 16


def split(x, heads=HEADS):
    return x.reshape(*x.shape[:2], heads, -1)


def joined(x):
    return x.reshape(*x.shape[:2], -1)


def mlp(x, w1, b1, w2, b2, w3, b3):
    h = jnp.tanh(x @ w1 + b1)
    h = nn.gelu(h @ w2 + b2, approximate=False)
    return h @ w3 + b3


def squares(y, target):
    return jnp.mean((y - target)**2)


def picked(logits, labels):
    """The mean cross entropy, by the label's log-probability."""
    logp = nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, labels[..., None], -1).mean()


def hot(logits, labels):
    """The same by one-hot rows."""
    return -jnp.sum(nn.one_hot(labels, logits.shape[-1]) * nn.log_softmax(logits), -1).mean()


def summed(logits, labels):
    """The same by the logarithm of the sum."""
    own = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (nn.logsumexp(logits, -1) - own).mean()


def rms_norm(x, w):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * g + b


def rope(x):
    """Of [batch, rows, heads, width]."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000.0**(jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def llama(tokens, table, *rest):
    x = table[tokens]
    layers, (norm, head) = rest[:-2], rest[-2:]
    for i in range(0, len(layers), 9):
        n1, n2, wq, wo, wk, wv, gate, up, down = layers[i:i + 9]
        h = rms_norm(x, n1)
        q, k, v = rope(split(h @ wq)), rope(split(h @ wk, 2)), split(h @ wv, 2)
        k, v = jnp.repeat(k, 2, 2), jnp.repeat(v, 2, 2)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        s = jnp.where(jnp.tril(jnp.ones((ROWS, ROWS), bool)), s, -jnp.inf)
        x = x + joined(jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s), v)) @ wo
        h = rms_norm(x, n2)
        x = x + (nn.silu(h @ gate) * (h @ up)) @ down
    return rms_norm(x, norm) @ head


def gpt2(tokens, table, places, *rest):
    x = table[tokens] + places[jnp.arange(ROWS)]
    layers, norm = rest[:-2], rest[-2:]
    for i in range(0, len(layers), 12):
        g1, b1, g2, b2, wqkv, bqkv, wo, bo, up, bup, down, bdown = layers[i:i + 12]
        q, k, v = jnp.split(layer_norm(x, g1, b1) @ wqkv + bqkv, 3, -1)
        o = nn.dot_product_attention(split(q), split(k), split(v), is_causal=True)
        x = x + joined(o) @ wo + bo
        x = x + nn.gelu(layer_norm(x, g2, b2) @ up + bup) @ down + bdown
    return layer_norm(x, *norm) @ table.T


def vit(images, cls, places, patches, bpatches, *rest):
    x = lax.conv_general_dilated(images, patches, (8, 8), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = (x + bpatches).reshape(x.shape[0], -1, WIDTH)
    x = jnp.concatenate([jnp.broadcast_to(cls, (x.shape[0], 1, WIDTH)), x], 1) + places
    layers, (g, b, head, bhead) = rest[:-4], rest[-4:]
    for i in range(0, len(layers), 16):
        g1, b1, g2, b2, wq, bq, wk, bk, wv, bv, wo, bo, up, bup, down, bdown = layers[i:i + 16]
        h = layer_norm(x, g1, b1)
        q, k, v = split(h @ wq + bq), split(h @ wk + bk), split(h @ wv + bv)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        x = x + joined(jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s), v)) @ wo + bo
        x = x + nn.gelu(layer_norm(x, g2, b2) @ up + bup, approximate=False) @ down + bdown
    return layer_norm(x, g, b)[:, 0] @ head + bhead


def t5_attention(x, y, bias, wq, wk, wv, wo):
    s = jnp.einsum("bqhd,bkhd->bhqk", split(x @ wq), split(y @ wk))
    if bias is not None:
        s = s + bias
    return joined(jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s), split(y @ wv))) @ wo


def t5(tokens, table, bias1, bias2, *rest):
    encoder, decoder, (norm1, norm2) = rest[:8], rest[8:-2], rest[-2:]
    place = jnp.arange(ROWS)
    apart = place[None, :] - place[:, None] + ROWS

    x = table[tokens]
    n1, wq, wk, wv, wo, n3, up, down = encoder
    h = rms_norm(x, n1)
    x = x + t5_attention(h, h, bias1[apart].transpose(2, 0, 1), wq, wk, wv, wo)
    x = x + nn.relu(rms_norm(x, n3) @ up) @ down
    memory = rms_norm(x, norm1)

    x = table[jnp.pad(tokens[:, :-1], ((0, 0), (1, 0)))]
    n1, q1, k1, v1, o1, n2, q2, k2, v2, o2, n3, up, down = decoder
    causal = jnp.where(place[None, :] > place[:, None], jnp.finfo(jnp.float32).min, 0.0)
    h = rms_norm(x, n1)
    x = x + t5_attention(h, h, bias2[apart].transpose(2, 0, 1) + causal, q1, k1, v1, o1)
    x = x + t5_attention(rms_norm(x, n2), memory, None, q2, k2, v2, o2)
    x = x + nn.relu(rms_norm(x, n3) @ up) @ down
    return (rms_norm(x, norm2) * WIDTH**-0.5) @ table.T


def convnet(images, one, b1, two, b2, head, bhead):
    conv = lambda x, w, s: lax.conv_general_dilated(x, w, (s, s), ((1, 1), (1, 1)),
                                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = nn.relu(conv(images, one, 1) + b1)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = nn.relu(conv(x, two, 2) + b2)
    return x.mean((1, 2)) @ head + bhead


MODELS = {"mlp": (mlp, squares), "llama": (llama, picked), "gpt2": (gpt2, summed), "vit": (vit, hot),
          "t5": (t5, picked), "convnet": (convnet, hot)}


def program(name, trains):
    """The model, or its loss, as a function of inputs, labels and parameters."""
    model, loss = MODELS[name]
    if not trains:
        return model
    return lambda inputs, labels, *parameters: loss(model(inputs, *parameters), labels)
