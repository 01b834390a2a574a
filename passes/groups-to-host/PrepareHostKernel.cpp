// SPDX-License-Identifier: Apache-2.0
//
// Brings kernels of any origin to one form, so that later passes need to know
// linalg.generic and fills only: elementwise ops are in their consumer,
// booleans are bytes, reshapes are at the function's border, and (b, s) is one
// dimension of rows.
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/InPlaceOperands.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_PREPAREHOSTKERNELPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

bool isBoolTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isInteger(1);
}

Type toByteTensor(Type type) {
  if (!isBoolTensor(type))
    return type;
  return cast<RankedTensorType>(type).clone(
      IntegerType::get(type.getContext(), 8));
}

Value toByte(OpBuilder &builder, Location loc, Value bit) {
  return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), bit);
}

void useAsBit(OpBuilder &builder, Location loc, Value byte) {
  Value bit = arith::TruncIOp::create(builder, loc, builder.getI1Type(), byte);
  byte.replaceAllUsesExcept(bit, bit.getDefiningOp());
}

/// Vectors of i1 are packed in LLVM while our tensors hold a byte per element,
/// so everything in memory becomes i8 and only values in registers stay i1:
///
///     linalg.generic ins(%m : tensor<8xi8>) ..  {
///       ^bb0(%byte: i8, ..):  %bit = arith.trunci %byte : i8 to i1 ..
void convertBoolTensors(func::FuncOp func) {
  OpBuilder builder(func.getContext());
  func.walk([&](Operation *op) {
    Location loc = op->getLoc();
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      Block *body = generic.getBody();
      builder.setInsertionPointToStart(body);
      for (OpOperand &operand : generic->getOpOperands()) {
        BlockArgument arg = generic.getMatchingBlockArgument(&operand);
        if (arg.getType().isInteger(1)) {
          arg.setType(builder.getI8Type());
          useAsBit(builder, loc, arg);
        }
      }
      Operation *yield = body->getTerminator();
      builder.setInsertionPoint(yield);
      for (OpOperand &value : yield->getOpOperands())
        if (value.get().getType().isInteger(1))
          value.set(toByte(builder, loc, value.get()));
    } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      Value value = fill.getInputs()[0];
      if (value.getType().isInteger(1)) {
        builder.setInsertionPoint(op);
        op->setOperand(0, toByte(builder, loc, value));
        for (BlockArgument arg : fill.getBlock()->getArguments())
          arg.setType(builder.getI8Type());
      }
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      if (extract.getType().isInteger(1)) {
        extract.getResult().setType(builder.getI8Type());
        builder.setInsertionPointAfter(op);
        useAsBit(builder, loc, extract.getResult());
      }
    } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
      if (insert.getScalar().getType().isInteger(1)) {
        builder.setInsertionPoint(op);
        op->setOperand(0, toByte(builder, loc, insert.getScalar()));
      }
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
      if (dense && isBoolTensor(dense.getType()))
        constant.setValueAttr(cast<TypedAttr>(
            dense.mapValues(builder.getI8Type(),
                            [](const APInt &value) { return value.zext(8); })));
    }
    for (Value result : op->getResults())
      result.setType(toByteTensor(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument arg : block.getArguments())
          arg.setType(toByteTensor(arg.getType()));
  });
  SmallVector<Type> inputs, results;
  for (Type type : func.getFunctionType().getInputs())
    inputs.push_back(toByteTensor(type));
  for (Type type : func.getFunctionType().getResults())
    results.push_back(toByteTensor(type));
  func.setFunctionType(FunctionType::get(func.getContext(), inputs, results));
}

/// linalg.fill stays: bufferization and fusion know it as an initial value.
LogicalResult generalize(func::FuncOp func) {
  SmallVector<linalg::LinalgOp> named;
  func.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op))
      named.push_back(op);
  });
  IRRewriter rewriter(func.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op->emitOpError("has no generic form");
  }
  return success();
}

bool goesBackwards(AffineMap map) {
  bool backwards = false;
  map.walkExprs([&](AffineExpr e) {
    if (e.getKind() == AffineExprKind::Mul)
      if (auto factor = dyn_cast<AffineConstantExpr>(
              cast<AffineBinaryOpExpr>(e).getRHS()))
        backwards |= factor.getValue() < 0;
  });
  return backwards;
}

/// An operand that is read from its end on: a tile of it is no slice that the
/// same map reads. What an iteration reads becomes a tensor over the loops of
/// the map, made by an op whose body extracts elements, which the reader fuses.
///
///   ins(%x : (i, j) -> (i, 7 - j))    =>    %t[i, j] = %x[i, 7 - j]
///                                           ins(%t : (i, j) -> (i, j))
void extractReversed(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops;
  func.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  OpBuilder b(func.getContext());
  for (linalg::GenericOp op : ops) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      if (!goesBackwards(map))
        continue;
      SmallVector<AffineExpr> loops, own(map.getNumDims());
      SmallVector<int64_t> shape;
      for (unsigned d = 0; d < map.getNumDims(); ++d) {
        if (!map.isFunctionOfDim(d))
          continue;
        own[d] = b.getAffineDimExpr(loops.size());
        loops.push_back(b.getAffineDimExpr(d));
        shape.push_back(ranges[d]);
      }
      b.setInsertionPoint(op);
      Location loc = op.getLoc();
      auto type = cast<RankedTensorType>(input->get().getType());
      Value empty =
          tensor::EmptyOp::create(b, loc, shape, type.getElementType());
      SmallVector<utils::IteratorType> parallel(shape.size(),
                                                utils::IteratorType::parallel);
      auto read = linalg::GenericOp::create(
          b, loc, TypeRange{empty.getType()}, ValueRange(), ValueRange{empty},
          b.getMultiDimIdentityMap(shape.size()), parallel,
          [&](OpBuilder &inner, Location loc, ValueRange) {
            SmallVector<Value> indices, at;
            for (unsigned d = 0; d < shape.size(); ++d)
              indices.push_back(linalg::IndexOp::create(inner, loc, d));
            for (AffineExpr e : map.getResults())
              at.push_back(affine::AffineApplyOp::create(
                  inner, loc,
                  AffineMap::get(shape.size(), 0, e.replaceDims(own)),
                  indices));
            Value v = tensor::ExtractOp::create(inner, loc, input->get(), at);
            linalg::YieldOp::create(inner, loc, v);
          });
      input->set(read.getResult(0));
      maps[input->getOperandNumber()] =
          AffineMap::get(map.getNumDims(), 0, loops, func.getContext());
    }
    op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  }
}

/// Not worth repeating: functions, and what takes as long.
bool isExpensive(Operation *op) {
  return op->getName().getDialectNamespace() == "math" ||
         isa<arith::DivFOp, arith::RemFOp>(op);
}

/// An elementwise producer moves into its only consumer, unless it would be
/// evaluated more often there and is not cheap.
bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  if (isa<linalg::FillOp>(producer))
    return true;
  if (!operand->get().hasOneUse())
    return false;
  // Packing applies a function of one value; anything wider would turn the
  // product into plain loops that compute its operand again and again.
  if (consumer.getNumReductionLoops() &&
      succeeded(linalg::inferContractionDims(consumer)))
    return producer.getNumDpsInputs() == 1 && producer->getNumResults() == 1 &&
           llvm::none_of(producer.getBlock()->without_terminator(),
                         [](Operation &op) {
                           return isa<linalg::IndexOp, tensor::ExtractOp>(op) ||
                                  isExpensive(&op);
                         });
  if (producer.getNumLoops() >= consumer.getNumLoops())
    return true;
  return llvm::none_of(producer.getBlock()->without_terminator(),
                       [](Operation &op) { return isExpensive(&op); });
}

/// Upstream's fusion, with this file's choice of what to fuse.
LogicalResult fuseElementwise(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
  // A reshape between two operations moves to the function's border, where it
  // is free.
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        Operation *def = operand->get().getDefiningOp();
        if (!def)
          return false;
        if (isa<tensor::ExpandShapeOp>(operand->getOwner()))
          return llvm::any_of(
              operand->getOwner()->getUsers(),
              [](Operation *u) { return isa<linalg::LinalgOp>(u); });
        Value source = def->getNumOperands() ? def->getOperand(0) : Value();
        return source && source.getDefiningOp<linalg::LinalgOp>();
      });
  linalg::populateConstantFoldLinalgOperations(
      patterns, [](OpOperand *) { return true; });
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  context->getLoadedDialect<linalg::LinalgDialect>()
      ->getCanonicalizationPatterns(patterns);
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal();
  return applyPatternsGreedily(func, std::move(patterns), config);
}

/// How many leading iteration dimensions of `op` every operand either starts
/// with, in order, or lacks, and the body does not use.
unsigned commonLeadingDims(linalg::LinalgOp op) {
  unsigned count = 0, loops = op.getNumLoops();
  auto iterators = op.getIteratorTypesArray();
  while (count < loops && iterators[count] == iterators[0])
    ++count;
  // collapseOpIterationDims knows dimensions alone, no index 0 of a dimension
  // of size 1.
  if (!llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return 0;
  for (AffineMap map : op.getIndexingMapsArray()) {
    unsigned leading = 0;
    while (leading < std::min(count, map.getNumResults()) &&
           map.getResult(leading) == getAffineDimExpr(leading, op.getContext()))
      ++leading;
    bool absent = true;
    for (AffineExpr result : map.getResults())
      for (unsigned d = 0; d < count; ++d)
        absent &= !result.isFunctionOfDim(d);
    if (absent)
      continue;
    for (unsigned i = leading; i < map.getNumResults(); ++i)
      for (unsigned d = 0; d < leading; ++d)
        if (map.getResult(i).isFunctionOfDim(d))
          return 0;
    count = std::min(count, leading);
  }
  // A map without the shortened prefix may still hold part of it.
  for (AffineMap map : op.getIndexingMapsArray()) {
    bool starts = count && map.getNumResults() >= count;
    for (unsigned i = 0; starts && i < count; ++i)
      starts &= map.getResult(i) == getAffineDimExpr(i, op.getContext());
    bool absent = true;
    for (AffineExpr result : map.getResults())
      for (unsigned d = 0; d < count; ++d)
        absent &= !result.isFunctionOfDim(d);
    if (!starts && !absent)
      return 0;
  }
  bool asks = false;
  op.getBlock()->walk(
      [&](linalg::IndexOp index) { asks |= index.getDim() < count; });
  return asks ? 0 : count;
}

/// Collapses the leading dimensions that all operations share, when the
/// reshapes this makes cancel everywhere but at the function's border. Whether
/// they cancel shows only afterwards, so it is done on a clone, which replaces
/// the body if it works out.
void collapseLeadingDims(func::FuncOp original) {
  OwningOpRef<func::FuncOp> collapsed = original.clone();
  func::FuncOp func = *collapsed;
  unsigned common = 64;
  bool plain = true;
  func.walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      if (auto fill = dyn_cast<linalg::FillOp>(op))
        return;
      common = std::min(common, commonLeadingDims(linalgOp));
    } else if (!isa<func::FuncOp, func::ReturnOp, tensor::EmptyOp,
                    linalg::YieldOp>(op) &&
               op->getParentOp() == func) {
      plain &= op->getNumResults() == 1 &&
               !isa<ShapedType>(op->getResult(0).getType());
    }
  });
  if (!plain || common < 2 || common == 64)
    return;
  ReassociationIndices group;
  for (unsigned i = 0; i < common; ++i)
    group.push_back(i);
  SmallVector<linalg::LinalgOp> ops;
  func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(func.getContext());
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (op.getNumLoops() < common)
      continue; // a fill of something without these dimensions
    auto result = linalg::collapseOpIterationDims(op, group, rewriter);
    if (failed(result))
      return;
    rewriter.replaceOp(op, result->results);
  }
  RewritePatternSet cleanup(func.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(cleanup,
                                                     func.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(cleanup,
                                                       func.getContext());
  tensor::EmptyOp::getCanonicalizationPatterns(cleanup, func.getContext());
  tensor::populateFoldTensorEmptyPatterns(cleanup);
  linalg::FillOp::getCanonicalizationPatterns(cleanup, func.getContext());
  (void)applyPatternsGreedily(func, std::move(cleanup));
  bool atBorder = true;
  func.walk([&](Operation *op) {
    if (isa<tensor::CollapseShapeOp>(op))
      atBorder &= isa<BlockArgument>(op->getOperand(0));
    if (isa<tensor::ExpandShapeOp>(op))
      atBorder &= llvm::all_of(op->getUsers(), [](Operation *user) {
        return isa<func::ReturnOp>(user);
      });
  });
  if (!atBorder)
    return;
  original.getBody().takeBody(func.getBody());
}

struct PrepareHostKernel
    : act::impl::PrepareHostKernelPassBase<PrepareHostKernel> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (failed(act::checkTensorKernel(func)) || failed(generalize(func)))
        return signalPassFailure();
      extractReversed(func);
      convertBoolTensors(func);
      (void)fuseElementwise(func);
      collapseLeadingDims(func);
      act::readInPlaceOperandsThroughOutputs(func);
    }
  }
};

} // namespace
