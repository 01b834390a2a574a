// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/NormalForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/raise/GatherForm.h"
#include "passes/raise/LinalgForm.h"

using namespace mlir;
using namespace act;

bool act::hasTosa(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa_and_present<tosa::TosaDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void act::joinTosaConcats(func::FuncOp function) {
  IRRewriter b(function.getContext());
  function.walk([&](tosa::ConcatOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || !type.hasStaticShape())
      return;
    b.setInsertionPoint(op);
    b.replaceOpWithNewOp<tensor::ConcatOp>(op, type, op.getAxis(),
                                           op.getInput1());
  });
}

void act::eraseUnread(func::FuncOp function) {
  IRRewriter b(function.getContext());
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op))
      b.eraseOp(op);
  });
}

void act::mergeEqualOps(func::FuncOp function) {
  IRRewriter b(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(b, dominance, function);
}

static FloatAttr rounded(FloatAttr wide, FloatType type) {
  bool loses;
  llvm::APFloat value = wide.getValue();
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &loses);
  return FloatAttr::get(type, value);
}

/// Constants that are cast to a narrower type, which upstream folds only if
/// they fit.
static void roundConstants(func::FuncOp function) {
  IRRewriter b(function.getContext());
  function.walk([&](arith::TruncFOp op) {
    FloatAttr wide;
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type || !matchPattern(op.getIn(), m_Constant(&wide)))
      return;
    b.setInsertionPoint(op);
    b.replaceOpWithNewOp<arith::ConstantOp>(op, rounded(wide, type));
  });
}

/// Importers assert that indices are inside. Those of act.embedding are taken
/// to be the nearest ones.
static void removeAssertions(func::FuncOp function) {
  SmallVector<cf::AssertOp> all;
  function.walk([&](cf::AssertOp op) {
    if (op->getParentOfType<linalg::GenericOp>())
      all.push_back(op);
  });
  for (cf::AssertOp op : all)
    op.erase();
  eraseUnread(function);
}

/// A reduction of what its body casts first, as two ops.
static void splitCast(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() == 0 ||
      !op.getIndexingMapsArray()[0].isIdentity())
    return;
  Operation &cast = op.getBody()->front();
  BlockArgument in = op.getBody()->getArgument(0);
  if (!isa<arith::ExtFOp, arith::ExtUIOp, arith::ExtSIOp, arith::UIToFPOp,
           arith::SIToFPOp>(cast) ||
      cast.getOperand(0) != in || !in.hasOneUse())
    return;
  OpBuilder b(op);
  auto type = typeOf(op.getInputs()[0]);
  Type wide = cast.getResult(0).getType();
  Value empty = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(), wide);
  AffineMap map = b.getMultiDimIdentityMap(type.getRank());
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), TypeRange(empty.getType()), op.getInputs(),
      ValueRange(empty), ArrayRef<AffineMap>{map, map},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        Operation *own = inner.clone(cast);
        own->setOperand(0, arguments[0]);
        linalg::YieldOp::create(inner, loc, own->getResult(0));
      });
  op.setOperand(0, made.getResult(0));
  in.setType(wide);
  cast.getResult(0).replaceAllUsesWith(in);
  cast.erase();
}

namespace {
/// outer * factor + inner
struct Window {
  unsigned outer, inner;
  int64_t factor;
};
} // namespace
static std::optional<Window> windowOf(AffineExpr e) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(e);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto product = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
  auto inner = dyn_cast<AffineDimExpr>(sum.getRHS());
  if (!product || product.getKind() != AffineExprKind::Mul || !inner)
    return std::nullopt;
  auto outer = dyn_cast<AffineDimExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!outer || !factor)
    return std::nullopt;
  return Window{outer.getPosition(), inner.getPosition(), factor.getValue()};
}

/// Inputs that are read at outer * n + inner, for an inner dimension of n: they
/// have both dimensions.
static void splitWindows(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool isChanged = false;
  for (auto [i, map] : llvm::enumerate(ArrayRef(maps).drop_back())) {
    auto type = dyn_cast<RankedTensorType>(op.getInputs()[i].getType());
    if (!type || !type.hasStaticShape())
      continue;
    SmallVector<AffineExpr> exprs;
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    for (auto [size, e] : llvm::zip_equal(type.getShape(), map.getResults())) {
      auto window = windowOf(e);
      groups.emplace_back();
      auto add = [&](AffineExpr own, int64_t n) {
        groups.back().push_back(exprs.size());
        exprs.push_back(own);
        shape.push_back(n);
      };
      if (window && window->factor == sizes[window->inner] &&
          size == sizes[window->outer] * window->factor) {
        add(getAffineDimExpr(window->outer, op.getContext()),
            sizes[window->outer]);
        add(getAffineDimExpr(window->inner, op.getContext()), window->factor);
      } else {
        add(e, size);
      }
    }
    if (exprs.size() == map.getNumResults())
      continue;
    OpBuilder b(op);
    op->setOperand(i, tensor::ExpandShapeOp::create(
                          b, op.getLoc(),
                          RankedTensorType::get(shape, type.getElementType()),
                          op.getInputs()[i], groups));
    maps[i] = AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
    isChanged = true;
  }
  if (isChanged)
    op.setIndexingMapsAttr(OpBuilder(op).getAffineMapArrayAttr(maps));
}

/// Loops in the order of the input's dimensions.
static void orderLoops(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() == 0)
    return;
  AffineMap map = op.getIndexingMapsArray()[0];
  if (!map.isPermutation() || map.isIdentity())
    return;
  SmallVector<unsigned> order;
  for (AffineExpr e : map.getResults())
    order.push_back(cast<AffineDimExpr>(e).getPosition());
  IRRewriter b(op.getContext());
  b.setInsertionPoint(op);
  (void)linalg::interchangeGenericOp(b, op, order);
}

/// The element that a scalar of the body always is; null if it is not known.
static Attribute constantOf(linalg::GenericOp op, Value v) {
  TypedAttr constant;
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    if (argument.getOwner() != op.getBody() ||
        argument.getArgNumber() >= op.getNumDpsInputs())
      return {};
    auto read =
        readBy(op.getMatchingIndexingMap(op.getMatchingOpOperand(argument)),
               op.getInputs()[argument.getArgNumber()]);
    if (!isa<RankedTensorType>(
            op.getInputs()[argument.getArgNumber()].getType()) ||
        !read)
      return {};
    Value source = lookThrough(*read).value;
    if (auto fill = source.getDefiningOp<linalg::FillOp>())
      return matchPattern(fill.getInputs()[0], m_Constant(&constant))
                 ? constant
                 : Attribute();
    DenseElementsAttr elements;
    if (matchPattern(source, m_Constant(&elements)) && elements.isSplat())
      return elements.getSplatValue<Attribute>();
    return {};
  }
  return matchPattern(v, m_Constant(&constant)) ? constant : Attribute();
}

/// An elementwise op of numbers is a constant, and a choice by a number passes
/// one operand on.
static void foldNumbers(linalg::GenericOp op) {
  if (op.getNumReductionLoops() ||
      !op.getIndexingMapsArray().back().isIdentity())
    return;
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  Operation *yield = op.getBody()->getTerminator();
  Value yielded = yield->getOperand(0);
  auto replace = [&](Attribute element) {
    if (!type || !type.hasStaticShape() ||
        !isa<FloatAttr, IntegerAttr>(element))
      return;
    OpBuilder b(op);
    op.getResult(0).replaceAllUsesWith(arith::ConstantOp::create(
        b, op.getLoc(), DenseElementsAttr::get(type, element)));
  };
  Operation *scalar = yielded.getDefiningOp();
  if (!scalar || scalar->getBlock() != op.getBody()) {
    if (Attribute element = constantOf(op, yielded);
        element && !isa<BlockArgument>(yielded))
      replace(element);
    return;
  }
  if (!llvm::hasSingleElement(op.getBody()->without_terminator()))
    return;
  if (auto select = dyn_cast<arith::SelectOp>(scalar))
    if (auto condition = dyn_cast_or_null<IntegerAttr>(
            constantOf(op, select.getCondition()))) {
      yield->setOperand(0, condition.getValue().isZero()
                               ? select.getFalseValue()
                               : select.getTrueValue());
      select.erase();
      return;
    }
  SmallVector<Attribute> operands;
  for (Value v : scalar->getOperands())
    operands.push_back(constantOf(op, v));
  SmallVector<OpFoldResult> results;
  if (operands.empty() || llvm::is_contained(operands, Attribute()))
    return;
  if (auto wide = dyn_cast<FloatAttr>(operands.front());
      wide && isa<arith::TruncFOp>(scalar))
    return replace(
        rounded(wide, cast<FloatType>(scalar->getResult(0).getType())));
  if (failed(scalar->fold(operands, results)) || results.size() != 1)
    return;
  if (auto element = dyn_cast<Attribute>(results.front()))
    return replace(element);
  // One of the operands, as in x - 0.
  for (auto [v, element] : llvm::zip_equal(scalar->getOperands(), operands))
    if (v == cast<Value>(results.front()))
      return replace(element);
}

/// Elements of tensors of one number.
static void foldExtracts(func::FuncOp function) {
  IRRewriter b(function.getContext());
  function.walk([&](tensor::ExtractOp op) {
    Value v = op.getTensor();
    while (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        v.getDefiningOp()))
      v = v.getDefiningOp()->getOperand(0);
    DenseElementsAttr elements;
    if (!matchPattern(v, m_Constant(&elements)) || !elements.isSplat())
      return;
    b.setInsertionPoint(op);
    b.replaceOpWithNewOp<arith::ConstantOp>(
        op, elements.getSplatValue<TypedAttr>());
  });
}

/// A copy is what it copies.
static void dropCopy(linalg::GenericOp op) {
  auto argument =
      dyn_cast<BlockArgument>(op.getBody()->getTerminator()->getOperand(0));
  if (op.getNumReductionLoops() || !argument ||
      argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs() ||
      !op.getIndexingMapsArray().back().isIdentity())
    return;
  Value source = op.getInputs()[argument.getArgNumber()];
  if (source.getType() == op.getResult(0).getType() &&
      op.getIndexingMapsArray()[argument.getArgNumber()].isIdentity())
    op.getResult(0).replaceAllUsesWith(source);
}

static void forEachGeneric(func::FuncOp function,
                           function_ref<void(linalg::GenericOp)> rewrite) {
  SmallVector<linalg::GenericOp> all;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op.getNumDpsInits() == 1)
      all.push_back(op);
  });
  for (linalg::GenericOp op : all)
    rewrite(op);
}

LogicalResult act::bringToOneForm(func::FuncOp function) {
  IRRewriter b(function.getContext());
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op) &&
        op.hasPureTensorSemantics())
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    b.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(b, op); // else it stays
  }
  roundConstants(function);
  removeAssertions(function);
  forEachGeneric(function, splitWindows);
  forEachGeneric(function, splitCast);
  function.walk([&](arith::ConstantOp op) {
    if (auto generic = op->getParentOfType<linalg::GenericOp>())
      op->moveBefore(generic);
  });
  RewritePatternSet patterns(function.getContext());
  linalg::populateDecomposeLinalgOpsPattern(patterns);
  SmallVector<Operation *> composed; // a gather is one op
  function.walk([&](linalg::GenericOp op) {
    if (!gatherOf(op))
      composed.push_back(op);
  });
  if (failed(applyOpPatternsGreedily(
          composed, std::move(patterns),
          GreedyRewriteConfig().setStrictness(
              GreedyRewriteStrictness::ExistingAndNewOps))))
    return failure();
  forEachGeneric(function, orderLoops);
  forEachGeneric(function, foldNumbers);
  foldExtracts(function);
  forEachGeneric(function, dropCopy);
  eraseUnread(function);
  mergeEqualOps(function);
  return success();
}
