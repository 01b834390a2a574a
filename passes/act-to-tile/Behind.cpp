// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/Behind.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/BlockEvaluator.h"

using namespace mlir;
using namespace act::tile;

Dims act::tile::throughMap(AffineMap map, ArrayRef<int> loops) {
  Dims out;
  for (AffineExpr e : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    out.push_back(dim ? loops[dim.getPosition()] : -1);
  }
  return out;
}

/// The root's dimension of each loop of `op`, given those of a result.
static Dims loopsOf(linalg::GenericOp op, unsigned result, ArrayRef<int> dims) {
  Dims loops(op.getNumLoops(), -1);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [e, d] : llvm::zip(map.getResults(), dims))
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      loops[dim.getPosition()] = d;
  return loops;
}

void act::tile::visitBehind(Value v, const Dims &dims,
                            llvm::DenseMap<Value, Dims> &seen,
                            function_ref<bool(linalg::GenericOp, Dims &)> visit,
                            llvm::DenseMap<int, Digits> *digits) {
  if (!seen.insert({v, dims}).second)
    return;
  Operation *op = v.getDefiningOp();
  if (!op)
    return;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    Dims loops = loopsOf(generic, cast<OpResult>(v).getResultNumber(), dims);
    if (!visit(generic, loops))
      return;
    for (OpOperand *input : inputsAlong(generic))
      if (isa<RankedTensorType>(input->get().getType()))
        visitBehind(input->get(),
                    throughMap(generic.getMatchingIndexingMap(input), loops),
                    seen, visit, digits);
    return;
  }
  // Where several dimensions become one, the innermost longer than one stands
  // for it.
  Dims moved;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      int d = dims[group.back()];
      Digits own;
      for (int64_t i : group) {
        int64_t size = expand.getResultType().getDimSize(i);
        if (size == 1)
          continue;
        d = dims[i];
        if (own.outer < 0 && own.width == 1 && d >= 0)
          own.outer = d;
        else
          own.width *= size;
      }
      if (digits && own.width > 1 && d >= 0)
        (*digits)[d] = own;
      moved.push_back(d);
    }
    return visitBehind(expand.getSrc(), moved, seen, visit, digits);
  }
  // A slice of a dimension is along none of the root's.
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && slice.getSourceType().getRank() == int64_t(dims.size())) {
    moved = dims;
    for (auto [d, part, whole] : llvm::zip(moved, slice.getType().getShape(),
                                           slice.getSourceType().getShape()))
      if (part != whole)
        d = -1;
    return visitBehind(slice.getSource(), moved, seen, visit, digits);
  }
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return;
  moved.assign(collapse.getSrcType().getRank(), -1);
  for (auto [d, group] : llvm::zip(dims, collapse.getReassociationIndices())) {
    SmallVector<int64_t> wide;
    for (int64_t i : group)
      if (collapse.getSrcType().getDimSize(i) > 1)
        wide.push_back(i);
    if (wide.size() <= 1)
      moved[wide.empty() ? group.back() : wide[0]] = d;
  }
  visitBehind(collapse.getSrc(), moved, seen, visit, digits);
}

void act::tile::visitBehind(
    Value root, function_ref<bool(linalg::GenericOp, Dims &)> visit) {
  llvm::DenseMap<Value, Dims> seen;
  visitBehind(root, identity(root), seen, visit);
}

Dims act::tile::identity(Value root) {
  return llvm::to_vector(llvm::seq<int>(0, shapeOf(root).size()));
}

std::optional<ProductShape> act::tile::anyProductBehind(Value root) {
  std::optional<ProductShape> found, partial;
  llvm::DenseMap<Value, Dims> seen;
  llvm::DenseMap<int, Digits> digits;
  visitBehind(
      root, identity(root), seen,
      [&](linalg::GenericOp op, const Dims &loops) {
        if (found)
          return false;
        auto factors = factorsOf(op);
        if (!factors)
          return true;
        ProductShape p;
        p.along = loops;
        int *of[2] = {&p.rows, &p.columns};
        SmallVector<int64_t> ranges = op.getStaticLoopRanges();
        for (int i : {0, 1}) {
          int64_t longest = 0;
          AffineMap own = op.getIndexingMapsArray()[i],
                    other = op.getIndexingMapsArray()[1 - i];
          for (AffineExpr e : own.getResults())
            for (unsigned d = 0; d < ranges.size(); ++d) {
              // Pixels of a convolution are in a sum with its window's. Of two
              // equal ones the last is adjacent in memory.
              const bool isLonger = isa<AffineDimExpr>(e)
                                        ? ranges[d] > longest
                                        : ranges[d] >= longest;
              if (!e.isFunctionOfDim(d) || other.isFunctionOfDim(d) ||
                  !isLonger)
                continue;
              longest = ranges[d];
              *of[i] = loops[d];
            }
          p.computed |= hasProduct(op.getDpsInputs()[i]);
        }
        p.isWide = llvm::all_of(inputsAlong(op), [](OpOperand *input) {
          return getElementTypeOrSelf(input->get().getType()).isF32();
        });
        if (p.rows < 0 || p.columns < 0) {
          if (!partial)
            partial = p;
          return true;
        }
        p.digits = digits.lookup(p.columns);
        found = p;
        return false;
      },
      &digits);
  return found ? found : partial;
}

std::optional<ProductShape> act::tile::productBehind(Value root) {
  auto p = anyProductBehind(root);
  return p && p->hasSides() ? p : std::nullopt;
}

RowSums act::tile::rowSums(Value root) {
  RowSums found = RowSums::None;
  int last = shapeOf(root).size() - 1;
  visitBehind(root, [&](linalg::GenericOp op, const Dims &loops) {
    if (found == RowSums::None && op.getNumReductionLoops() > 0)
      found =
          llvm::is_contained(loops, last) ? RowSums::Beside : RowSums::Along;
    return found == RowSums::None;
  });
  return found;
}

SmallVector<Value> act::tile::nearestProducts(ValueRange values) {
  SetVector<Value> products;
  for (Value v : values)
    visitBehind(unshaped(v), [&](linalg::GenericOp op, const Dims &) {
      if (!factorsOf(op))
        return true;
      products.insert(op.getResult(0));
      return false;
    });
  return products.takeVector();
}

bool act::tile::sumsProducts(ValueRange values) {
  bool found = false;
  for (Value v : values)
    visitBehind(unshaped(v), [&](linalg::GenericOp op, const Dims &) {
      found |= op.getNumReductionLoops() > 0 && !factorsOf(op) &&
               llvm::any_of(op.getDpsInputs(),
                            [](Value input) { return hasProduct(input); });
      return !found;
    });
  return found;
}

bool act::tile::drawsNumbers(linalg::GenericOp op) {
  return !op.getBody()->getOps<arith::MulUIExtendedOp>().empty();
}

bool act::tile::isHalf(Value v) {
  Type element = getElementTypeOrSelf(v.getType());
  return element.isBF16() || element.isF16();
}

Value act::tile::unshaped(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}
