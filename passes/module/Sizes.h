// SPDX-License-Identifier: Apache-2.0
//
// Sizes for the letters of a module's dimensions.
#ifndef ACT_PASSES_MODULE_SIZES_H
#define ACT_PASSES_MODULE_SIZES_H
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace act {

/// Gives dynamic dimensions sizes by their letters ("b=1,s=4096"). A letter
/// without a size is an error that names it. With Unsized::Open it gets a size
/// instead, for callers that look only at letters: its size in other types, the
/// one in the module attribute act.open_sizes, or a power of two. Contradicting
/// sizes fail at the op that they do not fit.
enum class Unsized { Fail, Open };
llvm::LogicalResult bindLetters(mlir::ModuleOp module, llvm::StringRef sizes,
                                Unsized unsized = Unsized::Fail);

/// The letters that name static dimensions, with their sizes.
std::map<std::string, int64_t> givenSizes(mlir::ModuleOp module);

/// Changes the size of a letter in every static dimension whose name contains
/// it. Kernels must not have been formed. Fails at an op that the size does not
/// fit.
llvm::LogicalResult resizeLetter(mlir::ModuleOp module, llvm::StringRef letter,
                                 int64_t size);

} // namespace act
#endif
