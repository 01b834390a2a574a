# SPDX-License-Identifier: Apache-2.0
"""NormalFloat4 as bitsandbytes stores it, in numpy: blocks of a flattened tensor,
each with its largest magnitude; a value over that becomes the nearest level.
Levels: QLoRA (Dettmers et al. 2023), appendix E."""
import numpy as np

LEVELS = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
     -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
     0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32)


def round_trip(weight, block=64):
    """What remains of a weight after quantising and dequantising, in f32."""
    flat = np.ravel(weight).astype(np.float32)
    out = np.empty_like(flat)
    for start in range(0, flat.size, block):
        x = flat[start:start + block]
        absmax = np.abs(x).max()
        codes = np.abs((x * (np.float32(1) / absmax))[:, None] - LEVELS).argmin(1)
        out[start:start + block] = LEVELS[codes] * absmax
    return out.reshape(np.shape(weight))
