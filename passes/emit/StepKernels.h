// SPDX-License-Identifier: Apache-2.0
//
// The kernels that a step uses, numbered in the order of their first launch.
#ifndef ACT_PASSES_EMIT_STEPKERNELS_H
#define ACT_PASSES_EMIT_STEPKERNELS_H
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernels/Flatten.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace act {

/// A kernel, shared by all groups that are lowered to the same function.
struct GroupKernel {
  mutable mlir::func::FuncOp function; // a handle; its accessors are not const
  std::string text;                    ///< the function, with its name left out
  GroupOp group;                       ///< one of its groups, for messages
  llvm::json::Object about;            ///< for the index of kernels
};

class StepKernels {
public:
  /// Adds the kernels that `program`, made from `module`, launches. Its groups
  /// have launches.
  void add(mlir::ModuleOp module, const Program &program);

  /// What the program's launch runs.
  const llvm::SmallVector<LaunchOp> &launchesOf(const FlatLaunch &launch,
                                                const Program &program) const;
  uint32_t numberOf(LaunchOp launch) const;
  const std::vector<GroupKernel> &list() const { return kernels; }

private:
  using Choice = std::pair<mlir::Operation *, std::vector<int64_t>>;
  std::vector<GroupKernel> kernels;
  llvm::DenseMap<mlir::Attribute, uint32_t> numbers; // by LaunchOp::getKernel
  std::map<Choice, llvm::SmallVector<LaunchOp>> launches;
};

/// A kernel's entry in the index of kernels: ops, shapes, useful_flops,
/// least_bytes.
llvm::json::Object aboutKernel(LaunchOp launch, mlir::func::FuncOp function);

} // namespace act
#endif
