// SPDX-License-Identifier: Apache-2.0
//
// Which instruction of tensor cores each dot becomes. Lowering goes by what
// stands on the op. The layouts of fragments are those of mma.sync.
#include "act/Layout/Mma.h"
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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

struct SelectInstructions
    : act::tile::impl::SelectInstructionsPassBase<SelectInstructions> {
  using SelectInstructionsPassBase::SelectInstructionsPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    const bool hasFloat8 = (*gpu)->features.float8Products;
    WalkResult walked = getOperation().walk([&](DotOp dot) {
      bool isF8 = isFloat8(getElementTypeOrSelf(dot.getA().getType()));
      if (dot.getInstruction()) { // chosen by hand
        if (!isF8 || hasFloat8)
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
      dot.setInstructionAttr(mmaSync(dot));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
