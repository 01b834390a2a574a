# SPDX-License-Identifier: Apache-2.0
"""Products and attention as on Ampere."""
import numpy as np

from formats import random_bits, to_float
from launch import F32, I32, In, Out, Within, case


@case("gemm_sm80", grid=lambda m, n, k: (n // 64, m // 64), block=128,
      each=[dict(m=64, n=64, k=0), dict(m=64, n=64, k=32), dict(m=64, n=128, k=160)])
def gemm(rng, m, n, k):
    a, b = random_bits(rng, (m, max(k, 32)), "bf16"), random_bits(rng, (n, max(k, 32)), "bf16")
    x, y = to_float(a, "bf16")[:, :k], to_float(b, "bf16")[:, :k]
    bound = np.abs(x) @ np.abs(y).T * k * 2.0 ** -23
    a, b = (a, b) if k else (a[:1, :8], b[:1, :8])  # nothing is there to be read
    return [In(a), In(b), Out(x @ y.T, Within("exact products; k additions in f32, each truncated at worst, "
            "of partial sums below Σ|a·b|", absolute=bound), "f32"), I32(n), I32(k)]


@case("attention_sm80", grid=lambda causal, length: length // 64, block=128,
      each=[dict(causal=0, length=64), dict(causal=1, length=128)])
def attention(rng, causal, length):
    q, k, v = (rng.standard_normal((length, 64)).astype(np.float16) for _ in range(3))
    scale = np.float32(np.log2(np.e) / 8)
    s = q.astype(np.float64) @ k.astype(np.float64).T * float(scale)
    if causal:
        s = np.where(np.tri(length, dtype=bool), s, -np.inf)
    most = s.max(1, keepdims=True)
    p = np.exp2(s - most)
    total = p.sum(1, keepdims=True)
    out = p @ v.astype(np.float64) / total
    spread = (p / total) @ np.abs(v.astype(np.float64))
    return [In(q), In(k), In(v),
            Out(out, Within("P is rounded to f16 (2⁻¹¹, twice that with its rescaling) and the scores to f32",
                            absolute=spread * 2.0 ** -9 + 1e-5), "f32"),
            Out((most + np.log2(total))[:, 0], Within("f32 sums and lg2", absolute=2e-5), "f32"),
            I32(length), F32(float(scale)), I32(causal)]


@case("attention_bf16", grid=2, block=128, each=[dict(keys=0), dict(keys=128)])
def attention_bf16(rng, keys):
    q, k, v = (random_bits(rng, (128, 64), "bf16") for _ in range(3))
    if keys == 0:
        return [In(q), In(k), In(v), Out(np.full((128, 64), np.nan), dtype="f32"), I32(0), F32(1)]
    x, y, z = (to_float(t, "bf16") for t in (q, k, v))
    scale = np.float32(np.log2(np.e) / 8)
    s = x @ y.T * float(scale)
    p = np.exp2(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return [In(q), In(k), In(v),
            Out(p @ z, Within("P is rounded to bf16 (2⁻⁸, twice that with its rescaling)",
                              absolute=p @ np.abs(z) * 2.0 ** -6 + 1e-5), "f32"),
            I32(128), F32(float(scale))]
