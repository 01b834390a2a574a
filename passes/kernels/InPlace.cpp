// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/InPlace.h"
#include "dialects/act/KernelForm.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace act;

// Whether the kernel computes anything from `argument` other than the results
// of `def`. It may do so after writing those, so they cannot take over the
// memory of `argument`:
//
//   %1 = act.silu %arg
//   %2 = act.mul %1, %arg      reads %arg when %1 may be in its place
//   act.yield %1, %2
static bool othersRead(GroupOp group, BlockArgument argument, Operation *def) {
  Block &body = group.getBody().front();
  DenseSet<Value> reached{argument};
  for (Operation &op : body.without_terminator()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value v) { return reached.contains(v); }))
      continue;
    if (op.getNumResults() == 0) // adds to a gradient
      return true;
    reached.insert(op.getResults().begin(), op.getResults().end());
  }
  return llvm::any_of(body.getTerminator()->getOperands(), [&](Value v) {
    return v.getDefiningOp() != def && reached.contains(v);
  });
}

/// The ops in the kernel that read `argument`, directly or through elementwise
/// ops: a prologue reads it on behalf of its product.
static SmallVector<Operation *> readers(BlockArgument argument) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> work{argument};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    for (Operation *user : v.getUsers())
      if ((v == argument || !isa<YieldOp>(user)) && found.insert(user) &&
          readsElementwise(user))
        llvm::append_range(work, user->getResults());
  }
  return found.takeVector();
}

bool act::mayOverwrite(GroupOp group, unsigned input, Operation *def) {
  BlockArgument argument = group.getBody().front().getArgument(input);
  return readsElementwise(def) &&
         llvm::all_of(readers(argument), readsElementwise) &&
         !othersRead(group, argument, def);
}
