// SPDX-License-Identifier: Apache-2.0
//
// The names of discardable attributes that more than one part of the compiler
// knows.
#ifndef ACT_DIALECTS_ACT_ATTRNAMES_H
#define ACT_DIALECTS_ACT_ATTRNAMES_H
#include "llvm/ADT/StringRef.h"

namespace act {

/// On an argument or result of an entry, a string: the port that a caller
/// binds.
inline constexpr llvm::StringLiteral nameAttr = "act.name";

/// On @forward and @grad, a unit: the module is a differentiable function. Its
/// backward takes a gradient for each result that has one.
inline constexpr llvm::StringLiteral differentiableAttr = "act.differentiable";
/// On an argument of a differentiable function, a unit: backward returns its
/// gradient.
inline constexpr llvm::StringLiteral requiresGradAttr = "act.requires_grad";
/// On a result of an entry, a string: the argument whose new value it is. The
/// caller writes it there.
inline constexpr llvm::StringLiteral updatesAttr = "act.updates";

/// On an op, a unit: it runs again in backward.
inline constexpr llvm::StringLiteral recomputeAttr = "act.recompute";

// On a module.
/// A string: the policy by which values were saved and recomputed.
inline constexpr llvm::StringLiteral rematAttr = "act.remat";
/// A string: the update that @step has.
inline constexpr llvm::StringLiteral optimizerAttr = "act.optimizer";
/// An integer: the micro-batches of a step.
inline constexpr llvm::StringLiteral microBatchesAttr = "act.micro_batches";
/// A bool: whether labels are the next tokens, as in a causal model.
inline constexpr llvm::StringLiteral predictsNextAttr = "act.predicts_next";

/// On the constant 1 that backward starts from, a unit: the step may put a factor
/// in its place.
inline constexpr llvm::StringLiteral lossScaleAttr = "act.loss_scale";

/// On an op, a unit: PyTorch runs it as one operator, although act could write it
/// as several.
inline constexpr llvm::StringLiteral oneOperatorAttr = "act.one_operator";

} // namespace act
#endif
