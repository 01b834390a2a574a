// SPDX-License-Identifier: Apache-2.0
//
// Where warps work in groups, computes a block transposed if a product takes it
// transposed as its first operand: the sum of a product stays in the registers
// of the next one's operand as it is, but not transposed.
//
//     %s = tile.dot %q, %kt, %0             %st = tile.dot %k, %qt, %0
//     %p = math.exp %s                      %pt = math.exp %st
//     %t = tile.trans %p
//     tile.dot %t, %do, %acc                tile.dot %pt, %do, %acc
//
// Other readers of %p get %pt transposed.
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_TRANSPOSEDOTSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

bool isMatrix(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getRank() == 2;
}

RankedTensorType transposed(Type type) {
  auto block = cast<RankedTensorType>(type);
  return block.clone({block.getDimSize(1), block.getDimSize(0)});
}

/// The computation of a matrix from products, done over with dimensions
/// swapped.
class Transposition {
public:
  /// Whether a product is behind `v`, by way of element by element computations
  /// and broadcasts.
  bool reachesDot(Value v);
  /// `v` transposed, computed where `v` is.
  Value of(Value v);
  /// Lets other readers of what was computed have it transposed back.
  void replaceOthers();

private:
  bool goesThrough(Operation *op) const {
    return hasOneLayout(op) && op->getNumRegions() == 0 && isPure(op) &&
           llvm::all_of(op->getResults(), isMatrix);
  }
  Value compute(Value v, OpBuilder &b);

  llvm::DenseMap<Value, Value> made;
  struct Done {
    Operation *op; // that computes `value`
    Value value, transposed;
  };
  SmallVector<Done> order;
};

bool Transposition::reachesDot(Value v) {
  SetVector<Operation *> behind;
  auto follow = [&](Value o) {
    if (Operation *op = o.getDefiningOp(); op && isMatrix(o))
      behind.insert(op);
  };
  follow(v);
  for (size_t i = 0; i < behind.size(); ++i) {
    Operation *op = behind[i];
    if (auto dot = dyn_cast<DotOp>(op); dot && dot.getWithin().empty())
      return true;
    if (goesThrough(op))
      llvm::for_each(op->getOperands(), follow);
  }
  return false;
}

Value Transposition::of(Value v) {
  if (!isMatrix(v))
    return v;
  if (Value t = made.lookup(v))
    return t;
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(v);
  Value t = compute(v, b);
  // An op with several results enters them all.
  if (made.try_emplace(v, t).second)
    order.push_back({v.getDefiningOp(), v, t});
  return t;
}

Value Transposition::compute(Value v, OpBuilder &b) {
  Operation *op = v.getDefiningOp();
  auto swapped = [&](Value x) -> Value {
    if (auto trans = x.getDefiningOp<TransOp>())
      return trans.getInput();
    return TransOp::create(b, v.getLoc(), x);
  };
  if (DenseElementsAttr elements;
      matchPattern(v, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(
        b, v.getLoc(), elements.resizeSplat(transposed(v.getType())));
  if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op))
    return tensor::SplatOp::create(b, v.getLoc(), splat.getInput(),
                                   transposed(v.getType()));
  if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op))
    return ExpandDimsOp::create(b, v.getLoc(), transposed(v.getType()),
                                expand.getInput(), 1 - expand.getAxis());
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    Value input = of(broadcast.getInput());
    return BroadcastOp::create(b, v.getLoc(), transposed(v.getType()), input);
  }
  if (auto dot = dyn_cast_or_null<DotOp>(op); dot && dot.getWithin().empty()) {
    Value first = swapped(dot.getB()), second = swapped(dot.getA()),
          acc = of(dot.getAcc());
    auto flipped = cast<DotOp>(b.clone(*op));
    flipped->setOperands({first, second, acc});
    flipped.getResult().setType(transposed(dot.getType()));
    return flipped;
  }
  if (!op || !goesThrough(op))
    return swapped(v);
  SmallVector<Value> operands;
  for (Value o : op->getOperands())
    operands.push_back(of(o));
  Operation *again = b.clone(*op);
  again->setOperands(operands);
  for (auto [r, t] : llvm::zip(op->getResults(), again->getResults())) {
    t.setType(transposed(r.getType()));
    if (made.try_emplace(r, t).second)
      order.push_back({op, r, t});
  }
  return made.lookup(v);
}

void Transposition::replaceOthers() {
  for (auto [op, v, t] : order) {
    if (t.getDefiningOp<TransOp>() || isa<ExpandDimsOp, BroadcastOp>(op))
      continue;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(t.getDefiningOp());
    v.replaceAllUsesWith(TransOp::create(b, v.getLoc(), t));
  }
}

/// Erases what nothing reads any more, readers first.
void eraseDead(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

struct TransposeDots : act::tile::impl::TransposeDotsPassBase<TransposeDots> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (!kernel.isKernel() || !getSchedule(kernel).getInGroups())
        return;
      Transposition transposition;
      SmallVector<TransOp> replaced;
      kernel.walk([&](DotOp dot) {
        if (auto trans = dot.getA().getDefiningOp<TransOp>();
            trans && !llvm::is_contained(replaced, trans) &&
            transposition.reachesDot(trans.getInput()))
          replaced.push_back(trans);
      });
      for (TransOp trans : replaced) {
        trans.replaceAllUsesWith(transposition.of(trans.getInput()));
        trans.erase();
      }
      transposition.replaceOthers();
      if (!replaced.empty())
        eraseDead(kernel);
    });
  }
};

} // namespace
