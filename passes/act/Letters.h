// SPDX-License-Identifier: Apache-2.0
//
// Letters that a pass gives to sizes of its own making, so that formulas need
// not show them as numbers: the rows of a chunk, say, which depend on b*s, but
// are no multiple of it. What each stands for is said in the module's attribute
// `act.letters`, and by the memory report.
#ifndef ACT_PASSES_ACT_LETTERS_H
#define ACT_PASSES_ACT_LETTERS_H
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace act {

/// A letter that nothing else in `module` is called by: `wanted`, or that with
/// a number behind it. The same letter again for the same size and meaning.
std::string newLetter(mlir::ModuleOp module, llvm::StringRef wanted,
                      int64_t size, llvm::StringRef meaning);

/// `act.letters`: a dictionary, letter to [size, meaning].
inline constexpr llvm::StringLiteral lettersAttr = "act.letters";

/// A fused loss: [rows of a chunk, rows of a last chunk that has fewer, or 0];
/// of one chunk [0, tokens that it can have at most].
inline constexpr llvm::StringLiteral lossRowsAttr = "act.loss_rows";

} // namespace act
#endif
