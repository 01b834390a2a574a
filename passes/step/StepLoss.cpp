// SPDX-License-Identifier: Apache-2.0
#include "passes/step/StepLoss.h"
#include "dialects/act/AttrNames.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace act {
namespace {

/// Whether the loss consists only of sums and means over tokens. Then the
/// micro-batches' losses add up to that of one batch, once means divide by the
/// step's labels.
bool addsUp(Value loss) {
  if (!loss.getDefiningOp())
    return false;
  return llvm::TypeSwitch<Operation *, bool>(loss.getDefiningOp())
      .Case<AddOp, SubOp>(
          [](auto op) { return addsUp(op.getLhs()) && addsUp(op.getRhs()); })
      .Case<ScaleOp, ReshapeOp, CastOp>(
          [](auto op) { return addsUp(op.getInput()); })
      .Case<CrossEntropyOp, LinearCrossEntropyOp>(
          [](auto op) { return op.getReduction() != Reduction::None; })
      .Case<DivOp>([](DivOp op) {
        return op.getRhs().getDefiningOp<LabelCountOp>() != nullptr;
      })
      .Default([](Operation *) { return false; });
}

/// Rewrites the loss ops of @grad in place, in forward and backward alike. If
/// the loss is not only sums and means over tokens, micro-batches are averaged
/// (`share` is 1/n). A sum over tokens inside it is then scaled up by n, and
/// the labels that a mean divides by are scaled down, so that the average over
/// micro-batches gives the step's value.
class StepLossWriter {
public:
  StepLossWriter(func::FuncOp grad, int64_t microBatches)
      : grad(grad), b(grad.getContext()) {
    if (!addsUp(grad.getBody().front().getTerminator()->getOperand(0)))
      out.share = 1.0 / double(microBatches);
  }
  FailureOr<StepLoss> run();

private:
  LogicalResult checkCallees(func::FuncOp caller);
  FailureOr<Value> stepLabels(Operation *op, Value labels, int64_t ignore,
                              Type type);
  template <typename Op> FailureOr<Value> ofStep(Op op, Value ofTokens);
  template <typename Op> LogicalResult forward(Op op);
  template <typename Op> LogicalResult backward(Op op);
  LogicalResult count(LabelCountOp op);

  func::FuncOp grad;
  OpBuilder b;
  StepLoss out;
  SmallVector<Value> numbers; // the arguments of out.counts, in order
  llvm::SmallPtrSet<Operation *, 8> checked;
};

// Labels that @grad computes itself exist one micro-batch at a time.
LogicalResult refuse(Operation *op) {
  return op->emitOpError()
         << "divides by the number of its labels, which are not an input of "
            "@forward, so the labels of all micro-batches cannot be counted "
            "before the first; loss-average=micro-batches takes the mean of "
            "the micro-batches' losses";
}

// A callee of @grad cannot see the step's label count, so it must not use one.
LogicalResult StepLossWriter::checkCallees(func::FuncOp caller) {
  LogicalResult done = success();
  auto mean = [&](auto op) {
    if (op.getReduction() == Reduction::Mean)
      done = refuse(op);
  };
  auto enter = [&](auto call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || !checked.insert(callee).second)
      return;
    callee.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .template Case<CrossEntropyOp, LinearCrossEntropyOp>(mean)
          .template Case<LabelCountOp>([&](auto) { done = refuse(op); });
    });
    if (failed(checkCallees(callee)))
      done = failure();
  };
  caller.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<RepeatOp, func::CallOp>(enter);
  });
  return done;
}

// The step's label count as an argument of @grad, added if it is new. Forward
// and backward of one loss share the argument.
FailureOr<Value> StepLossWriter::stepLabels(Operation *op, Value labels,
                                            int64_t ignore, Type type) {
  // Reshaping and transposing keep the number of labels, and the argument is
  // what @step can count.
  while (Operation *view = labels.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(view))
      return refuse(op);
    labels = view->getOperand(0);
  }
  unsigned argument = cast<BlockArgument>(labels).getArgNumber();
  for (auto [known, number] : llvm::zip_equal(out.counts, numbers))
    if (known.labels == argument && known.ignore == ignore &&
        known.type == type)
      return number;
  NamedAttribute name(nameAttr, b.getStringAttr("step_labels"));
  if (failed(grad.insertArgument(grad.getNumArguments(), type,
                                 b.getDictionaryAttr(name), op->getLoc())))
    return failure();
  out.counts.push_back({argument, ignore, cast<RankedTensorType>(type)});
  numbers.push_back(grad.getArguments().back());
  return numbers.back();
}

// Turns the sum over tokens into `op`'s loss for the step, or the step's
// gradient into that of the sum. The factor is the same in both directions.
//
//   %l = act.cross_entropy %x, %y reduction mean
//     becomes
//   %s = act.cross_entropy %x, %y reduction sum
//   %l = act.div %s, %step_labels
template <typename Op>
FailureOr<Value> StepLossWriter::ofStep(Op op, Value sum) {
  if (op.getReduction() == Reduction::Mean) {
    auto labels = stepLabels(op, op.getLabels(), op.getIgnore(), sum.getType());
    if (failed(labels))
      return failure();
    op.setReduction(Reduction::Sum);
    return Value(DivOp::create(b, op.getLoc(), sum.getType(), sum, *labels));
  }
  if (op.getReduction() == Reduction::Sum && out.share != 1)
    return Value(
        ScaleOp::create(b, op.getLoc(), sum, b.getF64FloatAttr(1 / out.share)));
  return sum;
}

template <typename Op> LogicalResult StepLossWriter::forward(Op op) {
  b.setInsertionPointAfter(op);
  auto loss = ofStep(op, op.getLoss());
  if (succeeded(loss) && *loss != op.getLoss())
    op.getLoss().replaceAllUsesExcept(*loss, loss->getDefiningOp());
  return loss;
}

template <typename Op> LogicalResult StepLossWriter::backward(Op op) {
  b.setInsertionPoint(op);
  auto gradient = ofStep(op, op.getGrad());
  if (succeeded(gradient))
    op.getGradMutable().assign(*gradient);
  return gradient;
}

// A label count of the model's own is that of the step, too: what divides by it
// is a mean that was written out.
LogicalResult StepLossWriter::count(LabelCountOp op) {
  auto labels = stepLabels(op, op.getLabels(), op.getIgnore(), op.getType());
  if (succeeded(labels)) {
    op.getResult().replaceAllUsesWith(*labels);
    op.erase();
  }
  return labels;
}

FailureOr<StepLoss> StepLossWriter::run() {
  if (failed(checkCallees(grad)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(grad.getBody().front())) {
    auto done =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<CrossEntropyOp, LinearCrossEntropyOp>(
                [&](auto loss) { return forward(loss); })
            .Case<CrossEntropyGradOp, LinearCrossEntropyGradOp>(
                [&](auto gradient) { return backward(gradient); })
            .Case<LabelCountOp>([&](auto labels) { return count(labels); })
            .Default([](Operation *) { return success(); });
    if (failed(done))
      return failure();
  }
  return out;
}

} // namespace

FailureOr<StepLoss> writeStepLoss(func::FuncOp grad, int64_t microBatches) {
  return StepLossWriter(grad, microBatches).run();
}

} // namespace act
