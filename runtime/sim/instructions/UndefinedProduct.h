// SPDX-License-Identifier: Apache-2.0
//
// The undefined elements of D = A · B + C. An element of D depends on its whole
// row of A and column of B, whatever their values: 0 times an undefined number
// may be NaN.
//
//     UndefinedProduct p(16, 8);
//     p.addA(c, slots + ofA, inA, countA); p.addB(...); p.addC(...);
//     p.define(c, slots + ofD, inD);
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_UNDEFINEDPRODUCT_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_UNDEFINEDPRODUCT_H
#include "runtime/sim/instructions/MatrixRegisters.h"
#include <vector>

namespace act::runtime::sim {

class UndefinedProduct {
public:
  UndefinedProduct(unsigned rows, unsigned columns)
      : columns(columns), rowOrigins(rows, noSlot),
        columnOrigins(columns, noSlot) {}
  /// Marks a row of A as undefined; `origin` is where that came from
  /// (Definedness.h).
  void row(unsigned i, uint32_t origin) {
    rowOrigins[i] = origin;
    some = true;
  }
  void column(unsigned j, uint32_t origin) {
    columnOrigins[j] = origin;
    some = true;
  }

  /// Collect the undefined elements of the operands' registers. `count`:
  /// registers; those beyond the matrix repeat it.
  void addA(const Context &c, const uint32_t *slots, const RegisterMatrix &in,
            unsigned count);
  void addB(const Context &c, const uint32_t *slots, const RegisterMatrix &in,
            unsigned count);
  void addC(const Context &c, const uint32_t *slots, const RegisterMatrix &in,
            unsigned count);
  /// Marks the undefined elements of D in its registers; leaves the others.
  void undefine(const Context &c, const uint32_t *slots,
                const RegisterMatrix &in) const;
  /// The same, and marks the others as defined.
  void define(const Context &c, const uint32_t *slots,
              const RegisterMatrix &in) const;

private:
  unsigned columns;
  bool some = false;                               // element of D is undefined
  std::vector<uint32_t> rowOrigins, columnOrigins; // noSlot: defined
  std::vector<uint32_t> elementOrigins; // of C; empty: all are defined
};

} // namespace act::runtime::sim
#endif
