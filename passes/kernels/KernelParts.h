// SPDX-License-Identifier: Apache-2.0
//
// How many kernels a group is. Most groups are one. An op with stages
// (KernelOpInterface) takes several: the gradient of attention one for each
// order of sums, a split product one for its parts and one for their sum.
// Reports count kernels with this list, and lowering makes a function of each
// entry.
#ifndef ACT_PASSES_KERNELS_KERNELPARTS_H
#define ACT_PASSES_KERNELS_KERNELPARTS_H
#include "dialects/act/Dialect.h"

namespace act {

/// One kernel of a group. Ops without stages are in the first kernel, and again
/// in each later one that reads their results.
struct KernelPart {
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> stages;
  bool isMain = false; ///< the one with the group's FLOPs
};

/// The kernels of `group`, in the order of their launches.
llvm::SmallVector<KernelPart> partsOf(GroupOp group, LinalgForm form);

/// What the kernels of one form exchange outside of the arena, such as the
/// parts of a small product on GPUs; null if there is nothing.
mlir::RankedTensorType scratchType(GroupOp group, LinalgForm form);

} // namespace act
#endif
