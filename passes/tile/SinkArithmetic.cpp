// SPDX-License-Identifier: Apache-2.0
//
// An op on a block is one op for each of a thread's registers, and all of these
// stand before those of the next op:
//
//     %a0 = math.exp %x0               %a0 = math.exp %x0
//     %a1 = math.exp %x1        ->     %b0 = arith.mulf %a0, %y0
//     %b0 = arith.mulf %a0, %y0        store %b0
//     %b1 = arith.mulf %a1, %y1        %a1 = math.exp %x1
//     store %b0                        %b1 = arith.mulf %a1, %y1
//     store %b1                        store %b1
//
// What follows a product of warp groups, whose sum takes half of the registers,
// would then hold several blocks at a time. ptxas keeps this order by and
// large.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SINKARITHMETICPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Whether products begin in the block itself: what stands between them is in
/// the order that they need.
bool startsProducts(Block &block) {
  return llvm::any_of(block.getOps<LLVM::InlineAsmOp>(), [](auto ptx) {
    return ptx.getAsmString().contains("wgmma.mma_async");
  });
}

/// Intrinsics have no declared effects; those that convert have none.
bool converts(Operation &op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call && call.getIntrin().starts_with("llvm.nvvm.ff2");
}

bool isArithmetic(Operation &op) {
  if (op.getNumRegions() || op.use_empty() ||
      !(isMemoryEffectFree(&op) || converts(op)))
    return false;
  auto onNumbers = [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  };
  return llvm::any_of(op.getOperandTypes(), onNumbers) ||
         llvm::any_of(op.getResultTypes(), onNumbers);
}

/// Moves arithmetic to what first needs it, the last op first.
void sink(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isArithmetic(op))
      continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers()) {
      Operation *own = block.findAncestorOpInBlock(*user);
      if (!first || own->isBeforeInBlock(first))
        first = own;
    }
    op.moveBefore(first);
  }
}

struct SinkArithmetic
    : act::tile::impl::SinkArithmeticPassBase<SinkArithmetic> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) {
      if (!kernel.isKernel() || !getSchedule(kernel).getInGroups())
        return;
      // Blocks after a loop of products.
      llvm::SmallPtrSet<Block *, 4> blocks;
      kernel.walk([&](Block *block) {
        if (!startsProducts(*block))
          return;
        Operation *loop = block->getParentOp();
        if (loop != kernel && !startsProducts(*loop->getBlock()))
          blocks.insert(loop->getBlock());
      });
      for (Block *block : blocks)
        sink(*block);
    });
  }
};

} // namespace
