// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/GatherForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/raise/Maker.h"
#include "passes/raise/MaskForm.h"

using namespace mlir;
using namespace act;

std::optional<GatherForm> act::gatherOf(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || !generic.hasPureTensorSemantics() ||
      generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  Block *body = generic.getBody();
  auto extract =
      body->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!extract || !isa<RankedTensorType>(extract.getTensor().getType()) ||
      extract.getTensor().getParentBlock() == body)
    return std::nullopt;
  GatherForm gather{extract.getTensor(), {}};
  for (Value v : extract.getIndices()) {
    while (Operation *def = v.getDefiningOp()) {
      if (!isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
               arith::TruncIOp>(def))
        break;
      v = def->getOperand(0);
    }
    GatherForm::Index index;
    APInt constant;
    if (auto argument = dyn_cast<BlockArgument>(v);
        argument && argument.getOwner() == body) {
      OpOperand *operand = generic.getMatchingOpOperand(argument);
      if (!generic.isDpsInput(operand) ||
          !isa<RankedTensorType>(operand->get().getType()))
        return std::nullopt;
      index.ids =
          readBy(generic.getMatchingIndexingMap(operand), operand->get());
      if (!index.ids)
        return std::nullopt;
      for (unsigned d : index.ids->present())
        if (countsAlong(*index.ids, d, generic.getNumLoops())) {
          index.loop = d;
          index.ids.reset();
          break;
        }
    } else if (auto loop = v.getDefiningOp<linalg::IndexOp>()) {
      index.loop = loop.getDim();
    } else if (matchPattern(v, m_ConstantInt(&constant))) {
      index.number = constant.getSExtValue();
    } else {
      return std::nullopt;
    }
    gather.at.push_back(index);
  }
  return gather;
}

/// Rows' numbers, for the first dimensions of the table and of the result.
static Value rowNumbers(linalg::GenericOp op, const GatherForm &gather,
                        ArrayRef<int64_t> shape, unsigned tableDims,
                        Maker &make) {
  OpBuilder &b = make.b;
  const unsigned rank = shape.size();
  SmallVector<GatherForm::Index> at(gather.at.begin(),
                                    gather.at.begin() + tableDims);
  auto sizes = typeOf(gather.table).getShape();
  // Often these are the ids themselves.
  SmallVector<unsigned> varying;
  for (auto [d, index] : llvm::enumerate(at))
    if (sizes[d] != 1)
      varying.push_back(d);
  if (varying.size() == 1 && at[varying[0]].ids) {
    const Read &ids = *at[varying[0]].ids;
    Type type = typeOf(ids.value).getElementType();
    if (type.isInteger(32) || type.isInteger(64))
      return make.expanded(make.aligned(ids, rank), shape);
  }
  Type type = b.getI64Type();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (auto &index : at)
    if (index.ids) {
      inputs.push_back(index.ids->value);
      SmallVector<AffineExpr> exprs;
      for (auto d : index.ids->dims)
        exprs.push_back(d ? b.getAffineDimExpr(*d)
                          : b.getAffineConstantExpr(0));
      maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
    }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  Value empty = tensor::EmptyOp::create(b, make.loc, shape, type);
  return linalg::GenericOp::create(
             b, make.loc, TypeRange(empty.getType()), inputs, ValueRange(empty),
             maps,
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [&](OpBuilder &inner, Location loc, ValueRange arguments) {
               auto integer = [&](int64_t n) -> Value {
                 return arith::ConstantOp::create(
                     inner, loc, inner.getIntegerAttr(type, n));
               };
               unsigned next = 0;
               Value row = integer(0);
               for (auto [d, index] : llvm::enumerate(at)) {
                 Value v;
                 if (index.ids) {
                   v = arguments[next++];
                   // Each index is the nearest one inside.
                   Type own = v.getType();
                   auto bound = [&](int64_t n) -> Value {
                     return arith::ConstantOp::create(
                         inner, loc, inner.getIntegerAttr(own, n));
                   };
                   v = arith::MaxSIOp::create(inner, loc, v, bound(0));
                   v = arith::MinSIOp::create(inner, loc, v,
                                              bound(sizes[d] - 1));
                   if (v.getType().getIntOrFloatBitWidth() < 64)
                     v = arith::ExtSIOp::create(inner, loc, type, v);
                 } else if (index.loop) {
                   v = arith::IndexCastOp::create(
                       inner, loc, type,
                       linalg::IndexOp::create(inner, loc, *index.loop));
                 } else {
                   v = integer(index.number);
                 }
                 row =
                     arith::MulIOp::create(inner, loc, row, integer(sizes[d]));
                 row = arith::AddIOp::create(inner, loc, row, v);
               }
               linalg::YieldOp::create(inner, loc, row);
             })
      .getResult(0);
}

Value act::embeddingFor(linalg::GenericOp op, const GatherForm &gather,
                        Maker &make) {
  auto table = typeOf(gather.table), type = typeOf(op.getResult(0));
  if (!isActType(table) || !isActType(type) ||
      !isa<FloatType>(table.getElementType()) ||
      llvm::any_of(gather.at, [](const GatherForm::Index &index) {
        return index.ids && !isActType(index.ids->value.getType());
      }))
    return {};
  // The last dimensions that are the result's last ones.
  int64_t width = 1;
  unsigned tableDims = table.getRank(), dims = type.getRank();
  while (tableDims && dims && gather.at[tableDims - 1].loop == dims - 1 &&
         table.getDimSize(tableDims - 1) == type.getDimSize(dims - 1)) {
    width *= type.getDimSize(--dims);
    --tableDims;
  }
  // None of the row's dimensions is read elsewhere.
  for (unsigned d = 0; d < tableDims; ++d) {
    const auto &index = gather.at[d];
    if ((index.loop && *index.loop >= dims) ||
        (index.ids && llvm::any_of(index.ids->present(),
                                   [&](unsigned i) { return i >= dims; })))
      return {};
  }
  if (width == table.getNumElements() && width == type.getNumElements())
    return make.reshaped(gather.table, type.getShape()); // all rows, in order
  Value ids =
      rowNumbers(op, gather, type.getShape().take_front(dims), tableDims, make);
  SmallVector<int64_t> shape(type.getShape().take_front(dims));
  shape.push_back(width);
  Value rows =
      make.reshaped(gather.table, {table.getNumElements() / width, width});
  return make.reshaped(EmbeddingOp::create(make.b, make.loc,
                                           make.shaped(type, shape), rows, ids,
                                           IntegerAttr()),
                       type.getShape());
}
