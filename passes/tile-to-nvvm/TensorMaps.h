// SPDX-License-Identifier: Apache-2.0
//
// The tensor maps that a launch passes behind a kernel's arguments: from the
// kernel's attribute (#tile.tensor_map) to the artifact's form, and as JSON.
#ifndef ACT_PASSES_TILETONVVM_TENSORMAPS_H
#define ACT_PASSES_TILETONVVM_TENSORMAPS_H
#include "act/Artifact/Step.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/JSON.h"

namespace act::tile {

/// Those of a kernel that is lowered to threads.
std::vector<artifact::TensorMap> tensorMapsOf(mlir::gpu::GPUFuncOp kernel);

/// As JSON, and back; none if the JSON is something else.
llvm::json::Value tensorMapsJson(llvm::ArrayRef<artifact::TensorMap> maps);
std::optional<std::vector<artifact::TensorMap>>
parseTensorMaps(const llvm::json::Value &json);

} // namespace act::tile
#endif
