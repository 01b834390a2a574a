// SPDX-License-Identifier: Apache-2.0
//
// A prologue is what a matrix product computes on its operands before it
// multiplies. An elementwise value, or a norm's result given the row
// statistics, need not be in memory if only products read it: each product
// computes the tiles that it multiplies.
#ifndef ACT_PASSES_KERNELS_FUSEPROLOGUES_H
#define ACT_PASSES_KERNELS_FUSEPROLOGUES_H
#include "dialects/act/Dialect.h"

namespace act {

/// On a module: kernels are formed with prologues.
inline constexpr llvm::StringLiteral fuseProloguesAttr = "act.fuse_prologues";

/// Whether `ops` may become part of the kernels that read `result`. They are in
/// one block and `result` is their only result with outside readers. All those
/// readers must be products, and fusing must not take more memory: it keeps the
/// operands of `ops` alive longer. The operands kept longer, plus `statistics`
/// bytes still to be computed, may take at most the bytes of `result`.
/// Parameters and operands with other late readers count nothing. False where
/// the shape is dynamic.
bool isPrologue(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value result,
                int64_t statistics = 0);

/// Turns norms whose result may be a prologue into `act.normalize` with the
/// statistics that backward kept, or else with those that the norm computes.
void splitNorms(mlir::Block &block);

} // namespace act
#endif
