// SPDX-License-Identifier: Apache-2.0
//
// Brings a module from any stage to kernel form, for those who analyse or
// compile it. Works on the module it is given: hand it a clone.
#ifndef ACT_PASSES_ACT_COMPLETE_H
#define ACT_PASSES_ACT_COMPLETE_H
#include "dialects/act/Dialect.h"
#include <map>
#include <string>

namespace act {

/// What is missing is done with default options: a module whose @forward
/// returns a loss is differentiated and gets its step (AdamW); kernels are
/// formed. Nothing is undone: a module that has been through a pass keeps its
/// choices.
llvm::LogicalResult completeModule(mlir::ModuleOp module);

/// Whether @forward's first result is a loss: a float tensor of rank 0.
bool returnsLoss(mlir::ModuleOp module);

/// Whether the module could have been trained, but is in kernel form without a
/// gradient: it cannot be differentiated any more.
bool lacksGradient(mlir::ModuleOp module);

/// The function to analyse or run when nobody names one: step, grad or
/// forward, the first that the module has.
std::string mainFunction(mlir::ModuleOp module);

/// Gives dynamic dimensions sizes, by their letters ("b=1,s=4096"), and fails
/// with a message that names a letter that has none. What is `open` gets some
/// size instead, for those who look at letters only: the one that it has in
/// other types, or in the module's attribute act.open_sizes, or a power of two.
/// Sizes that contradict each other fail at the op that they do not fit.
enum class Unsized { Fail, Open };
llvm::LogicalResult bindLetters(mlir::ModuleOp module, llvm::StringRef sizes,
                                Unsized unsized = Unsized::Fail);

/// The letters that dimensions of a static size are named by, with the size.
std::map<std::string, int64_t> givenSizes(mlir::ModuleOp module);

/// Gives a letter of static dimensions another size, wherever a dimension has
/// it in its name. Kernels must not have been formed. Fails at an op that the
/// size does not fit.
llvm::LogicalResult resizeLetter(mlir::ModuleOp module, llvm::StringRef letter,
                                 int64_t size);

} // namespace act
#endif
