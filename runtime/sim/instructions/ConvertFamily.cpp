// SPDX-License-Identifier: Apache-2.0
//
// cvt and cvt.pack (PTX ISA 9.7.9.21, 9.7.9.22).
//
// A Conversion describes how to convert one number; convertOne does it for any
// types. Registers may be wider than the types. Type pairs common in kernels
// have their own handlers, which vectorise.
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <cmath>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace act::runtime::sim {

using ptx::Type;

namespace {

struct Conversion {
  Type from = Type::None, to = Type::None;
  Rounding rounding = Rounding::None;
  bool ftz = false, sat = false, relu = false, finite = false;
};

bool isFloat(Type t) {
  return t == Type::F16 || t == Type::BF16 || t == Type::F32 || t == Type::F64;
}
bool isSigned(Type t) {
  return t == Type::S8 || t == Type::S16 || t == Type::S32 || t == Type::S64;
}
bool isHalf(Type t) { return t == Type::F16 || t == Type::BF16; }
unsigned bitsOf(Type t) { return 8 * ptx::bytesOf(t); }

/// The low bits of a word as a number of type t, extended to 64 bits.
uint64_t extended(uint64_t raw, Type t) {
  unsigned unused = 64 - bitsOf(t);
  return isSigned(t) ? uint64_t(int64_t(raw << unused) >> unused)
                     : raw << unused >> unused;
}

/// An integer (extended), clamped to the range of type `to`.
uint64_t limited(uint64_t v, bool fromSigned, Type to) {
  bool negative = fromSigned && int64_t(v) < 0;
  unsigned bits = bitsOf(to);
  if (!isSigned(to)) {
    uint64_t most = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    return negative ? 0 : v > most ? most : v;
  }
  uint64_t most = (uint64_t(1) << (bits - 1)) - 1;
  if (negative)
    return int64_t(v) < -int64_t(most) - 1 ? ~most : v;
  return v > most ? most : v;
}

double floatOf(const Conversion &k, uint64_t raw) {
  switch (k.from) {
  case Type::F16:
    return fromHalf(uint16_t(raw));
  case Type::BF16: {
    float f = fromBFloat(uint16_t(raw));
    return k.ftz ? flush(f) : f;
  }
  case Type::F32: {
    float f = as<float>(uint32_t(raw));
    return k.ftz ? flush(f) : f;
  }
  default:
    return as<double>(raw);
  }
}

template <class F> uint64_t packed(const Conversion &k, double x) {
  auto bits = narrowDouble<F>(x, k.rounding, k.finite);
  return k.relu ? relu<F>(uint32_t(bits)) : bits;
}

uint64_t floatResult(const Conversion &k, double x) {
  if (k.rounding >= Rounding::Rni && k.rounding <= Rounding::Rpi)
    x = integral(x, k.rounding);
  if (k.sat)
    x = saturate(x);
  switch (k.to) {
  case Type::F16:
    return packed<F16>(k, x);
  case Type::BF16:
    return packed<BF16>(k, x);
  case Type::TF32:
    return x != x ? F32::nan : packed<TF32>(k, x) << 13;
  case Type::F32: {
    uint32_t bits = narrowDouble<F32>(x, k.rounding);
    return k.ftz ? as<uint32_t>(flush(as<float>(bits))) : bits;
  }
  default:
    return as<uint64_t>(x);
  }
}

template <class F> uint64_t integerIn(const Conversion &k, uint64_t v) {
  return fromInteger<F>(v, isSigned(k.from), k.rounding);
}

/// One number, through double: it holds every value of the types that are
/// converted to or from a float, except 64-bit integers, so those have their
/// own cases.
uint64_t convertOne(const Conversion &k, uint64_t raw) {
  bool toFloat = isFloat(k.to) || k.to == Type::TF32;
  if (isFloat(k.from)) {
    double x = floatOf(k, raw);
    if (toFloat)
      return floatResult(k, x);
    // NaN: 9.7.9.21, integer notes.
    unsigned bits = bitsOf(k.to);
    uint64_t ofNaN =
        k.from != Type::F64 && bits != 64 ? 0 : uint64_t(1) << (bits - 1);
    return extended(toInteger(x, k.rounding, bits, isSigned(k.to), ofNaN),
                    k.to);
  }
  uint64_t v = extended(raw, k.from);
  if (!toFloat)
    return extended(k.sat ? limited(v, isSigned(k.from), k.to) : v, k.to);
  if (k.sat) { // to [0, 1]
    bool positive = isSigned(k.from) ? int64_t(v) > 0 : v != 0;
    v = positive;
  }
  switch (k.to) {
  case Type::F16:
    return integerIn<F16>(k, v);
  case Type::BF16:
    return integerIn<BF16>(k, v);
  case Type::F32:
    return integerIn<F32>(k, v);
  default:
    return integerIn<F64>(k, v);
  }
}

/// Any conversion, between lanes of any width.
template <typename D, typename S>
Step convertAny(Context &c, const Instruction &i) {
  const auto &k = *static_cast<const Conversion *>(i.data);
  const S *a = c.lanes<S>(i.slots[1]);
  D results[32] = {};
  for (unsigned l = 0; l < 32; ++l)
    if (c.active(l))
      results[l] = D(convertOne(k, a[l]));
  put(c, i.slots[0], results);
  return Step::Next;
}
template <typename D> Handler convertFrom(unsigned bytes) {
  return bytes == 2   ? &convertAny<D, uint16_t>
         : bytes == 4 ? &convertAny<D, uint32_t>
                      : &convertAny<D, uint64_t>;
}

// ---- common conversions

/// Between integers without saturation: two extensions by shifts.
struct Resize {
  unsigned fromUnused, toUnused;
  bool fromSigned, toSigned;
  explicit Resize(const Instruction &i) {
    const auto &k = *static_cast<const Conversion *>(i.data);
    fromUnused = 64 - bitsOf(k.from);
    toUnused = 64 - bitsOf(k.to);
    fromSigned = isSigned(k.from);
    toSigned = isSigned(k.to);
  }
  static uint64_t extend(uint64_t v, unsigned unused, bool sign) {
    v <<= unused;
    return sign ? uint64_t(int64_t(v) >> unused) : v >> unused;
  }
  template <typename S> auto operator()(S a) const {
    return extend(extend(a, fromUnused, fromSigned), toUnused, toSigned);
  }
};
template <typename D> Handler resizeFrom(unsigned bytes) {
  return bytes == 2   ? &map<Resize, D, uint16_t>
         : bytes == 4 ? &map<Resize, D, uint32_t>
                      : &map<Resize, D, uint64_t>;
}

struct WithConversion {
  Rounding rounding;
  bool ftz, sat, relu, finite;
  explicit WithConversion(const Instruction &i) {
    const auto &k = *static_cast<const Conversion *>(i.data);
    rounding = k.rounding;
    ftz = k.ftz;
    sat = k.sat;
    relu = k.relu;
    finite = k.finite;
  }
};

template <class F> struct Widen : WithConversion {
  using WithConversion::WithConversion;
  float operator()(uint16_t a) const {
    float x = widen<F>(a);
    x = ftz ? flush(x) : x;
    return sat ? saturate(x) : x;
  }
};
/// Rounding to nearest, with no other options.
template <class F> struct NarrowPlain : Plain {
  using Plain::Plain;
  uint16_t operator()(float a) const { return uint16_t(narrow<F>(a)); }
  uint32_t operator()(float a, float b) const {
    return narrow<F>(a) << 16 | narrow<F>(b);
  }
};
template <class F> struct Narrow : WithConversion {
  using WithConversion::WithConversion;
  uint32_t one(float a) const {
    a = ftz ? flush(a) : a;
    a = sat ? saturate(a) : a;
    uint32_t bits = narrow<F>(a, rounding, finite);
    return relu ? sim::relu<F>(bits) : bits;
  }
  uint16_t operator()(float a) const { return uint16_t(one(a)); }
  uint32_t operator()(float a, float b) const { return one(a) << 16 | one(b); }
};
template <class F> constexpr Handler narrowPair(bool plain) {
  return plain ? &map<NarrowPlain<F>, uint32_t, float, float>
               : &map<Narrow<F>, uint32_t, float, float>;
}
template <class F> constexpr Handler narrowOne(bool plain) {
  return plain ? &map<NarrowPlain<F>, uint16_t, float>
               : &map<Narrow<F>, uint16_t, float>;
}

// Pairs for f16 tensor cores, with the host's F16C instruction if available.
#if defined(__x86_64__)
__attribute__((target("avx2,f16c")))
Step halvesByMachine(Context &c, const Instruction &i) {
  const float *high = c.lanes<float>(i.slots[1]),
              *low = c.lanes<float>(i.slots[2]);
  alignas(64) uint32_t results[32];
  auto narrow8 = [](const float *from) __attribute__((target("avx2,f16c"))) {
    __m256 x = _mm256_loadu_ps(from);
    // PTX makes every NaN the canonical 0x7fff, but F16C keeps the upper bits
    // of its payload. This pattern becomes 0x7fff.
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    x = _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  };
  for (unsigned l = 0; l < 32; l += 8)
    _mm256_store_si256(reinterpret_cast<__m256i *>(results + l),
                       _mm256_or_si256(_mm256_slli_epi32(narrow8(high + l), 16),
                                       narrow8(low + l)));
  put(c, i.slots[0], results);
  return Step::Next;
}
Handler machineHalves() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")
             ? &halvesByMachine
             : nullptr;
}
#else
Handler machineHalves() { return nullptr; }
#endif

struct ToNearestFloat : Plain {
  using Plain::Plain;
  template <typename T> float operator()(T a) const { return float(a); }
};
template <typename T> struct FloatToInteger {
  Rounding rounding;
  explicit FloatToInteger(const Instruction &i)
      : rounding(static_cast<const Conversion *>(i.data)->rounding) {}
  T operator()(float a) const {
    // Flushing subnormals changes the integer only for .rmi and .rpi.
    return T(toInteger32(a, rounding, double(std::numeric_limits<T>::min()),
                         double(std::numeric_limits<T>::max())));
  }
};

// ---- fp8 pairs

/// To fp8 only with .satfinite: values beyond the largest number become that
/// number.
template <class F> struct Fp8FromFloats : WithConversion {
  using WithConversion::WithConversion;
  uint32_t one(float a) const {
    uint32_t bits = narrow<F>(a, Rounding::Rn, true);
    return relu ? sim::relu<F>(bits) : bits;
  }
  uint16_t operator()(float a, float b) const {
    return uint16_t(one(a) << 8 | one(b));
  }
  uint16_t operator()(uint32_t halves) const {
    return (*this)(fromHalf(uint16_t(halves >> 16)),
                   fromHalf(uint16_t(halves)));
  }
};
template <class F> struct HalvesFromFp8 : WithConversion {
  using WithConversion::WithConversion;
  uint32_t one(uint32_t a) const {
    uint32_t bits = narrow<F16>(widen<F>(a)); // exact
    return relu ? sim::relu<F16>(bits) : bits;
  }
  uint32_t operator()(uint16_t a) const {
    return one(a >> 8) << 16 | one(a & 255);
  }
};

// ---- decoding

/// The handler for one number: a fast one only if the registers are as wide as
/// the types.
Handler handlerFor(const Conversion &k, unsigned toBytes, unsigned fromBytes) {
  bool plain =
      k.rounding == Rounding::Rn && !k.ftz && !k.sat && !k.relu && !k.finite;
  auto exactly = [&](Type to, Type from) {
    auto lane = [](Type t) {
      return ptx::bytesOf(t) == 1 ? 2 : ptx::bytesOf(t);
    };
    return k.to == to && k.from == from && toBytes == lane(to) &&
           fromBytes == lane(from);
  };
  if (exactly(Type::F32, Type::F16))
    return &map<Widen<F16>, float, uint16_t>;
  if (exactly(Type::F32, Type::BF16))
    return &map<Widen<BF16>, float, uint16_t>;
  if (exactly(Type::F16, Type::F32))
    return narrowOne<F16>(plain);
  if (exactly(Type::BF16, Type::F32))
    return narrowOne<BF16>(plain);
  if (plain && exactly(Type::F32, Type::S32))
    return &map<ToNearestFloat, float, int32_t>;
  if (plain && exactly(Type::F32, Type::U32))
    return &map<ToNearestFloat, float, uint32_t>;
  if (!k.ftz && exactly(Type::S32, Type::F32))
    return &map<FloatToInteger<int32_t>, int32_t, float>;
  if (!k.ftz && exactly(Type::U32, Type::F32))
    return &map<FloatToInteger<uint32_t>, uint32_t, float>;
  bool integers = !isFloat(k.from) && !isFloat(k.to) && k.to != Type::TF32;
  if (integers && !k.sat)
    return toBytes == 2   ? resizeFrom<uint16_t>(fromBytes)
           : toBytes == 4 ? resizeFrom<uint32_t>(fromBytes)
                          : resizeFrom<uint64_t>(fromBytes);
  return toBytes == 2   ? convertFrom<uint16_t>(fromBytes)
         : toBytes == 4 ? convertFrom<uint32_t>(fromBytes)
                        : convertFrom<uint64_t>(fromBytes);
}

bool isInteger(Rounding r) { return r >= Rounding::Rni && r <= Rounding::Rpi; }
bool isDirected(Rounding r) { return r >= Rounding::Rn && r <= Rounding::Rp; }

/// Whether `to` represents every number of `from`.
bool holdsAll(Type to, Type from) {
  if (to == from)
    return true;
  if (to == Type::F64)
    return from != Type::F64;
  return to == Type::F32 && (from == Type::F16 || from == Type::BF16);
}

/// Which rounding mode a pair of types needs, allows or refuses: the rules that
/// ptxas applies, since a missing mode would silently round another way.
void checkRounding(Decoder &d, const Conversion &k) {
  std::string what = "'" + d.tree().spelling() + "'";
  Rounding r = k.rounding;
  bool floats = isFloat(k.from) && isFloat(k.to);
  if (isFloat(k.from) && !isFloat(k.to)) {
    if (!isInteger(r))
      d.fail(what + " needs an integer rounding mode: .rni, .rzi, .rmi or "
                    ".rpi");
  } else if (!isFloat(k.from) && !isFloat(k.to)) {
    if (r != Rounding::None)
      d.fail(what + ": integers are not rounded");
  } else if (floats && k.from == k.to) {
    if (r != Rounding::None && !isInteger(r))
      d.fail(what + " rounds to integers only (.rni, .rzi, .rmi, .rpi)");
  } else if (floats && holdsAll(k.to, k.from)) {
    // bf16 sources may give a mode, although nothing is rounded.
    if (r != Rounding::None && (k.from != Type::BF16 || !isDirected(r)))
      d.fail(what + " is exact and takes no rounding mode");
  } else if (!isDirected(r)) {
    d.fail(what + " needs a rounding mode: .rn, .rz, .rm or .rp");
  }
}

/// Whether `to` represents every integer of type `from`.
bool includes(Type to, Type from) {
  if (isSigned(from))
    return isSigned(to) && bitsOf(to) >= bitsOf(from);
  return bitsOf(to) >= bitsOf(from) + isSigned(to);
}

void checkFlags(Decoder &d, const Conversion &k) {
  std::string what = "'" + d.tree().spelling() + "'";
  if (k.ftz && k.from != Type::F32 && k.to != Type::F32)
    d.fail(what + ": .ftz is for f32");
  if (k.sat && (k.to == Type::BF16 || k.from == Type::BF16))
    d.fail(what + ": .sat is not for bf16");
  if (k.sat && !isFloat(k.to) && !isFloat(k.from) && includes(k.to, k.from))
    d.fail(what + ": every ." + ptx::nameOf(k.from) + " is a ." +
           ptx::nameOf(k.to) + ", there is nothing to saturate");
  if ((k.relu || k.finite) &&
      (k.from != Type::F32 || (k.to != Type::F16 && k.to != Type::BF16)))
    d.fail(what + ": .relu and .satfinite are for f32 to f16, bf16 or tf32");
  if ((k.relu || k.finite) && k.sat)
    d.fail(what + ": .sat excludes .relu and .satfinite");
  if ((k.relu || k.finite) && (k.rounding > Rounding::Rz || k.ftz))
    d.fail(what + ": .relu and .satfinite go with .rn or .rz, without .ftz");
}

void requireTypes(Decoder &d, const Conversion &k) {
  if (k.relu)
    d.require(80, 70);
  if (k.finite)
    d.require(80, 81);
  if (k.to == Type::BF16 && k.from == Type::F32) {
    d.require(80, 70);
  } else if (k.to == Type::BF16) {
    d.require(90, 78);
  } else if (k.from == Type::BF16) {
    if (k.to == Type::F32 && !k.ftz)
      d.require(80, 71);
    else
      d.require(90, 78);
  }
}

void decodeOne(Decoder &d, Conversion k) {
  // Between f16 and bf16, ptxas reads a missing rounding mode as .rn.
  if (isHalf(k.from) && isHalf(k.to) && k.from != k.to &&
      k.rounding == Rounding::None)
    k.rounding = Rounding::Rn;
  checkRounding(d, k);
  checkFlags(d, k);
  requireTypes(d, k);
  d.begin(nullptr, Class::Conversion);
  d.result(0, k.to, k.to != Type::BF16);
  d.source(1, k.from, k.from != Type::BF16);
  if (d.failed())
    return;
  auto width = [&](size_t operand, Type t) {
    unsigned have = d.registerBytes(d.operand(operand));
    unsigned lane = ptx::bytesOf(t) == 1 ? 2 : ptx::bytesOf(t);
    return have ? have : lane; // immediates, specials: the type's width
  };
  unsigned toBytes = width(0, k.to), fromBytes = width(1, k.from);
  // Conversions between bf16 and an 8-bit type need an 8-bit register.
  auto tooWide = [&](size_t operand, Type t, Type other) {
    const ptx::Operand &o = d.operand(operand);
    return bitsOf(t) == 8 && other == Type::BF16 &&
           o.kind == ptx::Operand::Reg && ptx::bytesOf(d.declared(o)) > 1;
  };
  if (tooWide(0, k.to, k.from) || tooWide(1, k.from, k.to))
    return d.fail("'" + d.tree().spelling() + "' expects a register of 8 bits");
  if (toBytes > 8 || fromBytes > 8)
    return d.fail("'" + d.tree().spelling() +
                  "' does not take .b128 registers");
  d.current().run = handlerFor(k, toBytes, fromBytes);
  d.current().data = d.keep(k);
  if (!isFloat(k.from) && !isFloat(k.to) && !k.sat)
    d.byBits();
}

void decodeTF32(Decoder &d, Conversion k) {
  if (k.from != Type::F32)
    return d.fail("'" + d.tree().spelling() + "': only f32 converts to tf32");
  if (k.ftz || k.sat)
    d.fail("'" + d.tree().spelling() + "' takes .relu and .satfinite only");
  if (k.rounding == Rounding::Rna) {
    if (k.relu)
      d.fail("'" + d.tree().spelling() + "': .rna excludes .relu");
    d.require(80, k.finite ? 81 : 70);
  } else if (k.rounding == Rounding::Rn || k.rounding == Rounding::Rz) {
    d.require(k.finite ? 100 : 90, k.finite ? 86 : 78);
  } else {
    d.fail("'" + d.tree().spelling() + "' needs .rna, .rn or .rz");
  }
  d.begin(&convertAny<uint32_t, uint32_t>, Class::Conversion);
  d.result(0, Type::B32);
  d.source(1, Type::F32);
  d.current().data = d.keep(k);
}

/// Two f32 into a pair of f16 or bf16.
void decodePair(Decoder &d, Conversion k) {
  if (k.from != Type::F32)
    return d.fail("'" + d.tree().spelling() +
                  "': a pair is converted from two f32 or from fp8");
  if (k.rounding != Rounding::Rn && k.rounding != Rounding::Rz)
    d.fail("'" + d.tree().spelling() + "' needs .rn or .rz");
  if (k.ftz || k.sat)
    d.fail("'" + d.tree().spelling() + "' takes .relu and .satfinite only");
  d.require(80, k.finite ? 81 : 70);
  bool plain = k.rounding == Rounding::Rn && !k.relu && !k.finite;
  Handler machine = plain && k.to == Type::F16x2 ? machineHalves() : nullptr;
  d.begin(machine               ? machine
          : k.to == Type::F16x2 ? narrowPair<F16>(plain)
                                : narrowPair<BF16>(plain),
          Class::Conversion);
  d.result(0, Type::B32);
  d.source(1, Type::F32);
  d.source(2, Type::F32);
  d.current().data = d.keep(k);
}

bool isFp8(Type t) { return t == Type::E4M3x2 || t == Type::E5M2x2; }

void decodeFp8(Decoder &d, Conversion k) {
  std::string what = "'" + d.tree().spelling() + "'";
  bool to = isFp8(k.to);
  if (k.rounding != Rounding::Rn)
    d.fail(what + " needs .rn");
  if (to != k.finite)
    d.fail(what + (to ? " needs .satfinite" : " does not take .satfinite"));
  if (k.ftz || k.sat)
    d.fail(what + " does not take .ftz or .sat");
  if (k.from == Type::BF16x2)
    d.require(100, 91);
  d.require(89, d.module().sm >= 90 ? 78 : 81);
  bool e4m3 = k.to == Type::E4M3x2 || k.from == Type::E4M3x2;
  if (to && k.from == Type::F32) {
    d.begin(e4m3 ? &map<Fp8FromFloats<E4M3>, uint16_t, float, float>
                 : &map<Fp8FromFloats<E5M2>, uint16_t, float, float>,
            Class::Conversion);
    d.result(0, Type::B16);
    d.source(1, Type::F32);
    d.source(2, Type::F32);
  } else if (to && k.from == Type::F16x2) {
    d.begin(e4m3 ? &map<Fp8FromFloats<E4M3>, uint16_t, uint32_t>
                 : &map<Fp8FromFloats<E5M2>, uint16_t, uint32_t>,
            Class::Conversion);
    d.result(0, Type::B16);
    d.source(1, Type::B32);
  } else if (!to && k.to == Type::F16x2) {
    d.begin(e4m3 ? &map<HalvesFromFp8<E4M3>, uint32_t, uint16_t>
                 : &map<HalvesFromFp8<E5M2>, uint32_t, uint16_t>,
            Class::Conversion);
    d.result(0, Type::B32);
    d.source(1, Type::B16);
  } else {
    return d.fail(what +
                  ": fp8 pairs are converted from f32 or f16x2, and to f16x2");
  }
  d.current().data = d.keep(k);
}

// ---- cvt.pack

/// options: bits of an element; immediate: 1 if signed. slots: d, a, b [, c]
struct PackSaturated {
  unsigned bits;
  int32_t least, most;
  explicit PackSaturated(const Instruction &i) : bits(i.options) {
    bool isSigned = i.immediate;
    least = isSigned ? -(1 << (bits - 1)) : 0;
    most = isSigned ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  }
  uint32_t one(int32_t a) const {
    a = a < least ? least : a;
    a = a > most ? most : a;
    return uint32_t(a) & ((1u << bits) - 1);
  }
  uint32_t operator()(int32_t a, int32_t b) const {
    return one(a) << bits | one(b);
  }
  uint32_t operator()(int32_t a, int32_t b, uint32_t c) const {
    return (*this)(a, b) | c << (2 * bits);
  }
};
void decodePack(Decoder &d) {
  d.require(72, 65);
  if (!d.take("sat"))
    d.fail("'" + d.tree().spelling() + "' needs .sat");
  int to = d.oneOf({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"}, true);
  static const unsigned bits[] = {16, 8, 4, 2};
  unsigned width = bits[to < 0 ? 0 : to / 2];
  if (width < 8)
    d.require(75, 65);
  d.type({Type::S32});
  bool third = width < 16;
  if (third)
    d.type({Type::B32});
  plainOperands(d,
                third
                    ? &map<PackSaturated, uint32_t, int32_t, int32_t, uint32_t>
                    : &map<PackSaturated, uint32_t, int32_t, int32_t>,
                Class::Conversion, Type::B32, third ? 3 : 2);
  d.current().options = width;
  d.current().immediate = to & 1;
}

/// The types come last in the spelling, but decide what the other words mean.
/// So the words are taken first and checked by the decoder of the pair.
void decodeCvt(Decoder &d) {
  if (d.take("pack"))
    return decodePack(d);
  Conversion k;
  k.rounding = d.rounding(Rounding::None);
  if (k.rounding == Rounding::Rs)
    return d.requireSuffix(100, 'a', 87);
  k.ftz = d.take("ftz");
  k.sat = d.take("sat");
  k.relu = d.take("relu");
  k.finite = d.take("satfinite");
  const auto numbers = {Type::U8,    Type::U16,    Type::U32,    Type::U64,
                        Type::S8,    Type::S16,    Type::S32,    Type::S64,
                        Type::F16,   Type::BF16,   Type::F32,    Type::F64,
                        Type::F16x2, Type::BF16x2, Type::E4M3x2, Type::E5M2x2,
                        Type::TF32};
  k.to = d.type(numbers);
  k.from = d.type(numbers);
  if (d.failed())
    return;
  if (isFp8(k.to) || isFp8(k.from))
    return decodeFp8(d, k);
  if (k.to == Type::TF32)
    return decodeTF32(d, k);
  if (k.to == Type::F16x2 || k.to == Type::BF16x2)
    return decodePair(d, k);
  if (k.from == Type::F16x2 || k.from == Type::BF16x2 || k.from == Type::TF32)
    return d.fail("'" + d.tree().spelling() + "' does not convert ." +
                  ptx::nameOf(k.from));
  decodeOne(d, k);
}

} // namespace

void registerConvert(Families &f) { f["cvt"] = decodeCvt; }

} // namespace act::runtime::sim
