// SPDX-License-Identifier: Apache-2.0
//
// Compiles modules in the LLVM dialect to one ELF shared object in memory.
#ifndef ACT_PASSES_GROUPSTOHOST_EMITSHAREDOBJECT_H
#define ACT_PASSES_GROUPSTOHOST_EMITSHAREDOBJECT_H
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace act {

/// `name` is another name for `symbol`.
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

/// Links objects. Undefined symbols must be in the C library (those that
/// neither allocate nor print, and `also`) or libm; others are an error at
/// `loc`. `aliases` are additional names of symbols defined in the objects.
mlir::FailureOr<std::vector<uint8_t>>
linkObjects(llvm::ArrayRef<std::vector<char>> objects, mlir::Location loc,
            llvm::ArrayRef<llvm::StringRef> also = {},
            llvm::ArrayRef<SymbolAlias> aliases = {});

} // namespace act
#endif
