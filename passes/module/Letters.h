// SPDX-License-Identifier: Apache-2.0
//
// Letters for sizes that a pass introduces, so that formulas show a letter
// instead of a number. An example is the rows of a chunk, which depend on b*s
// but are not a multiple of it. The module attribute `act.letters` and the
// memory report say what each letter means.
#ifndef ACT_PASSES_MODULE_LETTERS_H
#define ACT_PASSES_MODULE_LETTERS_H
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace act {

/// A letter not yet used in `module`: `wanted`, with a number appended if it is
/// taken. The same size and meaning give the same letter again.
std::string newLetter(mlir::ModuleOp module, llvm::StringRef wanted,
                      int64_t size, llvm::StringRef meaning);

/// `act.letters`: a dictionary, letter to [size, meaning].
inline constexpr llvm::StringLiteral lettersAttr = "act.letters";

/// Of a fused loss: [rows of a chunk, rows of a smaller last chunk or 0]; if it
/// has one chunk: [0, the most tokens that one chunk can have].
inline constexpr llvm::StringLiteral lossRowsAttr = "act.loss_rows";

} // namespace act
#endif
