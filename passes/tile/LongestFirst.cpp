// SPDX-License-Identifier: Apache-2.0
//
// Where later programs have more to do, such as those of later rows of causal
// attention, the last ones to start would be the longest, and most of the card
// would wait for them. Then a program takes the number of the one as far from
// the other end:
//
//     %pid_x = tile.program_id x       %0 = tile.program_id x
//                                      %pid_x = arith.subi %c703, %0
//
// Programs that wait for each other by their numbers keep them.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/tile/BlockBytes.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_LONGESTFIRSTPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

void startLongestFirst(gpu::GPUFuncOp kernel) {
  ArrayRef<int64_t> grid = getGrid(kernel);
  if (grid.empty() ||
      !llvm::all_of(grid.drop_front(), [](int64_t n) { return n == 1; }) ||
      waitsForOthers(kernel))
    return;
  SmallVector<ProgramIdOp> ids;
  kernel.walk([&](ProgramIdOp op) {
    if (op.getAxis() == GridAxis::X && !op.getNumber())
      ids.push_back(op);
  });
  for (ProgramIdOp id : ids) {
    OpBuilder b(kernel.getContext());
    b.setInsertionPointAfter(id);
    Value last = arith::ConstantIndexOp::create(b, id.getLoc(), grid[0] - 1);
    Value other = arith::SubIOp::create(b, id.getLoc(), last, id);
    id.getResult().replaceAllUsesExcept(other, other.getDefiningOp());
  }
}

struct LongestFirst : act::tile::impl::LongestFirstPassBase<LongestFirst> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->removeAttr(growingBytesName))
        startLongestFirst(kernel);
  }
};

} // namespace
