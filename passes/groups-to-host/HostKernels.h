// SPDX-License-Identifier: Apache-2.0
//
// Native CPU kernels from linalg on tensors.
//
// Input: a module of functions on statically shaped tensors,
//
//   func.func @rms_norm(%x: tensor<4096x384xf32>, %w: tensor<384xf32>)
//       -> (tensor<4096x384xf32>, tensor<4096xf32>)
//
// Output: an ELF shared object with one C function per kernel,
//
//   void rms_norm(void *const *args, int64_t block);
//
// to be called once for every block in [0, grid), in any order, from any
// thread. args are the operands in order (a scalar is a pointer to an 8-byte
// slot), then one pointer per result that is not in place, then a 64-byte
// aligned scratch of `scratchBytes`, private to the thread, when that is not 0.
// An argument with the attribute `act.role = #act.role<in_place, result = N>` receives
// result N in its own memory; every other result must not overlap any operand.
//
// Guarantees:
//   - it allocates nothing: temporaries are in the scratch or, up to 4 KiB, on
//     the stack;
//   - the grid, the scratch and every order of additions depend on shapes only,
//     never on threads nor on what else a kernel computes: an operation alone
//     and the same operation in a larger kernel give the same bits;
//   - a product and a sum are contracted only inside matrix products.
//
// README.md lists the supported forms and the fast ones.
#ifndef ACT_PASSES_GROUPSTOHOST_HOSTKERNELS_H
#define ACT_PASSES_GROUPSTOHOST_HOSTKERNELS_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <cstdint>
#include <string>
#include <vector>

namespace act {

struct HostOptions {
  std::string cpu;      ///< an LLVM CPU name; empty: the machine compiling
  std::string features; ///< LLVM features, "+avx2,-fma"; with a named cpu only
  /// For compiled kernels, as KernelCache takes it.
  std::string cacheDir = "none";
};

struct HostKernelInfo {
  std::string symbol;
  uint64_t grid = 1;
  uint64_t scratchBytes = 0;
};

struct HostCode {
  std::vector<HostKernelInfo> kernels;
  std::vector<uint8_t> sharedObject;
  std::string cpu;
};

/// Compiles every function of `kernels`, which is left unchanged. Errors are
/// reported through the module's diagnostics.
mlir::FailureOr<HostCode> compileHostKernels(mlir::ModuleOp kernels,
                                             const HostOptions &options = {});

/// Upstream's conversions from loops and arithmetic on static memory to the
/// LLVM dialect. Memrefs in signatures become plain pointers.
void buildHostToLLVMPipeline(mlir::OpPassManager &pm);

/// The dialects, interfaces and translations that compileHostKernels needs; to
/// be called on the registry of the context that will hold `kernels`.
void registerHostKernelDialects(mlir::DialectRegistry &registry);

} // namespace act
#endif
