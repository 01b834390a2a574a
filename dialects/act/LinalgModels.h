// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_DIALECTS_ACT_LINALGMODELS_H
#define ACT_DIALECTS_ACT_LINALGMODELS_H
#include "mlir/IR/DialectRegistry.h"

namespace act {

/// Lets operations of linalg on tensors stand in a model: implements act's
/// interfaces for them.
void registerLinalgModels(mlir::DialectRegistry &registry);

} // namespace act
#endif
