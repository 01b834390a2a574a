// SPDX-License-Identifier: Apache-2.0
//
// From modules in the LLVM dialect to one ELF shared object in memory.
#ifndef ACT_PASSES_GROUPSTOHOST_EMITSHAREDOBJECT_H
#define ACT_PASSES_GROUPSTOHOST_EMITSHAREDOBJECT_H
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace act {

/// `name` is what `symbol` is called, too.
struct SymbolAlias {
  std::string name, symbol;
};

/// A CPU as LLVM names it, with its features written out.
struct HostTarget {
  std::string cpu, features;
  unsigned vectorBits = 256;
};

/// Empty cpu: this machine's. Emits an error at `loc` for an unknown one.
mlir::FailureOr<HostTarget> describeTarget(llvm::StringRef cpu,
                                           llvm::StringRef features,
                                           mlir::Location loc);

/// Optimises one module and returns its relocatable object.
mlir::FailureOr<std::vector<char>> emitObject(mlir::ModuleOp module,
                                              const HostTarget &target);

/// Links objects; symbols that remain undefined must be of the C library or
/// libm, others are an error at `loc`. Of the C library that is what neither
/// allocates nor prints, and `also`. `aliases` are further names of what the
/// objects define.
mlir::FailureOr<std::vector<uint8_t>>
linkObjects(llvm::ArrayRef<std::vector<char>> objects, mlir::Location loc,
            llvm::ArrayRef<llvm::StringRef> also = {},
            llvm::ArrayRef<SymbolAlias> aliases = {});

} // namespace act
#endif
