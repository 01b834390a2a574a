// SPDX-License-Identifier: Apache-2.0
//
// The loops of MatrixRegisters.h. Where the table has a regular pattern
// (findGroups), they move groups of lanes with vectors and not element by
// element.
#include "runtime/sim/instructions/MatrixRegisters.h"
#include "runtime/sim/arithmetic/Wide.h"
#include <cstdio>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Type;

namespace {

/// Moves the elements of four groups, `stride` apart. `Next`: stride is 1.
template <bool Next> void store(uint32_t *to, unsigned stride, FourWords x) {
  if constexpr (Next)
    std::memcpy(to, &x, sizeof x);
  else
    for (unsigned i = 0; i < 4; ++i)
      to[i * stride] = x[i];
}
template <bool Next> FourWords load(const uint32_t *from, unsigned stride) {
  if constexpr (!Next)
    return FourWords{from[0], from[stride], from[2 * stride], from[3 * stride]};
  FourWords x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

/// Move half the lanes of a register (four groups) to and from a matrix.
/// `first`: the indices of group 0's elements, `Per` for each lane's register.
template <unsigned Per, bool Next>
void gatherHalf(const std::byte *reg, uint32_t *out, const uint16_t *first,
                unsigned stride) {
  FourWords x[4];
  std::memcpy(x, reg, sizeof x);
  transpose(x);
#pragma GCC unroll 4
  for (unsigned t = 0; t < 4; ++t)
    if constexpr (Per == 1) {
      store<Next>(out + first[t], stride, x[t]);
    } else {
      store<Next>(out + first[2 * t], stride, x[t] & 0xffff);
      store<Next>(out + first[2 * t + 1], stride, x[t] >> 16);
    }
}
template <unsigned Per, bool Next>
void scatterHalf(std::byte *reg, const uint32_t *in, const uint16_t *first,
                 unsigned stride) {
  FourWords x[4];
#pragma GCC unroll 4
  for (unsigned t = 0; t < 4; ++t)
    if constexpr (Per == 1)
      x[t] = load<Next>(in + first[t], stride);
    else
      x[t] = (load<Next>(in + first[2 * t], stride) & 0xffff) |
             load<Next>(in + first[2 * t + 1], stride) << 16;
  transpose(x);
  std::memcpy(reg, x, sizeof x);
}

/// Calls `each` for both halves of every register with Per and Next as above,
/// the register, the half's offset in it and in the matrix, and `first`.
template <typename Each>
void forHalves(const RegisterMatrix &m, const Each &each) {
  auto all = [&](auto per, auto next) {
    const uint16_t *first = m.ofGroup0.data();
    for (unsigned r = 0; r < m.registers; ++r, first += 4 * per)
      for (unsigned half = 0; half < 2; ++half)
        each(per, next, r, 64 * half, 4 * half * m.stride, first);
  };
  using std::bool_constant, std::integral_constant;
  auto by = [&](auto per) {
    m.stride == 1 ? all(per, bool_constant<true>())
                  : all(per, bool_constant<false>());
  };
  m.bits == 16 ? by(integral_constant<unsigned, 2>())
               : by(integral_constant<unsigned, 1>());
}

} // namespace

/// Lanes 4 g to 4 g + 3 are group g. If every group holds the elements of group
/// 0 moved on by g times one stride, then groups can be moved as vectors.
/// Otherwise the slow loop remains.
void RegisterMatrix::findGroups() {
  size_t per = bits == 16 ? 2 : 1, count = registers * 32 * per;
  if ((bits != 16 && bits != 32) || elements.size() != count)
    return;
  std::vector<size_t> indices(count, count);
  for (size_t i = 0; i < count; ++i) {
    const RegisterElement &e = elements[i];
    indices[(e.reg * 32 + e.byte / 4) * per + e.byte % 4 / 2] = i;
  }
  size_t ofGroup = 4 * per;
  for (size_t i = 0; i < count; ++i) { // halves must map to elements one to one
    size_t first = i - i % (32 * per) + i % ofGroup;
    size_t group = i % (32 * per) / ofGroup;
    if (indices[i] == count || indices[ofGroup] <= indices[0] ||
        indices[i] != indices[first] + group * (indices[ofGroup] - indices[0]))
      return;
  }
  stride = unsigned(indices[ofGroup] - indices[0]);
  for (unsigned r = 0; r < registers; ++r)
    for (size_t i = 0; i < ofGroup; ++i)
      ofGroup0.push_back(uint16_t(indices[r * 32 * per + i]));
}

void RegisterMatrix::gatherGroups(const Frame &f, const uint32_t *slots,
                                  uint32_t *out) const {
  forHalves(*this, [&](auto per, auto next, unsigned r, unsigned lanes,
                       unsigned place, const uint16_t *first) {
    gatherHalf<per, next>(f.registers + slots[r] + lanes, out + place, first,
                          stride);
  });
}

void RegisterMatrix::scatterGroups(Frame &f, const uint32_t *slots,
                                   const uint32_t *in) const {
  forHalves(*this, [&](auto per, auto next, unsigned r, unsigned lanes,
                       unsigned place, const uint16_t *first) {
    scatterHalf<per, next>(f.registers + slots[r] + lanes, in + place, first,
                           stride);
  });
}

Extent extentNamed(const std::string &word) {
  Extent x = {0, 0, 0};
  int length = 0;
  if (word.size() > 16 || std::sscanf(word.c_str(), "m%3un%3uk%3u%n", &x.m,
                                      &x.n, &x.k, &length) != 3)
    return {0, 0, 0};
  return size_t(length) == word.size() ? x : Extent{0, 0, 0};
}

bool elementNamed(const std::string &word, Element &type) {
  static const std::pair<const char *, Element> names[] = {
      {"f16", Element::F16},   {"bf16", Element::BF16}, {"tf32", Element::TF32},
      {"e4m3", Element::E4M3}, {"e5m2", Element::E5M2}, {"f64", Element::F64},
      {"s8", Element::S8},     {"u8", Element::U8},     {"s4", Element::S4},
      {"u4", Element::U4},     {"b1", Element::B1}};
  for (auto &[name, element] : names)
    if (word == name) {
      type = element;
      return true;
    }
  return false;
}

Tensor tensorKindOf(Element type) {
  switch (type) {
  case Element::F16:
    return Tensor::F16;
  case Element::BF16:
    return Tensor::BF16;
  case Element::TF32:
    return Tensor::TF32;
  case Element::F64:
    return Tensor::F64;
  case Element::E4M3:
  case Element::E5M2:
    return Tensor::FP8;
  default:
    return Tensor::I8;
  }
}

static bool hasCount(Decoder &d, const Operand &o, size_t index,
                     unsigned count) {
  size_t have = o.kind == Operand::Vector ? o.elements.size() : 1;
  if (have == count)
    return true;
  d.fail("operand " + std::to_string(index + 1) + " of '" +
         d.tree().spelling() + "' has " + std::to_string(have) +
         " registers, expected " + std::to_string(count));
  return false;
}

void matrixSources(Decoder &d, size_t index, unsigned count, unsigned bits) {
  const Operand &o = d.operand(index);
  if (d.failed() || !hasCount(d, o, index, count))
    return;
  Type type = bits == 64 ? Type::B64 : Type::B32;
  if (o.kind != Operand::Vector)
    d.source(o, type);
  for (const Operand &e : o.elements)
    d.source(e, type);
}

void matrixResults(Decoder &d, size_t index, unsigned count, unsigned bits) {
  const Operand &o = d.operand(index);
  if (d.failed() || !hasCount(d, o, index, count))
    return;
  Type type = bits == 64 ? Type::B64 : Type::B32;
  if (o.kind != Operand::Vector)
    d.result(o, type);
  for (const Operand &e : o.elements)
    d.result(e, type);
}

void needsWholeWarp(const Context &c, const Instruction &at) {
  if (c.mask != ~0u && c.checks)
    c.report(FindingKind::InvalidOperation, at, unsigned(__builtin_ctz(c.mask)),
             "is executed by a warp with fewer than 32 threads");
}

} // namespace act::runtime::sim
