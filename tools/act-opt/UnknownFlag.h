// SPDX-License-Identifier: Apache-2.0
//
// LLVM's parser compares a mistyped flag with its own options only, and act's
// short flags (passes/CommandLine.h) are not among them: it read
// '--optimzer=adamw' as -o. This check looks at both.
#ifndef ACT_TOOLS_ACTOPT_UNKNOWNFLAG_H
#define ACT_TOOLS_ACTOPT_UNKNOWNFLAG_H
#include "act/Result.h"
#include "llvm/ADT/ArrayRef.h"

namespace act {

/// An error for the first flag that neither LLVM nor act knows, or that act
/// knows but no pass takes. Call once all options are registered, with the
/// arguments that expandOptPassFlags left.
Status checkFlags(llvm::ArrayRef<char *> arguments);

} // namespace act
#endif
