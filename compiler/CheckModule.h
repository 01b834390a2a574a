// SPDX-License-Identifier: Apache-2.0
//
// Makes an untrusted module safe for MLIR's parser, which trusts its input.
//
// Text: the parser recurses with the nesting of brackets and the length of a
// sum, and for `%0#N` makes a list of N values. All three are bounded here; to
// exceed a bound is an error with file, line and column. So is `array<index:
// 1>`, which crashes the parser.
//
// Bytecode: its reader follows unchecked offsets and counts. So a child process
// reads and verifies it, within limits of time and memory, and returns the same
// module as rewritten bytecode, which alone reaches this process. If the reader
// crashes, only the child dies.
#ifndef ACT_COMPILER_CHECKMODULE_H
#define ACT_COMPILER_CHECKMODULE_H
#include "act/Result.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

namespace act {

/// The module, text or bytecode, safe to parse with `registry`. Errors are at
/// the buffer's identifier.
Result<std::unique_ptr<llvm::MemoryBuffer>>
checkModule(std::unique_ptr<llvm::MemoryBuffer> module,
            const mlir::DialectRegistry &registry);

/// An error if `text` has a construct that would crash the parser.
Status checkModuleText(llvm::StringRef text, llvm::StringRef file);

} // namespace act
#endif
