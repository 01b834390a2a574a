// SPDX-License-Identifier: Apache-2.0
//
// act-opt --help: act's passes, the flags that are short for their options, and
// the few options of MLIR that everybody needs. --help-hidden prints all the
// rest: upstream's passes, pipelines and options.
#ifndef ACT_TOOLS_ACTOPT_HELP_H
#define ACT_TOOLS_ACTOPT_HELP_H
#include "llvm/ADT/ArrayRef.h"

namespace act {

/// Whether --help is asked for, and not --help-hidden. LLVM lists the passes
/// that are registered, so upstream's must not be, then.
bool asksForHelp(llvm::ArrayRef<char *> arguments);

/// Hides options that are not in the short help. Once all are registered.
void hideRareOptions();

} // namespace act
#endif
