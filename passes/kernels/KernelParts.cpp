// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/KernelParts.h"

using namespace mlir;
using namespace act;

/// The stages of `op`, which is in `group`. There is one scratch: of several
/// ops that would use it, the first does, and the others are computed as a
/// whole.
static SmallVector<KernelStage> stagesOf(Operation *op, LinalgForm form,
                                         Operation *&scratchOwner) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return {};
  if (kernel.getScratchType(form)) {
    if (scratchOwner)
      return {};
    scratchOwner = op;
  }
  return kernel.getStages(form);
}

SmallVector<KernelPart> act::partsOf(GroupOp group, LinalgForm form) {
  SmallVector<KernelPart> parts(1);
  KernelPart last;
  Operation *scratchOwner = nullptr;
  for (Operation &op : group.getBody().front())
    for (auto [number, stage] :
         llvm::enumerate(stagesOf(&op, form, scratchOwner))) {
      KernelPart &part = stage.kernel == KernelStage::Main ? parts.front()
                         : stage.kernel == KernelStage::Last
                             ? last
                             : parts.emplace_back();
      part.stages.push_back({&op, unsigned(number)});
      part.isMain |= stage.isMain;
    }
  if (!last.stages.empty())
    parts.push_back(std::move(last));
  if (llvm::none_of(parts, [](const KernelPart &p) { return p.isMain; }))
    parts.front().isMain = true;
  return parts;
}

RankedTensorType act::scratchType(GroupOp group, LinalgForm form) {
  for (Operation &op : group.getBody().front())
    if (auto kernel = dyn_cast<KernelOpInterface>(op))
      if (RankedTensorType type = kernel.getScratchType(form))
        return type;
  return {};
}
