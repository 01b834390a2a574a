// SPDX-License-Identifier: Apache-2.0
//
// Compares an instruction with a function, on numbers that are hard.
//
//     checkOperation<int32_t, int32_t, int32_t>(
//         "add.s32 d, a, b;", [](int32_t a, int32_t b) {
//           return int32_t(uint32_t(a) + uint32_t(b));
//         });
//
// Results are compared bit by bit. The operands are called a, b, c, e.
#ifndef ACT_TEST_RUNTIME_SIM_CHECKOPERATION_H
#define ACT_TEST_RUNTIME_SIM_CHECKOPERATION_H
#include "runtime/sim/arithmetic/Random.h"
#include "test/runtime/sim/RunSnippet.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <tuple>
#include <type_traits>

namespace act::runtime::sim {

/// A pair of 16-bit numbers in a word, to be told from an integer.
struct Halves {
  uint16_t low, high;
};
/// Bits of a 16-bit float.
struct HalfBits {
  uint16_t bits;
};
struct BFloatBits {
  uint16_t bits;
};

template <typename T> T hardNumber(Random &random) {
  if constexpr (std::is_same_v<T, Halves>) {
    return {hardNumber<HalfBits>(random).bits,
            hardNumber<HalfBits>(random).bits};
  } else if constexpr (std::is_same_v<T, HalfBits> ||
                       std::is_same_v<T, BFloatBits>) {
    static const uint16_t special[] = {
        0,      0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x7fc0, 0x0001,
        0x8001, 0x03ff, 0x3c00, 0xbc00, 0x3f80, 0x7bff, 0x7f7f, 0x7fff, 0xffff};
    return {random.below(4) ? uint16_t(random.next())
                            : special[random.below(18)]};
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    using Limits = std::numeric_limits<T>;
    static const T special[] = {T(0),
                                T(-0.0),
                                T(1),
                                T(-1),
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                Limits::max(),
                                Limits::lowest(),
                                Limits::min(),
                                Limits::denorm_min(),
                                -Limits::min() / 2,
                                T(0.5),
                                T(1.5),
                                T(-2.5),
                                T(2147483648.0)};
    switch (random.below(4)) {
    case 0:
      return special[random.below(16)];
    case 1: {
      Bits bits = Bits(random.next());
      T value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    default: // near one
      return std::ldexp(T(int64_t(random.next()) >> 20) / T(0x1p43),
                        int(random.below(40)) - 20);
    }
  } else {
    static const int64_t special[] = {
        0,      1,          2,          3,          -1,        -2,
        31,     32,         33,         63,         64,        65,
        127,    128,        255,        256,        0x7fff,    0x8000,
        0xffff, 0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, INT64_MIN};
    switch (random.below(3)) {
    case 0:
      return T(special[random.below(24)]);
    case 1:
      return T(random.next());
    default:
      return T(random.next() >> random.below(64));
    }
  }
}

/// As hexadecimal, to compare bit by bit: NaN equals NaN, -0 is not 0.
template <typename T> std::string bitsOf(T value) {
  uint64_t u = 0;
  std::memcpy(&u, &value, sizeof value);
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(u));
  return text;
}

/// How modules are made and run; the default is the newest machine.
struct Setting {
  std::string target = "sm_90a", version = "8.8";
  unsigned rounds = 12;
};

/// The part without types: operands and results as bytes.
struct RawOperation {
  std::string instruction;
  struct Operand {
    unsigned size;
    void (*draw)(Random &, std::byte *);
  };
  std::vector<Operand> operands;
  unsigned resultSize;
  std::function<void(const std::byte *const *, std::byte *)> oracle;
};
void checkRaw(const RawOperation &operation, const Setting &setting);

template <typename D, typename... S, typename Oracle, size_t... K>
RawOperation rawOperation(const std::string &instruction, Oracle oracle,
                          std::index_sequence<K...>) {
  return {instruction,
          {{unsigned(sizeof(S)),
            [](Random &random, std::byte *to) {
              S v = hardNumber<S>(random);
              std::memcpy(to, &v, sizeof v);
            }}...},
          sizeof(D),
          [oracle](const std::byte *const *sources, std::byte *to) {
            std::tuple<S...> values;
            (std::memcpy(&std::get<K>(values), sources[K], sizeof(S)), ...);
            D result = oracle(std::get<K>(values)...);
            std::memcpy(to, &result, sizeof result);
          }};
}

template <typename D, typename... S, typename Oracle>
void checkOperation(const std::string &instruction, Oracle oracle,
                    const Setting &setting = {}) {
  checkRaw(rawOperation<D, S...>(instruction, oracle,
                                 std::index_sequence_for<S...>()),
           setting);
}

} // namespace act::runtime::sim
#endif
