# SPDX-License-Identifier: Apache-2.0
"""Code for a debugger."""
import numpy as np

from launch import I32, In, Out, Within, case


@case("debug", block=64)
def horner(rng):
    a = rng.uniform(-1, 1, 64).astype(np.float32)
    x = a.astype(np.float64)
    r = sum((t * t - 3) * x ** t for t in range(8))
    t = np.arange(64) % 3
    r = np.where(t == 0, -r, np.where(t == 1, r + 1, r))
    return [In(a), Out(r, Within("17 roundings of values below 2⁷", absolute=17 * 2.0 ** -18), "f32"), I32(8)]
