// SPDX-License-Identifier: Apache-2.0
//
// Matrices in the registers of a warp: tables of element positions, built once
// per instruction from Fragments.h, and the loops that read and write through
// them.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_MATRIXREGISTERS_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_MATRIXREGISTERS_H
#include "runtime/sim/arithmetic/TensorCore.h"
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/layout/Fragments.h"
#include <cstring>
#include <string>
#include <vector>

namespace act::runtime::sim {

struct RegisterElement {
  uint16_t byte; // in the slot
  uint8_t reg;   // of the operand's registers
  uint8_t shift; // for elements below a byte
};

/// Row-major, or column-major with `byColumn`. Single bits are stored as 32-bit
/// words along K.
struct RegisterMatrix {
  std::vector<RegisterElement> elements;
  /// For 16- and 32-bit elements whose lanes form eight groups of four as in
  /// Fragments.h; else empty. By register, lane of a group and half of the word
  /// (low first): the index in `elements` for group 0. Each further group is
  /// `stride` on.
  std::vector<uint16_t> ofGroup0;
  unsigned stride = 1;
  unsigned bits = 32;
  unsigned registers = 0;
  bool byColumn = false;
  unsigned inner = 1; // `elements` per row, or per column with byColumn

  template <typename PlaceOf> // Place(row, col)
  static RegisterMatrix make(unsigned rows, unsigned cols, unsigned bits,
                             bool byColumn, PlaceOf placeOf) {
    RegisterMatrix r;
    r.bits = bits;
    r.byColumn = byColumn;
    unsigned outer = byColumn ? cols : rows, inner = byColumn ? rows : cols;
    unsigned step = bits == 1 ? 32 : 1;
    r.inner = inner / step;
    for (unsigned i = 0; i < outer; ++i)
      for (unsigned j = 0; j < inner; j += step) {
        Place p = byColumn ? placeOf(j, i) : placeOf(i, j);
        unsigned width = bits == 64 ? 8 : 4, bit = p.part * bits;
        r.elements.push_back(
            {uint16_t(p.lane * width + bit / 8), p.reg, uint8_t(bit % 8)});
        r.registers = std::max<unsigned>(r.registers, p.reg + 1u);
      }
    r.findGroups();
    return r;
  }

  static const std::byte *at(const Frame &f, const uint32_t *slots,
                             const RegisterElement &e) {
    return f.registers + slots[e.reg] + e.byte;
  }
  /// The elements' bits, zero-extended to T.
  template <typename T>
  void gather(const Frame &f, const uint32_t *slots, T *out) const {
    if constexpr (sizeof(T) == 4)
      if (!ofGroup0.empty())
        return gatherGroups(f, slots, reinterpret_cast<uint32_t *>(out));
    if (bits == 16)
      return gatherAs<uint16_t>(f, slots, out);
    if (bits == 64)
      return gatherAs<uint64_t>(f, slots, out);
    if (bits == 8)
      return gatherAs<uint8_t>(f, slots, out);
    if (bits == 4) {
      for (const RegisterElement &e : elements)
        *out++ = T(uint8_t(*at(f, slots, e)) >> e.shift & 15);
      return;
    }
    gatherAs<uint32_t>(f, slots, out);
  }
  /// Integers of 4 or 8 bits, sign- or zero-extended.
  void gatherIntegers(const Frame &f, const uint32_t *slots, bool isSigned,
                      int32_t *out) const {
    gather(f, slots, out);
    if (!isSigned)
      return;
    int32_t sign = 1 << (bits - 1);
    for (size_t i = 0; i < elements.size(); ++i)
      out[i] = (out[i] ^ sign) - sign;
  }
  /// `lanes`: those that may be written.
  template <typename T>
  void scatter(Frame &f, const uint32_t *slots, uint32_t lanes,
               const T *in) const {
    if constexpr (sizeof(T) == 4)
      if (!ofGroup0.empty() && lanes == ~0u)
        return scatterGroups(f, slots, reinterpret_cast<const uint32_t *>(in));
    size_t width = bits == 64 ? 8 : bits == 16 ? 2 : 4;
    unsigned laneBytes = bits == 64 ? 8 : 4;
    for (const RegisterElement &e : elements) {
      if (lanes >> (e.byte / laneBytes) & 1)
        std::memcpy(f.registers + slots[e.reg] + e.byte, in, width);
      ++in;
    }
  }

private:
  void findGroups();
  void gatherGroups(const Frame &f, const uint32_t *slots, uint32_t *out) const;
  void scatterGroups(Frame &f, const uint32_t *slots, const uint32_t *in) const;
  template <typename Raw, typename T>
  void gatherAs(const Frame &f, const uint32_t *slots, T *out) const {
    for (const RegisterElement &e : elements) {
      Raw raw;
      std::memcpy(&raw, at(f, slots, e), sizeof raw);
      *out++ = T(raw);
    }
  }
};

/// The shape spelled "m16n8k16"; all zero when `word` is not a shape.
Extent extentNamed(const std::string &word);
/// The element type spelled `word` ("s4", "e4m3"); false when unknown.
bool elementNamed(const std::string &word, Element &type);
Tensor tensorKindOf(Element type);

/// Appends the registers of a vector operand (or the single register) to the
/// slots; an error unless there are `count`.
void matrixSources(Decoder &d, size_t index, unsigned count, unsigned bits);
void matrixResults(Decoder &d, size_t index, unsigned count, unsigned bits);

/// Lanes in which any of the registers is undefined.
inline uint32_t undefinedLanes(const Context &c, const uint32_t *slots,
                               unsigned count) {
  uint32_t all = ~0u;
  for (unsigned i = 0; i < count; ++i)
    all &= c.definedLanes(slots[i]);
  return ~all;
}

/// Reports a warp with missing lanes: the instruction is undefined then.
void needsWholeWarp(const Context &c, const Instruction &at);

} // namespace act::runtime::sim
#endif
