// SPDX-License-Identifier: Apache-2.0
//
// Looks up and checks the parameter that an op names.
#ifndef ACT_DIALECTS_ACT_PARAMETERUSE_H
#define ACT_DIALECTS_ACT_PARAMETERUSE_H
#include "dialects/act/Dialect.h"

namespace act {

/// The act.parameter called `name`, or an error at `op`.
llvm::FailureOr<ParameterOp>
lookupParameter(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
                mlir::SymbolTableCollection &symbols);

/// The same, for an op that uses its gradient: it must not be frozen.
llvm::FailureOr<ParameterOp>
lookupTrained(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
              mlir::SymbolTableCollection &symbols);

} // namespace act
#endif
