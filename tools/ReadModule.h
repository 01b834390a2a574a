// SPDX-License-Identifier: Apache-2.0
//
// A file of another kind, such as a config.json or PTX, is an error that says
// what to do with it (tools/arguments/FileKind.h).
//
// A module's file on its way to MLIR's parser, which trusts its input in ways
// that a file from anywhere does not deserve.
//
// Text: the parser recurses as deep as brackets nest and as long as a sum is,
// and for `%0#N` makes a list of N values. All three are bounded here, and what
// exceeds a bound is an error with file, line and column. So is `array<index:
// 1>`, which the parser does not survive.
//
// Bytecode: its reader follows offsets and counts that nobody has checked. So a
// child process reads and verifies it, within limits of time and memory, and
// hands back the same module as bytecode of its own writing; only that reaches
// this process. A reader that crashes takes the child with it.
#ifndef ACT_TOOLS_READMODULE_H
#define ACT_TOOLS_READMODULE_H
#include "act/Result.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

namespace act {

/// The file at `path` ("-": standard input), fit to be parsed with `registry`.
Result<std::unique_ptr<llvm::MemoryBuffer>>
readModule(llvm::StringRef path, const mlir::DialectRegistry &registry);

/// What the parser could not survive in `text`, if anything.
Status checkModuleText(llvm::StringRef text, llvm::StringRef file);

} // namespace act
#endif
