// SPDX-License-Identifier: Apache-2.0
//
// Which instruction of tensor cores each dot becomes. Lowering goes by what
// stands on the op. A wgmma holds its sum, and operands in registers, as
// mma.sync does in four warps along the rows (act/Layout/Mma.h), so layouts are
// the same.
#include "act/Layout/Mma.h"
#include "act/Layout/Shared.h"
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SELECTINSTRUCTIONSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// As f16, which represents every f8 number.
Value widened(OpBuilder &b, Value v) {
  if (auto trans = v.getDefiningOp<TransOp>()) // keeps the transpose free
    return TransOp::create(b, v.getLoc(), widened(b, trans.getOperand()));
  auto type = cast<RankedTensorType>(v.getType()).clone(b.getF16Type());
  return arith::ExtFOp::create(b, v.getLoc(), type, v);
}

/// The mma.sync for `dot`; null where its k has none, which the assignment of
/// layouts reports.
InstructionAttr mmaSync(DotOp dot) {
  MLIRContext *context = dot.getContext();
  Type element = getElementTypeOrSelf(dot.getA().getType());
  if (dot.isInParts())
    element = BFloat16Type::get(context);
  int64_t k = act::layout::mmaDepth(element.getIntOrFloatBitWidth(),
                                    dot.getA().getType().getDimSize(1));
  if (k == 0)
    return {};
  int64_t m = element.isF64() ? 8 : 16;
  if (element.isF32())
    element = FloatTF32Type::get(context);
  return InstructionAttr::get(context, InstructionKind::MmaSync, m, 8, k,
                              element, dot.getParts());
}

/// The wgmma for `dot` in a program of `warps` warps; null where there is none:
/// a group's part is 64 rows at a time, of 16-bit elements.
InstructionAttr wgmma(DotOp dot, int64_t warps) {
  constexpr int64_t mostColumns = 256, depth = 16;
  Type element = getElementTypeOrSelf(dot.getA().getType());
  ArrayRef<int64_t> acc = dot.getType().getShape();
  auto [m, n] = groupsOf(acc, warps / ScheduleAttr::groupWarps);
  if (!m || !isa<BFloat16Type, Float16Type>(element) ||
      !dot.getWithin().empty() || !dot.getType().getElementType().isF32() ||
      dot.getA().getType().getDimSize(1) % depth)
    return {};
  const int64_t columns = acc[1] / n;
  // Where b is stored by rows of k, an instruction reads whole panels of them.
  int64_t panel = 8;
  if (!dot.getB().getDefiningOp<TransOp>()) {
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    panel = act::layout::Shared::evenWidth(acc[1] * bytes) / bytes;
    if (panel < 16 || columns % panel)
      return {};
  }
  // The fewest instructions that are equally wide.
  int64_t parts = llvm::divideCeil(columns, mostColumns);
  while (columns % (panel * parts))
    ++parts;
  return InstructionAttr::get(dot.getContext(), InstructionKind::Wgmma,
                              ScheduleAttr::groupRows, columns / parts, depth,
                              element, /*parts=*/1);
}

struct SelectInstructions
    : act::tile::impl::SelectInstructionsPassBase<SelectInstructions> {
  using SelectInstructionsPassBase::SelectInstructionsPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    const bool hasFloat8 = (*gpu)->features.float8Products;
    const bool hasWgmma = (*gpu)->features.wgmma;
    WalkResult walked = getOperation().walk([&](DotOp dot) {
      auto kernel = dot->getParentOfType<gpu::GPUFuncOp>();
      bool isF8 = isFloat8(getElementTypeOrSelf(dot.getA().getType()));
      if (dot.getInstruction()) { // chosen by hand
        if (isWgmma(dot) ? hasWgmma : !isF8 || hasFloat8)
          return WalkResult::advance();
        dot.emitOpError() << "becomes " << dot.getInstructionAttr()
                          << ", which " << target << " does not have";
        return WalkResult::interrupt();
      }
      if (isF8 && (!hasFloat8 || dot.getA().getType().getDimSize(1) % 32)) {
        OpBuilder b(dot);
        dot.getAMutable().set(widened(b, dot.getA()));
        dot.getBMutable().set(widened(b, dot.getB()));
      }
      InstructionAttr chosen;
      if (hasWgmma && kernel && getSchedule(kernel).getInGroups())
        chosen = wgmma(dot, getSchedule(kernel).getWarps());
      dot.setInstructionAttr(chosen ? chosen : mmaSync(dot));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
