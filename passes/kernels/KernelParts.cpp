// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/KernelParts.h"

using namespace mlir;
using namespace act;

/// The op of `group` that uses scratch in this form: the first that would. A
/// group that takes several kernels for another reason does without.
static Operation *scratchOwner(GroupOp group, LinalgForm form) {
  Operation *owner = nullptr;
  for (Operation &op : group.getBody().front()) {
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (!kernel)
      continue;
    if (kernel.getScratchType(form)) {
      if (!owner)
        owner = &op;
    } else if (!kernel.getStages(form).empty()) {
      return nullptr;
    }
  }
  return owner;
}

SmallVector<KernelPart> act::partsOf(GroupOp group, LinalgForm form) {
  SmallVector<KernelPart> parts(1);
  KernelPart last;
  Operation *scratched = scratchOwner(group, form);
  for (Operation &op : group.getBody().front()) {
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (!kernel || (kernel.getScratchType(form) && &op != scratched))
      continue;
    for (auto [number, stage] : llvm::enumerate(kernel.getStages(form))) {
      KernelPart &part = stage.kernel == KernelStage::Main ? parts.front()
                         : stage.kernel == KernelStage::Last
                             ? last
                             : parts.emplace_back();
      part.stages.push_back({&op, unsigned(number)});
      part.isMain |= stage.isMain;
    }
  }
  if (!last.stages.empty())
    parts.push_back(std::move(last));
  if (llvm::none_of(parts, [](const KernelPart &p) { return p.isMain; }))
    parts.front().isMain = true;
  return parts;
}

RankedTensorType act::scratchType(GroupOp group, LinalgForm form) {
  Operation *owner = scratchOwner(group, form);
  return owner ? cast<KernelOpInterface>(owner).getScratchType(form)
               : RankedTensorType();
}
