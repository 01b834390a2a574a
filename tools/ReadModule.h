// SPDX-License-Identifier: Apache-2.0
//
// Reads an untrusted module file for MLIR's parser (compiler/CheckModule.h). A
// file of another kind, such as a config.json or PTX, is an error that says
// what to do with it (tools/arguments/FileKind.h).
#ifndef ACT_TOOLS_READMODULE_H
#define ACT_TOOLS_READMODULE_H
#include "act/Result.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

namespace act {

/// The file at `path` ("-": standard input), safe to parse with `registry`.
Result<std::unique_ptr<llvm::MemoryBuffer>>
readModule(llvm::StringRef path, const mlir::DialectRegistry &registry);

} // namespace act
#endif
