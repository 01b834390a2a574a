// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_EMPTYSTEPS_H
#define ACT_PASSES_TILE_EMPTYSTEPS_H
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace act::tile {

/// Makes a loop whose iterations do something only if `when` holds go through
/// those iterations alone. `when` is the one test of the body, of rows that are
/// loaded at the loop's index: all of them are tested first, at once.
///
///     scf.for %k = 0 to 4096 step 64 {     %row = tile.load %ids[0 : 4096]
///       %row = tile.load %ids[%k : 64]     %near = ...
///       %near = ...                        %bits = one for each 64 of %near
///       %any = tile.reduce or %near        scf.for %n = 0 to popcount(%bits) {
///       scf.if %any { dot }                  %k = 64 * (lowest bit)
///     }                                      scf.if true { dot } }
///
/// A load for each iteration, and its way through all warps, would otherwise be
/// waited for. The order of iterations is the same, and so is every bit.
void skipEmptySteps(mlir::scf::IfOp when);

} // namespace act::tile
#endif
