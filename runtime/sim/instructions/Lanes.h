// SPDX-License-Identifier: Apache-2.0
//
// Handlers of instructions that compute each lane's result from that lane's
// operands alone. Such an instruction is a functor:
//
//     struct Add {
//       explicit Add(const Instruction &) {}
//       template <typename T> T operator()(T a, T b) const { return a + b; }
//     };
//     d.begin(&map<Add, float, float, float>, Class::Float);
//             //   d := op(a, b); slots: d, a, b
//
// It is constructed once per warp instruction, from the instruction's options,
// and called 32 times in a loop that the compiler vectorises. Inactive lanes
// are computed too and their results dropped, so it must accept any operands.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_LANES_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_LANES_H
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/execute/Machine.h"
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

namespace act::runtime::sim {

/// Base of functors without options.
struct Plain {
  explicit Plain(const Instruction &) {}
};

/// The bit of each lane. Loops with `mask & laneBits[l]` become vector code,
/// those with `mask >> l & 1` do not on every machine.
inline constexpr auto laneBits = [] {
  std::array<uint32_t, 32> bits{};
  for (unsigned l = 0; l < 32; ++l)
    bits[l] = 1u << l;
  return bits;
}();

/// Writes the active lanes.
template <typename T>
inline void put(const Context &c, uint32_t slot, const T (&results)[32]) {
  T *d = c.lanes<T>(slot);
  if (c.mask == ~uint32_t(0)) {
    std::memcpy(d, results, sizeof results);
    return;
  }
  for (unsigned l = 0; l < 32; ++l)
    d[l] = c.mask & laneBits[l] ? results[l] : d[l];
}
inline void putPredicate(const Context &c, uint32_t slot, uint32_t bits) {
  uint32_t &p = c.predicate(slot);
  p = (p & ~c.mask) | (bits & c.mask);
}

template <class Op, typename D, typename... S, size_t... K>
inline void mapLanes(const Context &c, const Instruction &i,
                     std::index_sequence<K...>) {
  const Op op(i);
  const std::tuple<const S *...> sources(c.lanes<const S>(i.slots[K + 1])...);
  alignas(64) D results[32];
  for (unsigned l = 0; l < 32; ++l)
    results[l] = op(std::get<K>(sources)[l]...);
  put(c, i.slots[0], results);
}

/// slots: the result (lanes of D), then the sources (lanes of S ...).
template <class Op, typename D, typename... S>
Step map(Context &c, const Instruction &i) {
  mapLanes<Op, D, S...>(c, i, std::index_sequence_for<S...>());
  return Step::Next;
}

/// The same with a predicate result: op returns bool.
template <class Op, typename... S, size_t... K>
inline uint32_t testLanes(const Context &c, const Instruction &i,
                          size_t firstSource, std::index_sequence<K...>) {
  const Op op(i);
  const std::tuple<const S *...> sources(
      c.lanes<const S>(i.slots[firstSource + K])...);
  uint32_t bits = 0;
  for (unsigned l = 0; l < 32; ++l)
    bits |= uint32_t(op(std::get<K>(sources)[l]...)) << l;
  return bits;
}

/// Op with N sources, all of one integer type.
template <class Op, typename T, unsigned N> constexpr Handler uniform() {
  if constexpr (N == 1)
    return &map<Op, T, T>;
  else if constexpr (N == 2)
    return &map<Op, T, T, T>;
  else
    return &map<Op, T, T, T, T>;
}

template <class Op, unsigned N> Handler overIntegers(ptx::Type t) {
  using ptx::Type;
  switch (t) {
  case Type::U16:
  case Type::B16:
    return uniform<Op, uint16_t, N>();
  case Type::S16:
    return uniform<Op, int16_t, N>();
  case Type::U32:
  case Type::B32:
    return uniform<Op, uint32_t, N>();
  case Type::S32:
    return uniform<Op, int32_t, N>();
  case Type::U64:
  case Type::B64:
    return uniform<Op, uint64_t, N>();
  default:
    return uniform<Op, int64_t, N>();
  }
}

inline constexpr std::initializer_list<ptx::Type> integerTypes = {
    ptx::Type::U16, ptx::Type::U32, ptx::Type::U64,
    ptx::Type::S16, ptx::Type::S32, ptx::Type::S64};

/// The usual end of a decode function: begin(), one result and the sources, all
/// of type `t`.
inline void plainOperands(Decoder &d, Handler handler, Class kind, ptx::Type t,
                          unsigned sources) {
  d.begin(handler, kind);
  d.result(0, t);
  for (unsigned s = 1; s <= sources; ++s)
    d.source(s, t);
}

} // namespace act::runtime::sim
#endif
