// SPDX-License-Identifier: Apache-2.0
//
// act-opt --help: act's passes, the short flags for their options, and the few
// MLIR options that everybody needs. --help-hidden prints the rest: upstream's
// passes, pipelines and options.
#ifndef ACT_TOOLS_ACTOPT_HELP_H
#define ACT_TOOLS_ACTOPT_HELP_H
#include "llvm/ADT/ArrayRef.h"

namespace act {

/// Whether the arguments have --help and not --help-hidden. LLVM lists all
/// registered passes, so upstream's must not be registered then.
bool asksForHelp(llvm::ArrayRef<char *> arguments);

/// Hides options that are not in the short help. Call once all are registered.
void hideRareOptions();

} // namespace act
#endif
