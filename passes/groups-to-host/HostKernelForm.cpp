// SPDX-License-Identifier: Apache-2.0
#include "passes/groups-to-host/HostKernelForm.h"

using namespace mlir;

static LogicalResult checkBody(func::FuncOp func) {
  if (func.isDeclaration() || !func.getBody().hasOneBlock())
    return func.emitOpError("must have a body of one block to be a kernel");
  return success();
}

LogicalResult act::checkTensorKernel(func::FuncOp func) {
  if (failed(checkBody(func)))
    return failure();
  auto allowed = [](Type type) {
    return type.isF64() || type.isF32() || type.isBF16() || type.isF16() ||
           type.isInteger(1) || type.isInteger(8) || type.isInteger(32) ||
           type.isInteger(64);
  };
  auto check = [&](Type type, StringRef what, unsigned i) -> LogicalResult {
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      if (!tensor.hasStaticShape() || !allowed(tensor.getElementType()))
        return func.emitOpError() << what << " " << i << " has type " << type
                                  << ", expected a static shape of f64, f32, "
                                     "bf16, f16, i1, i8, i32 or i64";
      return success();
    }
    if (what == "argument" && (type.isF64() || type.isF32() ||
                               type.isInteger(64) || type.isInteger(32)))
      return success();
    return func.emitOpError()
           << what << " " << i << " has type " << type << ", expected a tensor"
           << (what == "argument" ? " or a scalar" : "");
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (failed(check(type, "argument", i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(check(type, "result", i)))
      return failure();
  return success();
}

LogicalResult act::checkMemoryKernel(func::FuncOp func) {
  if (failed(checkBody(func)))
    return failure();
  if (func.getNumResults())
    return func.emitOpError("returns values, expected a kernel on memory, as "
                            "host-bufferize leaves it");
  return success();
}
