# SPDX-License-Identifier: Apache-2.0
"""Number formats by their definition: every finite value is an exact fraction, and
rounding picks the nearest (or the next one towards somewhere) among the representable.
Slow, obvious, and shares no code with what it checks."""
import dataclasses
import math
from fractions import Fraction

import numpy as np


@dataclasses.dataclass(frozen=True)
class Format:
    bits: int
    digits: int  # of the significand, the hidden one included
    exponent_bits: int
    infinities: bool = True  # e4m3 has none: only S.1111.111 is NaN

    @property
    def bias(self):
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def lowest(self):  # exponent of the least significant digit of a subnormal
        return 1 - self.bias - (self.digits - 1)

    @property
    def largest(self):
        if self.infinities:
            return (2 - Fraction(2) ** (1 - self.digits)) * Fraction(2) ** self.bias
        top = (1 << self.exponent_bits) - 1 - self.bias
        return (2 - Fraction(2) ** (2 - self.digits)) * Fraction(2) ** top


FORMATS = {
    "f64": Format(64, 53, 11), "f32": Format(32, 24, 8), "f16": Format(16, 11, 5),
    "bf16": Format(16, 8, 8), "tf32": Format(19, 11, 8),
    "e5m2": Format(8, 3, 5), "e4m3": Format(8, 4, 4, infinities=False),
}
BITS = {64: np.uint64, 32: np.uint32, 16: np.uint16, 8: np.uint8}


def round_integer(x, mode):
    """A fraction to an integer: rn (ties to even), rna (ties away), rz, rm (down), rp (up)."""
    floor = math.floor(x)
    rest = x - floor
    if rest == 0:
        return floor
    if mode == "rm":
        return floor
    if mode == "rp":
        return floor + 1
    if mode == "rz":
        return floor if x > 0 else floor + 1
    half = Fraction(1, 2)
    if rest != half:
        return floor + (rest > half)
    if mode == "rna":
        return floor + 1 if x > 0 else floor
    return floor + (floor & 1)


def round_fraction(x, name, mode="rn", negative_zero=False, ftz=False):
    """The exact number x in format `name`, as a Python float; overflow as IEEE 754 says."""
    f = FORMATS[name]
    x = Fraction(x)
    if x == 0:
        return -0.0 if negative_zero else 0.0
    sign = -1 if x < 0 else 1
    magnitude = abs(x)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    step = Fraction(2) ** max(exponent - f.digits + 1, f.lowest)
    result = round_integer(x / step, mode) * step
    if ftz and abs(result) < Fraction(2) ** (1 - f.bias):
        return math.copysign(0.0, sign)
    if abs(result) > f.largest:
        towards_zero = mode == "rz" or (mode == "rm" and sign > 0) or (mode == "rp" and sign < 0)
        if towards_zero:
            return float(sign * f.largest)
        return sign * math.inf if f.infinities else math.nan
    return math.copysign(float(result), sign)


def to_bits(x, name):
    """A value that format `name` holds exactly → its bits."""
    f = FORMATS[name]
    fraction_bits = f.digits - 1
    top = ((1 << f.exponent_bits) - 1) << fraction_bits
    sign = (1 << (f.bits - 1)) if math.copysign(1, x) < 0 else 0
    if math.isnan(x):
        return {"f64": 0x7FF8000000000000, "f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF,
                "e4m3": 0x7F, "e5m2": 0x7F}[name]
    if math.isinf(x):
        return sign | top
    if x == 0:
        return sign
    m, e = math.frexp(abs(x))
    exponent = max(e - 1, 1 - f.bias)
    digits = Fraction(abs(x)) / Fraction(2) ** (exponent - fraction_bits)
    assert digits.denominator == 1, (x, name)
    digits = int(digits)
    if digits < 1 << fraction_bits:
        return sign | digits
    return sign | ((exponent + f.bias) << fraction_bits) | (digits - (1 << fraction_bits))


def from_bits(bits, name):
    f = FORMATS[name]
    fraction_bits = f.digits - 1
    bits = int(bits)
    sign = -1.0 if bits >> (f.bits - 1) & 1 else 1.0
    exponent = bits >> fraction_bits & ((1 << f.exponent_bits) - 1)
    digits = bits & ((1 << fraction_bits) - 1)
    if exponent == (1 << f.exponent_bits) - 1:
        if f.infinities:
            return math.nan if digits else sign * math.inf
        if digits == (1 << fraction_bits) - 1:
            return math.nan
    if exponent == 0:
        return sign * math.ldexp(digits, f.lowest)
    return sign * math.ldexp(digits + (1 << fraction_bits), exponent - f.bias - fraction_bits)


_tables = {}


def to_float(array, name):
    """Bits (or values) of a format → float64, elementwise."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    f = FORMATS[name]
    if f.bits > 16:
        return array.view({64: np.float64, 32: np.float32}[f.bits]).astype(np.float64)
    if name not in _tables:
        _tables[name] = np.array([from_bits(b, name) for b in range(1 << f.bits)])
    return _tables[name][array.view(BITS[f.bits])]


def encode(array, name, mode="rn", saturate=False):
    """float64 → bits of format `name`, elementwise, rounded once."""
    f = FORMATS[name]

    def one(x):
        x = float(x)
        if math.isnan(x):
            return to_bits(x, name)
        if math.isinf(x):
            if saturate:
                return to_bits(math.copysign(float(f.largest), x), name)
            return to_bits(x if f.infinities else math.nan, name)
        y = round_fraction(Fraction(x), name, mode, math.copysign(1, x) < 0)
        if saturate and not abs(y) <= f.largest:
            y = math.copysign(float(f.largest), x)
        return to_bits(y, name)

    flat = [one(x) for x in np.asarray(array, np.float64).ravel()]
    return np.array(flat, BITS[f.bits]).reshape(np.shape(array))


def random_bits(rng, shape, name, scale=1.0):
    """Values of a format drawn from a normal distribution, as bits (f64, f32, f16: values)."""
    x = rng.standard_normal(shape) * scale
    if name in ("f64", "f32", "f16"):
        return x.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[name])
    if name == "tf32":
        x = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return x.view(np.float32)
    if name == "bf16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return encode(x, name, saturate=True)
