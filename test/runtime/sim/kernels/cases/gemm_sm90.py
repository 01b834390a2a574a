# SPDX-License-Identifier: Apache-2.0
"""A product as on Hopper."""
import numpy as np

from formats import random_bits, to_float
from launch import I32, InOut, Tma, Within, case


@case("gemm_sm90", grid=lambda m, n, k: (n // 64, m // 64), block=256, smem=7 * 8192 + 8192, only="sm_90a",
      each=[dict(m=64, n=64, k=64), dict(m=64, n=128, k=384)])
def gemm(rng, m, n, k):
    a, b = random_bits(rng, (m, k), "bf16"), random_bits(rng, (n, k), "bf16")
    x, y = to_float(a, "bf16"), to_float(b, "bf16")
    bound = np.abs(x) @ np.abs(y).T * k * 2.0 ** -22
    return [Tma(a, (64, 64), 128, "bf16"), Tma(b, (64, 64), 128, "bf16"),
            Tma(None, (64, 64), 0, "f32", over="c"),
            InOut(x @ y.T, Within("exact products; k additions, each truncated at worst to 22 digits of partial "
                                "sums below Σ|a·b|", absolute=bound), "f32", name="c",
                  value=np.zeros((m, n), np.float32)), I32(k)]
