// SPDX-License-Identifier: Apache-2.0
//
// Collects the undefined rows, columns and elements of a product's operands and
// marks the results that depend on them.
#include "runtime/sim/instructions/UndefinedProduct.h"

namespace act::runtime::sim {

namespace {

struct Position {
  unsigned row, column;
};

Position positionOf(const RegisterMatrix &m, size_t element) {
  unsigned outer = unsigned(element / m.inner),
           inner = unsigned(element % m.inner) * (m.bits == 1 ? 32 : 1);
  return m.byColumn ? Position{inner, outer} : Position{outer, inner};
}

struct Bits {
  unsigned lane;
  uint64_t mask; // in its register
};

Bits bitsOf(const RegisterMatrix &m, const RegisterElement &e) {
  unsigned width = m.bits == 64 ? 8 : 4, first = e.byte % width * 8 + e.shift;
  unsigned count = m.bits == 1 ? 32 : m.bits;
  uint64_t ones = count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
  return {e.byte / width, ones << first};
}

/// Calls each(position, origin) for every undefined element.
template <typename Each>
void eachUndefined(const Context &c, const uint32_t *slots,
                   const RegisterMatrix &m, unsigned count, const Each &each) {
  for (unsigned first = 0; first < count; first += m.registers)
    for (size_t k = 0; k < m.elements.size(); ++k) {
      const RegisterElement &e = m.elements[k];
      const uint32_t slot = slots[first + e.reg];
      const Bits at = bitsOf(m, e);
      if (!(c.definedLanes(slot) >> at.lane & 1) &&
          c.frame.defined.undefinedBits(slot, at.lane) & at.mask)
        each(positionOf(m, k), c.originOf(slot, at.lane));
    }
}

} // namespace

void UndefinedProduct::addA(const Context &c, const uint32_t *slots,
                            const RegisterMatrix &in, unsigned count) {
  eachUndefined(c, slots, in, count,
                [&](Position p, uint32_t origin) { row(p.row, origin); });
}

void UndefinedProduct::addB(const Context &c, const uint32_t *slots,
                            const RegisterMatrix &in, unsigned count) {
  eachUndefined(c, slots, in, count,
                [&](Position p, uint32_t origin) { column(p.column, origin); });
}

void UndefinedProduct::addC(const Context &c, const uint32_t *slots,
                            const RegisterMatrix &in, unsigned count) {
  eachUndefined(c, slots, in, count, [&](Position p, uint32_t origin) {
    if (elementOrigins.empty())
      elementOrigins.assign(rowOrigins.size() * columns, noSlot);
    elementOrigins[p.row * columns + p.column] = origin;
    some = true;
  });
}

void UndefinedProduct::undefine(const Context &c, const uint32_t *slots,
                                const RegisterMatrix &in) const {
  Definedness &defined = c.frame.defined;
  for (size_t k = 0; some && k < in.elements.size(); ++k) {
    const Position p = positionOf(in, k);
    uint32_t origin = rowOrigins[p.row];
    if (origin == noSlot)
      origin = columnOrigins[p.column];
    if (origin == noSlot && !elementOrigins.empty())
      origin = elementOrigins[p.row * columns + p.column];
    const Bits at = bitsOf(in, in.elements[k]);
    if (origin == noSlot || !c.active(at.lane))
      continue;
    const uint32_t slot = slots[in.elements[k].reg];
    defined.setUndefinedBits(
        slot, at.lane, defined.undefinedBits(slot, at.lane) | at.mask, origin);
  }
}

void UndefinedProduct::define(const Context &c, const uint32_t *slots,
                              const RegisterMatrix &in) const {
  for (unsigned r = 0; r < in.registers; ++r)
    c.define(slots[r], c.mask);
  undefine(c, slots, in);
}

} // namespace act::runtime::sim
