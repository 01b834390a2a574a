// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SPLITDOTSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// `v` as a sum of blocks of bf16, the largest first: each has 8 bits of what
/// the ones before leave.
SmallVector<Value> partsOf(OpBuilder &b, Value v, unsigned count) {
  Location loc = v.getLoc();
  SmallVector<Value> parts;
  if (auto trans = v.getDefiningOp<TransOp>()) { // so that it stays free
    for (Value part : partsOf(b, trans.getOperand(), count))
      parts.push_back(TransOp::create(b, loc, part));
    return parts;
  }
  auto wide = cast<RankedTensorType>(v.getType());
  auto narrow = wide.clone(b.getBF16Type());
  for (unsigned i = 0; i < count; ++i) {
    parts.push_back(arith::TruncFOp::create(b, loc, narrow, v));
    if (i + 1 < count)
      v = arith::SubFOp::create(
          b, loc, v, arith::ExtFOp::create(b, loc, wide, parts.back()));
  }
  return parts;
}

/// As f16, which has all numbers of f8.
Value widened(OpBuilder &b, Value v) {
  if (auto trans = v.getDefiningOp<TransOp>()) // so that it stays free
    return TransOp::create(b, v.getLoc(), widened(b, trans.getOperand()));
  auto type = cast<RankedTensorType>(v.getType()).clone(b.getF16Type());
  return arith::ExtFOp::create(b, v.getLoc(), type, v);
}

struct SplitDots : act::tile::impl::SplitDotsPassBase<SplitDots> {
  using SplitDotsPassBase::SplitDotsPassBase;

  void runOnOperation() override {
    bool hasFloat8 = target != "sm_80" && target != "sm_86";
    getOperation().walk([&](DotOp dot) {
      if (!isFloat8(getElementTypeOrSelf(dot.getA().getType())) ||
          (hasFloat8 && dot.getA().getType().getDimSize(1) % 32 == 0))
        return;
      OpBuilder b(dot);
      dot.getAMutable().set(widened(b, dot.getA()));
      dot.getBMutable().set(widened(b, dot.getB()));
    });
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) {
      if (getElementTypeOrSelf(dot.getA().getType()).isF32() &&
          dot.getPrecision() != DotPrecision::TF32)
        dots.push_back(dot);
    });
    for (DotOp dot : dots) {
      OpBuilder b(dot);
      unsigned count = dot.getPrecision() == DotPrecision::BF16x3 ? 2 : 3;
      SmallVector<Value> x = partsOf(b, dot.getA(), count),
                         y = partsOf(b, dot.getB(), count);
      // The smallest products first.
      Value sum = dot.getAcc();
      for (unsigned order = count; order-- > 0;)
        for (unsigned i = 0; i <= order; ++i)
          sum = DotOp::create(b, dot.getLoc(), x[order - i], y[i], sum);
      dot.getResult().replaceAllUsesWith(sum);
      dot.erase();
    }
  }
};

} // namespace
