// SPDX-License-Identifier: Apache-2.0
//
// Prologues: what products make of their operands before they multiply. A value
// that is elementwise, or a norm's result given the row's statistics, and that
// products alone read, need not be in memory: each of them computes the blocks
// that it multiplies.
#ifndef ACT_PASSES_ACT_FUSEPROLOGUES_H
#define ACT_PASSES_ACT_FUSEPROLOGUES_H
#include "dialects/act/Dialect.h"

namespace act {

/// A module with it has kernels with prologues.
inline constexpr llvm::StringLiteral fuseProloguesAttr = "act.fuse_prologues";

/// May `ops`, which stand in one block and of whose results `result` alone is
/// read by others, be part of the kernels that read it: are these all products,
/// and does it take no more memory? What is not computed before needs its
/// operands longer; those that others still read, and parameters, count
/// nothing, the rest, and `statistics` bytes that are still to be computed, may
/// be as many as those of `result`. Not where letters have no sizes.
bool isPrologue(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value result,
                int64_t statistics = 0);

/// Norms whose result may be a prologue become `act.normalize`, of the
/// statistics that backward has, or else of those that the norm computes.
void splitNorms(mlir::Block &block);

} // namespace act
#endif
