// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_H
#define ACT_PASSES_EMIT_PASSES_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <string>
#include <utility>
#include <vector>

namespace act {
#define GEN_PASS_DECL
#include "passes/emit/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/emit/Passes.h.inc"

/// As --emit, but the artifact goes to `*out`: options do not name a file.
std::unique_ptr<mlir::Pass> createEmitPass(std::vector<uint8_t> *out);

/// The name and bytes of a file.
using NamedBytes = std::pair<std::string, std::string>;
/// As --emit-ptx, but the files go to `*out`: options do not name a folder.
std::unique_ptr<mlir::Pass> createEmitPtxPass(std::vector<NamedBytes> *out);
} // namespace act
#endif
