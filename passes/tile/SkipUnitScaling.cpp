// SPDX-License-Identifier: Apache-2.0
//
// In online softmax a running maximum stops growing after a few blocks, and the
// accumulator is then multiplied by exp2(0) = 1 in every iteration:
//
//     %a = arith.mulf %acc0, %p …            %any = vote.any(%p != 1, …)
//     %b = arith.mulf %acc1, %p …     ->     scf.if %any { multiply all }
//                                            else { pass them on }
//
// x * 1 is x, so results are equal bit by bit. The warp votes, so its lanes do
// not diverge.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace act::tile {
#define GEN_PASS_DEF_SKIPUNITSCALINGPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// The product of a loop-carried value and a power.
struct Scaling {
  Value product, carried, power;
};

bool isPower(Value v) {
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(v.getDefiningOp());
}

std::optional<Scaling> scalingOf(Operation &op, scf::ForOp loop) {
  auto mul = dyn_cast<arith::MulFOp>(op);
  if (!mul || !mul.getType().isF32())
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto carried = dyn_cast<BlockArgument>(mul->getOperand(i));
    Value power = mul->getOperand(1 - i);
    if (carried && carried.getOwner() == loop.getBody() && isPower(power))
      return Scaling{mul, carried, power};
  }
  return std::nullopt;
}

/// Consecutive products share a branch; fewer than this are cheaper than the
/// test.
constexpr size_t fewest = 16;
/// And more than this leave no registers for what a branch copies.
constexpr size_t most = 96;

/// Puts the products into a branch. One test per power: with few products for
/// each, the tests would cost more than they save.
void branch(ArrayRef<Scaling> products) {
  llvm::SetVector<Value> powers;
  SmallVector<Value> carried;
  SmallVector<Type> types;
  for (const Scaling &s : products) {
    powers.insert(s.power);
    carried.push_back(s.carried);
    types.push_back(s.product.getType());
  }
  if (products.size() < fewest || products.size() > most ||
      powers.size() * 4 > products.size())
    return;
  OpBuilder b(products.front().product.getDefiningOp());
  Location loc = products.front().product.getLoc();
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1)), other;
  for (Value power : powers) {
    Value differs =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, power, one);
    other =
        other ? Value(arith::OrIOp::create(b, loc, other, differs)) : differs;
  }
  Value all = arith::ConstantIntOp::create(b, loc, b.getI32Type(), -1);
  Value any = NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), all, other,
                                       NVVM::VoteSyncKind::any);
  auto taken = scf::IfOp::create(b, loc, types, any, /*withElse=*/true);
  for (auto [s, result] : llvm::zip(products, taken.getResults())) {
    Value product = s.product;
    product.replaceAllUsesWith(result);
  }
  Block *then = taken.thenBlock();
  for (const Scaling &s : products)
    s.product.getDefiningOp()->moveBefore(then, then->end());
  SmallVector<Value> scaled;
  for (const Scaling &s : products)
    scaled.push_back(s.product);
  OpBuilder end = OpBuilder::atBlockEnd(then);
  scf::YieldOp::create(end, loc, scaled);
  end = OpBuilder::atBlockEnd(taken.elseBlock());
  scf::YieldOp::create(end, loc, carried);
}

struct SkipUnitScaling
    : act::tile::impl::SkipUnitScalingPassBase<SkipUnitScaling> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      SmallVector<SmallVector<Scaling>> runs(1);
      for (Operation &op : *loop.getBody())
        if (auto s = scalingOf(op, loop))
          runs.back().push_back(*s);
        else if (!runs.back().empty())
          runs.emplace_back();
      for (ArrayRef<Scaling> products : runs)
        branch(products);
    });
  }
};

} // namespace
