// SPDX-License-Identifier: Apache-2.0
//
// LLVM's parser compares a mistyped flag with the options that it has, and
// act's short flags (passes/CommandLine.h) are none: '--optimzer=adamw' was
// taken for -o. Here both are looked at.
#ifndef ACT_TOOLS_ACTOPT_UNKNOWNFLAG_H
#define ACT_TOOLS_ACTOPT_UNKNOWNFLAG_H
#include "act/Result.h"
#include "llvm/ADT/ArrayRef.h"

namespace act {

/// The first flag that neither LLVM nor act has, or that act has but has
/// nothing to give to. Once all options are registered, of the arguments that
/// expandOptPassFlags has left.
Status checkFlags(llvm::ArrayRef<char *> arguments);

} // namespace act
#endif
