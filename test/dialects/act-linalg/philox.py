# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 in Python integers (Salmon et al. 2011)."""
import numpy as np

MASK = 0xFFFFFFFF


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


# Known answers of Random123 (kat_vectors, philox4x32 10).
assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((MASK,) * 4, (MASK,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def uniform(seed, step, site, index):
    """The first word over 2^32, for every element's row-major index. The site's
    upper half is the micro-batch; it sits where no index has bits."""
    key = (seed & MASK, (seed >> 32) & MASK)
    return np.array([philox((int(i) & MASK, (int(i) >> 32) + ((site >> 32) << 20), step & MASK,
                             site & MASK), key)[0]
                     for i in np.ravel(index)]) / 2.0**32
