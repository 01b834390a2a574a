// SPDX-License-Identifier: Apache-2.0
//
// Dots, by the instruction that tile-select-instructions has put on them. Each
// instruction has a file.
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

LogicalResult act::tile::lowerDot(Operation *op, ThreadBuilder &t) {
  auto dot = cast<DotOp>(op);
  InstructionAttr instruction = dot.getInstructionAttr();
  if (!instruction)
    return dot.emitOpError(
        "has no instruction; --tile-select-instructions chooses one");
  switch (instruction.getKind()) {
  case InstructionKind::MmaSync:
    lowerMmaSync(dot, t);
    return success();
  case InstructionKind::Wgmma:
    return dot.emitOpError("becomes wgmma, which runs asynchronously; "
                           "--tile-async-dots makes a tile.dot_async of it");
  }
  llvm_unreachable("no instruction");
}
