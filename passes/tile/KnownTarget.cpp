// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/KnownTarget.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace act;

FailureOr<const Target *> tile::knownTarget(StringRef name,
                                            MLIRContext *context) {
  auto target = targetNamed(name.str());
  if (!target)
    return emitError(UnknownLoc::get(context)) << target.error().str();
  return *target;
}
