// SPDX-License-Identifier: Apache-2.0
//
// Loads from shared memory, to where the first of what they bring is needed.
// Op by op a thread would have both of a product's operands at once, which of
// f32 are as many registers as its accumulators. Matrices by ldmatrix are not
// moved: of half the registers, ptxas needs no help.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;

static bool isSharedLoad(Operation &op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return load && cast<LLVM::LLVMPointerType>(load.getAddr().getType())
                         .getAddressSpace() ==
                     unsigned(NVVM::NVVMMemorySpace::Shared);
}

/// Of several numbers that are loaded at once, one.
static bool isPart(Operation &op) {
  return isa<LLVM::ExtractElementOp, LLVM::ExtractValueOp>(op);
}

/// Whether loads from shared memory stay on their side of it.
static bool keepsOrder(Operation &op) {
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return !call.getIntrin().starts_with("llvm.nvvm.ff2"); // a rounding
  return !isMemoryEffectFree(&op) &&
         !isa<LLVM::LoadOp, NVVM::LdMatrixOp, NVVM::MmaOp>(op);
}

void act::tile::sinkSharedLoads(Operation *kernel) {
  kernel->walk([](Block *block) {
    Operation *barrier = nullptr; // the next that keeps the order
    // The users of what an op makes are where they belong when it is its turn.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
      if (keepsOrder(op))
        barrier = &op;
      bool loads = isSharedLoad(op);
      if (!loads && !isPart(op))
        continue;
      Operation *first = loads ? barrier : nullptr;
      for (Operation *user : op.getUsers())
        if (Operation *at = block->findAncestorOpInBlock(*user);
            !first || at->isBeforeInBlock(first))
          first = at;
      if (first && op.getNextNode() != first)
        op.moveBefore(first);
    }
  });
}
