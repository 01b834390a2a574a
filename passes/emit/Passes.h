// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_H
#define ACT_PASSES_EMIT_PASSES_H
#include "act/File/NamedBytes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <vector>

namespace act {
#define GEN_PASS_DECL
#include "passes/emit/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/emit/Passes.h.inc"

/// As --emit, but the artifact goes to `*out`: options do not name a file.
std::unique_ptr<mlir::Pass> createEmitPass(std::vector<uint8_t> *out);

/// As --emit-ptx, but the files go to `*out`: options do not name a folder.
std::unique_ptr<mlir::Pass> createEmitPtxPass(std::vector<NamedBytes> *out);
} // namespace act
#endif
