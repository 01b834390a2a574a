// SPDX-License-Identifier: Apache-2.0
//
// The pass --fuse-attention: rewrites what FuseAttentionMatch recognises, calls
// FuseLoss for the head, and says what was left alone. The operands of the
// fused op are built from axes, so no spelling of the program is known here.
#include "dialects/act/Types.h"
#include "passes/fuse/FindAttention.h"
#include "passes/fuse/FuseAttentionMatch.h"
#include "passes/fuse/FuseLoss.h"
#include "passes/fuse/Passes.h"
#include "passes/fuse/ScoreMask.h"
#include "passes/module/EraseDead.h"

namespace act {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/fuse/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace act {
namespace {

// The rotation moved before the transpose and factors that precede it in the
// program: rope(transpose(x)) = transpose(rope(x)).
Value rotated(const AttentionOperand &operand) {
  RopeOp rope = operand.rope;
  OpBuilder b(rope);
  auto moved = RopeOp::create(
      b, rope.getLoc(), operand.view.value, rope.getCos(), rope.getSin(),
      rope.getInterleaved(), rope.getHeadsFirst() && !operand.ropeMoves,
      rope.getInverse());
  return moved;
}

// scores + (bias + mask), where the model adds its bias and mask first, as two
// sums: each is found by itself.
void separateMask(AddOp sum) {
  for (unsigned i : {0u, 1u}) {
    Value scores = sum->getOperand(i), other = sum->getOperand(1 - i);
    SmallVector<ReshapeOp> views; // from the sum to the inner one
    while (auto reshape = other.getDefiningOp<ReshapeOp>()) {
      views.push_back(reshape);
      other = reshape.getInput();
    }
    auto inner = other.getDefiningOp<AddOp>();
    if (!inner ||
        mayHide(inner->getOperand(0)) == mayHide(inner->getOperand(1)) ||
        !comesFromProduct(scores))
      continue;
    OpBuilder b(sum);
    // An operand of the inner sum where the sum was.
    auto moved = [&](Value v) {
      auto type = inner.getResult().getType();
      auto own = cast<RankedTensorType>(v.getType());
      SmallVector<int64_t> shape(type.getRank() - own.getRank(), 1);
      llvm::append_range(shape, own.getShape());
      if (own.getRank() != type.getRank())
        v = ReshapeOp::create(
            b, sum.getLoc(), RankedTensorType::get(shape, own.getElementType()),
            v);
      if (v.getType() != type)
        v = ExpandOp::create(b, sum.getLoc(), type, v);
      for (ReshapeOp view : llvm::reverse(views))
        v = ReshapeOp::create(b, sum.getLoc(), view.getType(), v);
      return v;
    };
    Value hiding = inner->getOperand(0), bias = inner->getOperand(1);
    if (mayHide(bias))
      std::swap(hiding, bias);
    Type type = sum.getResult().getType();
    Value biased = AddOp::create(b, sum.getLoc(), type, scores, moved(bias));
    sum.getResult().replaceAllUsesWith(
        AddOp::create(b, sum.getLoc(), type, biased, moved(hiding)));
    eraseDead(sum);
    return;
  }
}

// The operand with dimensions `target`; reuses a value of the program if one
// has them, so that the usual spelling leaves no new views behind: the fused op
// takes [b, s, heads, d], which is what a linear layer's reshape gives.
Value operandView(OpBuilder &b, Location loc, const AxisSpace &space,
                  const AttentionOperand &operand, ArrayRef<Axes> target) {
  AxisView view = operand.view;
  if (operand.rope)
    view.value = rotated(operand);
  for (const AxisView &alias : operand.aliases)
    if (space.sameShape(alias.dims, target))
      return alias.value;
  if (space.sameShape(view.dims, target))
    return view.value;
  return space.materialize(b, loc, view, target);
}

// Traced operands may be narrower than the result, behind an exact cast; the
// fused op takes one element type.
Value operandValue(OpBuilder &b, Location loc, const AxisSpace &space,
                   const AttentionOperand &operand, ArrayRef<Axes> target,
                   Type element) {
  Value value = operandView(b, loc, space, operand, target);
  return castTo(b, value,
                withElement(cast<RankedTensorType>(value.getType()), element));
}

// a and b, of equal rank; dimensions of size 1 broadcast.
Value both(OpBuilder &builder, Location loc, Value a, Value b) {
  auto left = cast<RankedTensorType>(a.getType()),
       right = cast<RankedTensorType>(b.getType());
  SmallVector<int64_t> shape(left.getShape());
  auto names = dimNames(left), others = dimNames(right);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1) {
      shape[i] = right.getDimSize(i);
      names[i] = others[i];
    }
  auto type =
      namedTensor(shape, left.getElementType(), names, builder.getContext());
  return AndOp::create(builder, loc, type, a, b);
}

// The conjunction of all masks: [b, s_kv], or [b, s, s_kv] if one depends on
// the query. A dimension of the latter is 1 if no mask depends on it, so a mask
// of one sequence is not repeated for the batch.
Value maskOf(OpBuilder &b, Location loc, const AttentionMatch &m) {
  auto dependsOn = [&](const ElementaryMask &mask, const Axes &axes) {
    Axes has = m.space.withoutUnits(m.space.sequence(mask.view.dims));
    return llvm::any_of(m.space.flat(axes), [&](unsigned axis) {
      return llvm::is_contained(has, axis);
    });
  };
  bool ofPairs = llvm::any_of(m.masks, [&](const ElementaryMask &mask) {
    return dependsOn(mask, m.queries);
  });
  Value all;
  for (const ElementaryMask &mask : m.masks) {
    SmallVector<Axes, 4> target{m.batch, m.keys};
    if (ofPairs)
      target = {dependsOn(mask, m.batch) ? m.batch : Axes(),
                dependsOn(mask, m.queries) ? m.queries : Axes(), m.keys};
    Value next = m.space.materialize(b, loc, mask.view, target);
    if (mask.hides)
      next = NotOp::create(b, loc, next);
    all = all ? both(b, loc, all, next) : next;
  }
  return all;
}

// [b, heads, s, s_kv], packed [heads, t, t]; 1 where the bias broadcasts. It is
// added after the scale, so a factor behind the sum is a factor of the bias.
Value biasOf(OpBuilder &b, Location loc, const AttentionMatch &m) {
  if (!m.bias.value)
    return {};
  Axes has = m.space.withoutUnits(m.space.sequence(m.bias.dims));
  SmallVector<Axes, 4> target;
  for (const Axes *axes : {&m.batch, &m.heads, &m.queries, &m.keys}) {
    if (m.cuSeqlens && axes == &m.batch)
      continue;
    bool depends = llvm::any_of(m.space.flat(*axes), [&](unsigned axis) {
      return llvm::is_contained(has, axis);
    });
    target.push_back(depends ? *axes : Axes());
  }
  Value bias = m.space.materialize(b, loc, m.bias, target);
  if (m.biasFactor == 1)
    return bias;
  return ScaleOp::create(b, loc, bias.getType(), bias,
                         b.getF64FloatAttr(m.biasFactor));
}

// The output's head size is that of the values.
RankedTensorType withLastOf(Value q, Value v) {
  auto type = cast<RankedTensorType>(q.getType()),
       values = cast<RankedTensorType>(v.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto names = dimNames(type);
  shape.back() = values.getShape().back();
  names.back() = dimNames(values).back();
  return namedTensor(shape, type.getElementType(), names, type.getContext());
}

// Replaces the output of the match, after the views that follow it:
//
//   %s = act.matmul %q, %k transpose_rhs
//   %p = act.softmax (act.select %mask, (act.scale %s by 0.125), %-inf)
//   %o = act.matmul %p, %v
//     becomes
//   %o = act.attention %q, %k, %v scale 0.125 causal
//
// Only the output is replaced. The scores die with it, as nothing else reads
// them (Matcher).
void fuse(const AttentionMatch &m) {
  MatmulOp output = m.output;
  OpBuilder b(output);
  Location loc =
      b.getFusedLoc({m.scores->getLoc(), m.softmax->getLoc(), output.getLoc()});
  auto dims = [&](const Axes &tokens, const Axes &heads, const Axes &depth) {
    SmallVector<Axes, 4> target;
    if (!m.cuSeqlens)
      target.push_back(m.batch);
    target.append({tokens, heads, depth});
    return target;
  };
  auto operand = [&](const AttentionOperand &from, ArrayRef<Axes> target) {
    return operandValue(b, loc, m.space, from, target,
                        output.getType().getElementType());
  };
  Value q = operand(m.q, dims(m.queries, m.heads, m.depth));
  Value k = operand(m.k, dims(m.keys, m.kvHeads, m.depth));
  Value v = operand(m.v, dims(m.keys, m.kvHeads, m.valueDepth));
  // Dropout of probability 0 draws nothing.
  DropoutOp dropout = m.dropout;
  if (dropout && dropout.getP().isZero())
    dropout = {};
  Value none;
  auto attention = AttentionOp::create(
      b, loc, withLastOf(q, v), Type(), q, k, v, maskOf(b, loc, m), m.cuSeqlens,
      /*sinks=*/none, biasOf(b, loc, m), dropout ? dropout.getSeed() : none,
      dropout ? dropout.getStep() : none, dropout ? dropout.getSite() : none,
      b.getF64FloatAttr(m.scale), m.causal ? b.getUnitAttr() : UnitAttr(),
      m.topLeft ? b.getUnitAttr() : UnitAttr(),
      m.window ? b.getI64IntegerAttr(*m.window) : IntegerAttr(),
      m.softcap ? b.getF64FloatAttr(*m.softcap) : FloatAttr(),
      dropout ? dropout.getPAttr() : FloatAttr(), /*scoreCount=*/0);

  AxisView result{attention.getResult(),
                  dims(m.queries, m.heads, m.valueDepth)};
  Value old = m.result;
  Value replacement = m.space.materialize(
      b, loc, result, m.resultDims, cast<RankedTensorType>(old.getType()));
  old.replaceAllUsesWith(replacement);
  eraseDead(old.getDefiningOp());
}

struct FuseAttention : impl::FuseAttentionPassBase<FuseAttention> {
  using FuseAttentionPassBase::FuseAttentionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (chunk < 1) {
      emitError(module.getLoc())
          << "chunk is " << chunk.getValue() << ", expected 1 or more";
      return signalPassFailure();
    }
    if (!llvm::is_contained({"missed", "all", "none"}, remarks.getValue())) {
      emitError(module.getLoc()) << "unknown remarks '" << remarks
                                 << "': expected missed, all or none";
      return signalPassFailure();
    }
    if (failed(checkForwardOnly(module)))
      return signalPassFailure();
    SmallVector<AddOp> sums;
    module.walk([&](AddOp op) { sums.push_back(op); });
    for (AddOp sum : sums)
      separateMask(sum);
    // Collected first: fusing erases ops around the softmax.
    SmallVector<SoftmaxOp> softmaxes;
    SmallVector<CrossEntropyOp> losses;
    module.walk([&](Operation *op) {
      if (auto softmax = dyn_cast<SoftmaxOp>(op))
        softmaxes.push_back(softmax);
      if (auto loss = dyn_cast<CrossEntropyOp>(op))
        losses.push_back(loss);
    });
    unsigned fused = 0, leftAlone = 0, fusedLosses = 0;
    for (SoftmaxOp softmax : softmaxes) {
      AttentionMiss miss;
      if (auto match = matchAttention(softmax, miss)) {
        fuse(*match);
        ++fused;
      } else if (remarks != "none" && standsBetweenProducts(softmax)) {
        ++leftAlone;
        tellMiss(softmax, miss);
      }
    }
    for (CrossEntropyOp loss : losses)
      fusedLosses += fuseLoss(loss, chunk);
    if (remarks == "none")
      return;
    for (Operation *op : findForeignAttention(module)) {
      ++leftAlone;
      emitRemark(op->getLoc())
          << "fuse-attention: '" << op->getName()
          << "' belongs to an attention in ops of other dialects; only "
             "act.matmul, act.softmax and act.matmul are fused, as act-import "
             "writes them and --raise-to-act finds them";
    }
    if (remarks == "all" || leftAlone || !(fused || fusedLosses || isFused()))
      tellSum(fused, fusedLosses, leftAlone);
  }

  bool isFused() {
    return getOperation()
        .walk([](AttentionOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  // The remark is at the op that prevents the match; a note names the softmax.
  void tellMiss(SoftmaxOp softmax, const AttentionMiss &miss) {
    Operation *at = miss.at ? miss.at : softmax.getOperation();
    auto remark = emitRemark(at->getLoc());
    remark << "fuse-attention: this attention is left alone: "
           << (miss.why.empty() ? "it does not match a known form" : miss.why);
    if (at != softmax)
      remark.attachNote(softmax->getLoc()) << "its softmax is here";
  }

  void tellSum(unsigned fused, unsigned losses, unsigned leftAlone) {
    auto count = [](unsigned n, StringRef one, StringRef several) {
      return std::to_string(n) + " " + (n == 1 ? one : several).str();
    };
    auto remark = emitRemark(getOperation().getLoc());
    remark << "fuse-attention: fused "
           << (fused ? count(fused, "attention", "attentions")
                     : "no attention");
    if (losses)
      remark << " and " << count(losses, "loss", "losses");
    if (leftAlone)
      remark << "; left alone: " << leftAlone;
    WalkResult found = getOperation().walk([](Operation *op) {
      bool isAct = isa_and_nonnull<ActDialect>(op->getDialect());
      return isAct ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      remark << "; the module has no act ops";
  }

  // A backward pass reads the probabilities, which fusion removes.
  LogicalResult checkForwardOnly(ModuleOp module) {
    WalkResult result = module.walk([](Operation *op) {
      if (!isa<PhaseOp, AccumulateOp, SoftmaxGradOp, CrossEntropyGradOp>(op))
        return WalkResult::advance();
      emitError(op->getLoc()) << "fuse-attention needs a model that is not "
                                 "differentiated yet, but '"
                              << op->getName() << "' is of a gradient";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
} // namespace act
