// SPDX-License-Identifier: Apache-2.0
//
// Names of the parameters of repeated layers: a name in files holds `{l}` for
// the number of the repetition, or `{6l+2}` where a repetition has 6 layers and
// this is the third of them.
#ifndef ACT_DIALECTS_ACT_LAYERNAME_H
#define ACT_DIALECTS_ACT_LAYERNAME_H
#include "mlir/Support/LLVM.h"
#include <string>

namespace act {

/// Whether the name is one of many.
bool isLayerName(llvm::StringRef name);
/// The name in a repetition; a name that is not one of many as it is.
std::string layerName(llvm::StringRef name, int64_t repetition);

} // namespace act
#endif
