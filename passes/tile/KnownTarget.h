// SPDX-License-Identifier: Apache-2.0
//
// The `target` option of passes.
#ifndef ACT_PASSES_TILE_KNOWNTARGET_H
#define ACT_PASSES_TILE_KNOWNTARGET_H
#include "act/Target/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace act::tile {

/// The target of that name (act/Target/Target.h). An unknown one is an error
/// without a location: the option is wrong, not the input.
mlir::FailureOr<const Target *> knownTarget(llvm::StringRef name,
                                            mlir::MLIRContext *context);

} // namespace act::tile
#endif
