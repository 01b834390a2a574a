// SPDX-License-Identifier: Apache-2.0
//
// Compiles a kernel on blocks to native code for this machine, for debugging:
// slow, but simple enough to trust.
#ifndef ACT_PASSES_TILETOHOST_COMPILEFORHOST_H
#define ACT_PASSES_TILETOHOST_COMPILEFORHOST_H
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>
#include <vector>

namespace act::tile {

struct HostKernel {
  /// An ELF shared object with one function of the kernel's name,
  ///
  ///   void name(void *const *args, int64_t program);
  ///
  /// args are the kernel's parameters in order (an array's address; a scalar is
  /// a pointer to an 8-byte slot), the context (HostContext.h), and scratch of
  /// `scratchBytes` where that is not 0. It is called for every program of the
  /// grid, one after the other.
  std::vector<uint8_t> sharedObject;
  uint64_t scratchBytes = 0;
  /// Check number i of the context: its location and message, one line.
  std::vector<std::string> checks;
};

/// Compiles a kernel, which is left unchanged. Errors are reported at the op.
mlir::FailureOr<HostKernel> compileForHost(mlir::gpu::GPUFuncOp kernel);

} // namespace act::tile
#endif
