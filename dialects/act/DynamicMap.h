// SPDX-License-Identifier: Apache-2.0
//
// Codes of 8 bits for numbers in [-1, 1], with more of them near 0: the dynamic
// map of Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization",
// as bitsandbytes tabulates it (create_dynamic_map). Here values are computed,
// not looked up, and are the same bits: test/dialects/act-linalg compares.
//
// The magnitude of number q = 1, 2, ..., with 2^p <= q < 2^(p+1), is
//
//   10^(p - zeros) * (b(q - 2^p) + b(q - 2^p + 1)) / 2
//
// where b(i) = 0.1 + 0.9 i / 2^p. A signed map has magnitudes of both signs
// around 0, an unsigned one those from q = 2 on behind 0; the last code is 1.
#ifndef ACT_DIALECTS_ACT_DYNAMICMAP_H
#define ACT_DIALECTS_ACT_DYNAMICMAP_H
#include "dialects/act/LinalgBuilder.h"

namespace act {

class DynamicMap {
public:
  /// Emits scalar f32 and i32 arithmetic.
  DynamicMap(Scalars &s, bool isSigned) : s(s), isSigned(isSigned) {}

  /// The value (f32) of a code (i32, 0 to 255).
  mlir::Value decode(mlir::Value code);
  /// The code (i32) whose value is nearest to x (f32): the number of midpoints
  /// between neighbours that are below it.
  mlir::Value encode(mlir::Value x);

private:
  mlir::Value magnitude(mlir::Value q);
  mlir::Value compare(mlir::arith::CmpIPredicate p, mlir::Value x, int64_t y);
  mlir::Value compare(mlir::arith::CmpFPredicate p, mlir::Value x,
                      mlir::Value y);

  Scalars &s;
  bool isSigned;
};

} // namespace act
#endif
