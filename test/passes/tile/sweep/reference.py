# SPDX-License-Identifier: Apache-2.0
"""What a kernel must compute, with a bound on how far rounding may take it away.

A Ref is an array and, element by element, the largest error that a device may have
made up to here: 0 where the result is exact, inf where anything goes (a comparison of
numbers that are equal up to rounding, an overflow). References are float64; every
operation adds the rounding of its type, so orders of summation and fused
multiply-adds are inside of the bound, and integers are compared exactly.
"""
import numpy as np

FLOATS = {  # bits of mantissa, largest number, smallest normal
    "f64": (53, 1e300, 1e-300), "f32": (24, 3.4e38, 1.2e-38),
    "f16": (11, 65504.0, 6.2e-5), "bf16": (8, 3.38e38, 1.2e-38),
    "f8E4M3FN": (4, 448.0, 2.0 ** -6), "f8E5M2": (3, 57344.0, 2.0 ** -14)}
FLOATS8 = ["f8E4M3FN", "f8E5M2"]  # which are loaded, stored, converted and multiplied only
INTS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
TYPES = [*(t for t in FLOATS if t not in FLOATS8), *INTS]
BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, **INTS}


def numbers_of_8_bits(t):
    """What each of the 256 codes is."""
    code = np.arange(256)
    bits, bias = (3, 7) if t == "f8E4M3FN" else (2, 15)
    exponent, fraction = code >> bits & (1 << 7 - bits) - 1, code & (1 << bits) - 1
    x = np.where(exponent > 0, np.ldexp(1.0 + fraction / 2.0 ** bits, exponent - bias),
                 np.ldexp(fraction / 2.0 ** bits, 1 - bias))
    if t == "f8E4M3FN":
        x[(code & 127) == 127] = np.nan
    else:
        x[(code & 127) == 124] = np.inf
        x[(code & 127) > 124] = np.nan
    return np.where(code < 128, x, -x)


NUMBERS8 = {t: numbers_of_8_bits(t) for t in FLOATS8}


def to_8_bits(x, t):
    """The code of the nearest number, of two the even one; what is too large is the largest."""
    numbers = NUMBERS8[t][:128]
    numbers = numbers[np.isfinite(numbers)]
    a = np.abs(np.asarray(x, dtype=np.float64))
    above = np.clip(np.searchsorted(numbers, a), 1, len(numbers) - 1)
    below = above - 1
    up, down = numbers[above] - a, a - numbers[below]
    code = np.where((up < down) | (up == down) & (above % 2 == 0), above, below)
    code = np.where(np.isnan(x), 127, code + 128 * np.signbit(x))
    return code.astype(np.uint8)


def is_float(t):
    return t in FLOATS


class Ref:
    def __init__(self, val, err=None):
        self.val = np.asarray(val)
        self.err = np.zeros(self.val.shape) if err is None else np.broadcast_to(
            np.asarray(err, dtype=float), self.val.shape)

    @property
    def shape(self):
        return self.val.shape

    def map(self, f):
        """The same rearrangement of the numbers and of their errors."""
        return Ref(f(self.val), f(self.err))


def quantize(x, t):
    """f64 rounded to the nearest number of the type, ties to even."""
    x = np.asarray(x, dtype=np.float64)
    if t == "f64":
        return x
    if t in ("f32", "f16"):
        with np.errstate(over="ignore"):
            return x.astype(np.float32 if t == "f32" else np.float16).astype(np.float64)
    if t in FLOATS8:
        return NUMBERS8[t][to_8_bits(x, t)]
    m, e = np.frexp(x)
    with np.errstate(invalid="ignore"):
        return np.ldexp(np.round(m * 256) / 256, e)


def rounded(x, err, t):
    """A result of type t whose exact value is within err of x."""
    bits, largest, smallest = FLOATS[t]
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        if t not in ("f64", *FLOATS8):  # what surely rounds to more than there is
            x = np.where((err == 0) & (np.abs(x) >= 2 ** np.ceil(np.log2(largest))), np.copysign(np.inf, x), x)
        exact = (err == 0) & ((quantize(x, t) == x) | np.isinf(x)) & (t != "f64")
        size = np.abs(x) + err
        out = np.where(exact, 0.0, err + np.ldexp(size, 1 - bits) + smallest)
        out = np.where((size > largest) & ~exact, np.inf, out)
        out = np.where(np.isnan(x) | np.isnan(out), np.inf, out)
    return Ref(np.where(np.isnan(x), 0.0, x), out)


def wrap(x, t):
    """int64 to the type's range, two's complement; truth values are 0 and 1."""
    if t == "i64":
        return np.asarray(x, dtype=np.int64)
    bits = INTS[t]
    x = np.asarray(x, dtype=np.int64) & ((1 << bits) - 1)
    return x if t == "i1" else np.where(x >> (bits - 1), x - (1 << bits), x)


def unsigned(x, t):
    return np.asarray(x, dtype=np.int64).astype(np.uint64) & np.uint64((1 << INTS[t]) - 1)


def unknown(*refs):
    """inf where one of them is not exact, else 0."""
    with np.errstate(invalid="ignore"):
        return sum(np.where(r.err > 0, np.inf, 0.0) for r in refs)


# Files.

STORED = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16,
          **{t: np.uint8 for t in FLOATS8}, "i1": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def to_file(x, t):
    """Numbers that the type can hold, as act-run reads them."""
    if t == "bf16":
        return (np.asarray(x, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if t in FLOATS8:
        return to_8_bits(x, t)
    return np.asarray(x).astype(STORED[t])


def from_file(x, t):
    if t in FLOATS8:
        return NUMBERS8[t][x]
    with np.errstate(invalid="ignore"):  # NaNs that signal
        if t == "bf16":
            return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return x.astype(np.float64) if is_float(t) else x.astype(np.int64)


def draw(rng, shape, t):
    """Numbers that make exact sums and products: few bits each."""
    if is_float(t):
        return quantize(rng.integers(-12, 13, shape) / 4.0, t)
    if t == "i1":
        return rng.integers(0, 2, shape)
    if rng.random() < 0.5:
        return rng.integers(-9, 10, shape)
    half = 1 << (INTS[t] - 1)
    return rng.integers(-half, half - 1, shape, endpoint=True, dtype=np.int64)


def differences(got, want, t):
    """Indices where `got`, as read from a file, is not what `want` says."""
    x = from_file(got, t)
    with np.errstate(invalid="ignore"):
        close = np.abs(x - want.val) <= want.err
    good = close | (x == want.val) | np.isinf(want.err)
    return np.argwhere(~good)
