# SPDX-License-Identifier: Apache-2.0
"""The kernel that bench/sim times, on whole numbers: its products are exact."""
import numpy as np

from launch import I32, In, Out, Within, case


def hashed(products):
    """What the kernel makes of the low bits of a thread's sums; products: by step of
    the outer loop, [step][r][thread]."""
    with np.errstate(over="ignore"):
        h = np.tile(np.arange(256, dtype=np.uint32), (products.shape[2] // 256))
        for sums in products:
            for k in range(16):
                h = (h ^ (h >> np.uint32(15))) * np.uint32(0x2c1b3c6d)
                h = h + (sums[k % 4].view(np.uint32) & np.uint32(0xff))
                turned = (h << np.uint32(7)) | (h >> np.uint32(25))
                count = np.array([bin(x).count("1") for x in h], np.uint32)
                h = np.where(h & np.uint32(1), turned, h ^ count * np.uint32(0x9e37))
    return h


@case("mixed", grid=(2, 1), block=256)
def mixed(rng):
    a = rng.integers(-3, 4, (32, 64)).astype(np.float32)
    b = rng.integers(-3, 4, (64, 64)).astype(np.float32)
    partial = np.stack([a[:, :n] @ b[:n] for n in (32, 64)]).astype(np.float32)
    # Thread (row, column) of a block has rows row, row + 8, row + 16, row + 24.
    by_thread = [partial[:, :, c:c + 32].reshape(2, 4, 256) for c in (0, 32)]
    bits = np.concatenate([hashed(np.ascontiguousarray(t)).reshape(8, 32) for t in by_thread], 1)
    rows = partial[1].reshape(32, 2, 32).astype(np.float64)
    e = np.exp2(rows - rows.max(2, keepdims=True))
    out = (e / e.sum(2, keepdims=True)).reshape(32, 64)
    return [In(a), In(b), Out(out, Within("exp2 (2 ulp), 32 additions and a division in f32",
                                          relative=2.0 ** -18, absolute=1e-30), "f32"),
            Out(bits), I32(64)]
