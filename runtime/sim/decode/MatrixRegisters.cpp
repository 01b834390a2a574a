// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/decode/MatrixRegisters.h"
#include <cstdio>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Type;

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
