// SPDX-License-Identifier: Apache-2.0
//
// Runs before layouts are assigned: the fragments of f16 and f8 operands
// differ.
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_WIDENFLOAT8DOTSPASS
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

struct WidenFloat8Dots
    : act::tile::impl::WidenFloat8DotsPassBase<WidenFloat8Dots> {
  using WidenFloat8DotsPassBase::WidenFloat8DotsPassBase;

  void runOnOperation() override {
    auto gpu = knownTarget(target, &getContext());
    if (failed(gpu))
      return signalPassFailure();
    const bool hasFloat8 = (*gpu)->features.float8Products;
    getOperation().walk([&](DotOp dot) {
      if (!isFloat8(getElementTypeOrSelf(dot.getA().getType())) ||
          (hasFloat8 && dot.getA().getType().getDimSize(1) % 32 == 0))
        return;
      OpBuilder b(dot);
      dot.getAMutable().set(widened(b, dot.getA()));
      dot.getBMutable().set(widened(b, dot.getB()));
    });
  }
};

} // namespace
