// SPDX-License-Identifier: Apache-2.0
//
// The conditions under which a value becomes a prologue, and the split of norms
// into statistics and act.normalize that lets a norm's result be one. The pass
// itself only marks the module: FormKernels asks `isPrologue` once kernels
// exist, because an epilogue is preferred to a prologue.
#include "passes/kernels/FusePrologues.h"
#include "dialects/act/Types.h"
#include "passes/kernels/Passes.h"
#include "passes/module/Entries.h"
#include "passes/module/EraseDead.h"
#include "llvm/ADT/SetVector.h"

namespace act {
#define GEN_PASS_DEF_FUSEPROLOGUESPASS
#include "passes/kernels/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// Collects the readers of `v`, through views; false if one is not a product.
bool collectProducts(Value v, SmallVectorImpl<Operation *> &products) {
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ReshapeOp, TransposeOp>(user)) {
      if (!collectProducts(user->getResult(0), products))
        return false;
      continue;
    }
    auto kernel = dyn_cast<KernelOpInterface>(user);
    if (!kernel || !kernel.takesPrologue(use.getOperandNumber()))
      return false;
    products.push_back(user);
  }
  return true;
}

/// Does any op other than `ops` read `v` at `last` or later? Then `v` is alive
/// that long anyway, and a prologue that reads it costs no memory.
bool isReadFrom(Value v, Operation *last, ArrayRef<Operation *> ops) {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    if (llvm::is_contained(ops, user))
      return false;
    if (isa<ReshapeOp, TransposeOp>(user))
      return isReadFrom(user->getResult(0), last, ops);
    return user == last || last->isBeforeInBlock(user);
  });
}

/// Is `v` computed before `op`?
bool isThere(Value v, Operation *op) {
  Operation *def = v.getDefiningOp();
  return !def || def->isBeforeInBlock(op);
}

/// The mean (or null) and rstd of the rows of `norm`'s input that its gradient
/// reads. If the norm is recomputed, these are the ones kept from forward: in
/// backward the statistics of a recomputed norm are not computed again, since
/// `rstd` is there:
///
///   %n  = act.rms_norm %x, %g {act.recompute}      read by products only
///   %dx = act.rms_norm_grad %dy, %x, %g, %rstd     %rstd is an argument
template <typename Grad>
std::pair<Value, Value> keptStatistics(Operation *norm) {
  for (Operation *user : norm->getOperand(0).getUsers())
    if (auto grad = dyn_cast<Grad>(user);
        grad && grad.getInput() == norm->getOperand(0) &&
        grad->getBlock() == norm->getBlock() &&
        grad.getRstd().getDefiningOp() != norm &&
        isThere(grad.getRstd(), norm)) {
      Value mean;
      if constexpr (std::is_same_v<Grad, LayerNormGradOp>)
        mean = grad.getMean();
      return {mean, grad.getRstd()};
    }
  return {};
}

/// Do all norms of this kind have the same epsilon? A gradient op does not name
/// its norm, so the epsilon of its statistics is otherwise unknown.
template <typename Norm> bool haveOneEpsilon(Norm norm) {
  auto module = norm->template getParentOfType<ModuleOp>();
  return !module
              .walk([&](Norm other) {
                return other.getEps() == norm.getEps()
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// The bytes of the statistics of `norm`.
int64_t statisticsBytes(Operation *norm) {
  auto input = cast<RankedTensorType>(norm->getOperand(0).getType());
  return byteSize(dropBack(input, 1, computeType(input.getElementType()))) *
         (isa<LayerNormOp>(norm) ? 2 : 1);
}

/// Computes the norm's result from statistics instead: kept ones, or its own.
template <typename Norm, typename Grad> void split(Norm norm) {
  OpBuilder b(norm);
  auto [mean, rstd] = keptStatistics<Grad>(norm);
  if (!rstd || !haveOneEpsilon(norm)) {
    Operation *full = norm.withStatistics(b);
    if (full != norm) {
      norm->replaceAllUsesWith(full->getResults().take_front(1));
      norm->erase();
      norm = cast<Norm>(full);
    }
    rstd = norm.getRstd();
    if constexpr (std::is_same_v<Norm, LayerNormOp>)
      mean = norm.getMean();
  }
  Value bias;
  if constexpr (std::is_same_v<Norm, LayerNormOp>)
    bias = norm.getBias();
  UnitAttr plusOne;
  if constexpr (std::is_same_v<Norm, RmsNormOp>)
    plusOne = norm.getPlusOneAttr();
  b.setInsertionPointAfter(norm);
  auto result = NormalizeOp::create(
      b, norm.getLoc(), norm.getResult().getType(), norm.getInput(),
      norm.getWeight(), mean, rstd, bias, plusOne);
  result->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
  norm.getResult().replaceAllUsesWith(result);
  eraseDead(norm);
}

struct FusePrologues : act::impl::FuseProloguesPassBase<FusePrologues> {
  void runOnOperation() override {
    if (kernelsFormed(getOperation())) {
      emitError(
          getOperation()->getLoc(),
          "the module already has kernels; --fuse-prologues must come before "
          "--form-kernels");
      return signalPassFailure();
    }
    getOperation()->setAttr(fuseProloguesAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace

bool act::isPrologue(ArrayRef<Operation *> ops, Value result,
                     int64_t statistics) {
  SmallVector<Operation *> products;
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.hasStaticShape() || !collectProducts(result, products) ||
      products.empty())
    return false;
  Block *block = ops.front()->getBlock();
  Operation *last = products.front();
  for (Operation *product : products) {
    if (product->getBlock() != block)
      return false;
    if (last->isBeforeInBlock(product))
      last = product;
  }
  llvm::SmallSetVector<Value, 8> operands;
  for (Operation *op : ops)
    for (Value v : op->getOperands())
      if (!llvm::is_contained(ops, v.getDefiningOp()))
        operands.insert(v);
  // The operands of the prologue stay alive until the last product. Those that
  // would have died earlier take the place of the result.
  int64_t longer = statistics;
  for (Value v : operands)
    if (auto operand = dyn_cast<RankedTensorType>(v.getType());
        operand && !v.getDefiningOp<ParamOp>() && !isReadFrom(v, last, ops))
      longer += byteSize(operand);
  return longer <= byteSize(type);
}

void act::splitNorms(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<RmsNormOp, LayerNormOp>(op) ||
        !isPrologue(&op, op.getResult(0), statisticsBytes(&op)))
      continue;
    if (auto norm = dyn_cast<RmsNormOp>(op))
      split<RmsNormOp, RmsNormGradOp>(norm);
    else
      split<LayerNormOp, LayerNormGradOp>(cast<LayerNormOp>(op));
  }
}
