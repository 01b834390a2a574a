// SPDX-License-Identifier: Apache-2.0
//
// Runs before the grid is planned. Upstream's patterns move reshapes; this file
// says where they may, and composes the maps of transposes into the reads at
// the end.
#include "passes/act-to-tile/FoldTransposes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/act-to-tile/BlockEvaluator.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// A value that is an argument with its dimensions in another order.
struct Transposed {
  Value argument;
  AffineMap map; // from the dimensions of the result to those of the argument
};

// Only arguments count: they are in memory and can be read in another order.
std::optional<Transposed> transposed(Value v) {
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumResults() != 1)
    return std::nullopt;
  AffineMap in = op.getIndexingMapsArray()[0],
            out = op.getIndexingMapsArray()[1];
  Value source = op.getDpsInputs()[0];
  if (!in.isPermutation() || !out.isPermutation() || !argumentBehind(source) ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return std::nullopt;
  return Transposed{source, in.compose(inversePermutation(out))};
}

bool isOfTransposed(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  auto op = v.getDefiningOp<linalg::GenericOp>();
  if (!op || !seen.insert(op).second)
    return false;
  return transposed(v) || llvm::any_of(op.getDpsInputs(), [&](Value input) {
           return isOfTransposed(input, seen);
         });
}

/// Whether a sum reads `v` or an elementwise function of it, possibly reshaped.
bool isSummed(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (op && op.getNumReductionLoops())
      return true;
    return (op ? linalg::isElementwise(op)
               : isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user)) &&
           isSummed(user->getResult(0));
  });
}

/// Whether `v` is computed element by element from untransposed arguments.
bool isOfArguments(Value v) {
  if (argumentBehind(v))
    return true;
  auto op = v.getDefiningOp<linalg::GenericOp>();
  return op && !transposed(v) && linalg::isElementwise(op) &&
         llvm::all_of(op.getDpsInputs(), isOfArguments);
}

/// Whether it is such a computation and feeds a sum.
bool isPrologue(Value v) {
  return v.getDefiningOp<linalg::GenericOp>() && isOfArguments(v) &&
         isSummed(v);
}

/// Inserts columns of heads next to others (queries, keys and values as one
/// tensor) in the shape of heads.
struct InsertExpanded : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &b) const override {
    auto collapse = op.getSource().getDefiningOp<tensor::CollapseShapeOp>();
    llvm::SmallPtrSet<Operation *, 8> seen;
    if (!collapse || !isOfTransposed(collapse.getSrc(), seen) ||
        op.getSourceType().getRank() != op.getDestType().getRank() ||
        !op.hasUnitStride() ||
        llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
      return failure();
    auto groups = collapse.getReassociationIndices();
    SmallVector<OpFoldResult> offsets, sizes, strides;
    SmallVector<int64_t> shape;
    for (auto [d, group] : llvm::enumerate(groups)) {
      int64_t rest = 1;
      for (int64_t i : ArrayRef(group).drop_front())
        rest *= collapse.getSrcType().getDimSize(i);
      int64_t offset = op.getStaticOffsets()[d],
              size = op.getDestType().getDimSize(d);
      if (offset % rest || size % rest)
        return failure();
      for (int64_t i : group) {
        bool isFirst = i == group.front();
        int64_t own = collapse.getSrcType().getDimSize(i);
        shape.push_back(isFirst ? size / rest : own);
        offsets.push_back(b.getIndexAttr(isFirst ? offset / rest : 0));
        sizes.push_back(b.getIndexAttr(own));
        strides.push_back(b.getIndexAttr(1));
      }
    }
    Location loc = op.getLoc();
    RankedTensorType wide = op.getDestType().clone(shape);
    Value dest = op.getDest();
    if (dest.getDefiningOp<tensor::EmptyOp>())
      dest = tensor::EmptyOp::create(b, loc, shape, wide.getElementType());
    else
      dest = tensor::ExpandShapeOp::create(b, loc, wide, dest, groups);
    Value inserted = tensor::InsertSliceOp::create(
        b, loc, collapse.getSrc(), dest, offsets, sizes, strides);
    b.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(), inserted,
                                                  groups);
    return success();
  }
};

} // namespace

// Three steps: reshapes go to where the product reads the transposed argument,
// prologues take the product's shape, and at last the maps of transposes are
// composed into those of their readers.
LogicalResult act::tile::foldTransposes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        // Split tensors are split in their own shape.
        if (isa<tensor::ExpandShapeOp>(operand->getOwner()))
          return transposed(operand->get()) || isPrologue(operand->get());
        auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
        llvm::SmallPtrSet<Operation *, 8> seen;
        return collapse && isa<linalg::GenericOp>(operand->getOwner()) &&
               isOfTransposed(collapse.getSrc(), seen);
      });
  patterns.add<InsertExpanded>(context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  // A prologue gets the product's rows before it is computed. A separate step:
  // expansion leaves a reshape that would be folded back.
  RewritePatternSet collapses(context);
  linalg::populateFoldReshapeOpsByCollapsingPatterns(
      collapses, [](OpOperand *operand) {
        return isa<tensor::CollapseShapeOp>(operand->getOwner()) &&
               isPrologue(operand->get());
      });
  if (failed(applyPatternsGreedily(function, std::move(collapses))))
    return failure();
  // Element counts whose dimension was split in two.
  function.walk([](affine::AffineApplyOp op) {
    OpBuilder b(op);
    auto numbers = affine::expandAffineMap(b, op.getLoc(), op.getAffineMap(),
                                           op.getMapOperands());
    if (!numbers)
      return;
    op.replaceAllUsesWith(numbers->front());
    op.erase();
  });
  function.walk([&](linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand *input : op.getDpsInputOperands())
      if (auto from = transposed(input->get())) {
        AffineMap &map = maps[input->getOperandNumber()];
        map = from->map.compose(map);
        input->set(from->argument);
      }
    op.setIndexingMapsAttr(Builder(context).getAffineMapArrayAttr(maps));
  });
  return success();
}
