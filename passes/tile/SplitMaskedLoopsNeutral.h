// SPDX-License-Identifier: Apache-2.0
//
// Whether an iteration of a loop does nothing.
//
// Given some truth values of the body, equal values are numbered
// (SplitMaskedLoopsNumbering.h). The iteration does nothing if each yielded
// value has the number of the carried one, and nothing is written. For the
// online softmax in a fully masked block:
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
// If c is exp(m - b'), it is 1 unless m is -inf. If m is -inf, c is 0, and
// nothing changes only because l and acc are still 0. So a maximum that starts
// at -inf is proven by cases, row by row: the second case also requires that
// sums starting at 0 are 0 after an iteration that leaves the maximum at -inf.
//
// Assumed of any meaningful program: loaded values are finite, finite numbers
// give finite ones, and infinity comes only from a mask's -inf. The sign of a
// zero is not kept (-0 + 0 = 0).
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
