// SPDX-License-Identifier: Apache-2.0
//
// Whether an iteration of a loop does nothing.
//
// With some truth values of the body known, equal values are found
// (SplitMaskedLoopsNumbering.h). The iteration does nothing if each
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
