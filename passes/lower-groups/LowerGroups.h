// SPDX-License-Identifier: Apache-2.0
//
// Groups become functions on tensors, and launches of them.
//
//     %y = act.group "linear.up" (%a = %x, %b = %w) { .. }
//     launches {
//       act.launch @kernels::@k0_linear_up (input 0, input 1, result 0) main
//     }
#ifndef ACT_PASSES_LOWERGROUPS_LOWERGROUPS_H
#define ACT_PASSES_LOWERGROUPS_LOWERGROUPS_H
#include "passes/kernels/Flatten.h"

namespace act {

/// The name of the module of kernels, and its attribute with the target's name:
/// that of a GPU, or nothing for the host.
inline constexpr llvm::StringLiteral kernelsName = "kernels";
inline constexpr llvm::StringLiteral targetAttr = "act.target";

/// Lowers the groups that `programs`, made from `module`, launch. Equal
/// functions become one kernel, named by its number and its first group. If the
/// module has kernels for the same target, groups without launches are added.
mlir::LogicalResult lowerGroups(mlir::ModuleOp module,
                                llvm::ArrayRef<const Program *> programs,
                                llvm::StringRef target);

/// The module's kernels; null before `lowerGroups`.
mlir::ModuleOp kernelsOf(mlir::ModuleOp module);

/// For each result of the launch's group, the operand whose memory it takes
/// over, or -1.
std::vector<int64_t> inPlaceOf(const FlatLaunch &launch,
                               const Program &program);

/// The launches of `group` for one choice of operands in place.
llvm::SmallVector<LaunchOp> launchesOf(GroupOp group,
                                       llvm::ArrayRef<int64_t> inPlace);

/// Checks all launches of `module`, with an error for the first that is wrong.
mlir::LogicalResult checkLaunches(mlir::ModuleOp module);

} // namespace act
#endif
