# SPDX-License-Identifier: Apache-2.0
"""NormalFloat4 as bitsandbytes stores it, in numpy: blocks of a flattened tensor,
each with its largest magnitude; a value over that becomes the nearest level.
Levels: QLoRA (Dettmers et al. 2023), appendix E. Nested, the magnitudes less their
mean become the nearest of 256 levels times the largest of each 256 (section 3)."""
import numpy as np

LEVELS = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
     -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
     0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32)


# The middles of 2^e equal parts of 0.1 to 1, in seven decades, and their negatives.
SCALES = [10.0 ** (e - 6) * (0.1 + 0.9 * (i + 0.5) / 2 ** e) for e in range(7) for i in range(2 ** e)]
SCALES = np.array(sorted([-x for x in SCALES] + SCALES + [0, 1]), np.float32)


def scales_round_trip(absmax, group=256):
    mean = np.float32(absmax.astype(np.float64).mean())
    out = np.empty_like(absmax)
    for start in range(0, absmax.size, group):
        x = absmax[start:start + group] - mean
        most = np.abs(x).max()
        codes = np.abs((x / most)[:, None] - SCALES).argmin(1) if most else np.full(x.size, 127)
        out[start:start + group] = SCALES[codes] * most + mean
    return out


def round_trip(weight, block=64, nested=False):
    """What remains of a weight after quantising and dequantising, in f32."""
    flat = np.ravel(weight).astype(np.float32)
    blocks = range(0, flat.size, block)
    absmax = np.array([np.abs(flat[start:start + block]).max() for start in blocks])
    scales = scales_round_trip(absmax) if nested else absmax
    out = np.empty_like(flat)
    for start, most, scale in zip(blocks, absmax, scales):
        x = flat[start:start + block]
        codes = np.abs((x * (np.float32(1) / most))[:, None] - LEVELS).argmin(1)
        out[start:start + block] = LEVELS[codes] * scale
    return out.reshape(np.shape(weight))
