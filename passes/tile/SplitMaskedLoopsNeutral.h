// SPDX-License-Identifier: Apache-2.0
//
// Whether an iteration of a loop does nothing.
//
// With some truth values of the body known, every value gets a number: equal
// numbers are equal values. A constant's number is its element's, whatever the
// shape; an op's is found by folding it, by the rules below, or else it is that
// of the op and its operands' numbers. The iteration does nothing if each
// yielded value has the number of the carried one, and nothing is written. For
// the online softmax in a block that nobody sees:
//
//     S     = select(false, s, -inf)              -inf
//     m'    = max(m, reduce max S)                m
//     b     = select(m == -inf, 0, m)             B, which is never -inf
//     b'    = select(m' == -inf, 0, m')           B
//     P     = exp(S - b')                         exp(-inf) = 0
//     c     = select(m == -inf, 1, exp(b - b'))   1, either way
//     l'    = l * c + reduce add P                l
//     acc'  = dot(P, V, acc * c)                  acc
//
// Where c is exp(m - b'), it is 1 if m is not -inf; if it is, c is 0, and all
// is as it was only because l and acc are 0 still. So a maximum that begins at
// -inf is proven by cases, in rows: the second case also asks whether sums that
// begin with 0 are 0 after an iteration that leaves the maximum at -inf.
//
// Assumed is what holds for the values of a program that means something: what
// is loaded is finite, and finite numbers give finite ones; infinity comes from
// a mask's -inf alone. The sign of a zero is not kept (-0 + 0 = 0).
//
//   x + 0, x - 0, x * 1        x
//   x * 0                      0, if x is surely finite
//   x - x                      0, if x is surely finite
//   -inf - x, -inf + x         -inf, if x is surely finite
//   select(c, x, x)            x
//   reduce add of 0            0;  max, min, and, or of a constant: the same
//   dot(0, y, acc)             acc, if y is surely finite; dot(x, 0, acc) too
//   fma(x, y, z)               as x * y + z
//   scf.if                     the branch that is taken, or what both agree on
//   scf.for                    its inputs, if its iterations do nothing
#ifndef ACT_PASSES_TILE_SPLITMASKEDLOOPSNEUTRAL_H
#define ACT_PASSES_TILE_SPLITMASKEDLOOPSNEUTRAL_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace act::tile {

/// Whether an iteration of `loop` returns its carried values and has no effect,
/// given that all elements of the named values are true or false.
bool doesNothing(mlir::scf::ForOp loop,
                 llvm::ArrayRef<std::pair<mlir::Value, bool>> facts);

} // namespace act::tile
#endif
