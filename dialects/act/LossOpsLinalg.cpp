// SPDX-License-Identifier: Apache-2.0
//
// The linalg forms of embeddings and losses. Ids and labels are data that no
// verifier has seen, so each is clamped before it addresses memory.
#include "dialects/act/LinalgBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace act;

static SmallVector<int64_t> firstLoops(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}

// The table is read inside of the body and is no operand of the generic,
// because which row an element reads depends on the data.
LogicalResult EmbeddingOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  Value table = operands[0], ids = operands[1];
  auto type = plainTensor(getResult().getType());
  int64_t last = type.getRank() - 1, vocabulary = shapeOf(table)[0];
  LinalgBuilder l(b, getLoc(), {table.getType()});
  results.push_back(l.map(type.getShape(), {l.at(ids, firstLoops(last))},
                          type.getElementType(), [&](Scalars &s, ValueRange x) {
                            Value row = s.clampedIndex(x[0], vocabulary);
                            Value value = tensor::ExtractOp::create(
                                s.b, s.loc, table,
                                ValueRange{row, s.loop(last)});
                            return convertFloat(s.b, s.loc, value, s.compute);
                          }));
  return success();
}

// Blocks of rows of the table, in parallel. Each goes through all tokens in
// order and adds those for its rows to an accumulator in the computation type
// (f32 for 16-bit tables), rounded once at the end. An id outside the table
// counts as the nearest row, as in the forward op.
LogicalResult EmbeddingGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                             SmallVectorImpl<Value> &results) {
  constexpr int64_t rowsPerBlock = 32;
  Location loc = getLoc();
  auto type = plainTensor(getResult().getType());
  int64_t vocabulary = type.getDimSize(0), n = type.getDimSize(1), tokens = 1;
  for (int64_t size : shapeOf(operands[1]))
    tokens *= size;
  int64_t rows = std::min(rowsPerBlock, vocabulary);
  LinalgBuilder outer(b, loc, {operands[0].getType(), type});
  Value grad = outer.reshape(operands[0], {tokens, n});
  Value ids = outer.reshape(operands[1], {tokens});
  Value out = outer.empty(type.getShape(), type.getElementType());

  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
               width = b.getIndexAttr(n);
  auto forall =
      scf::ForallOp::create(b, loc, ArrayRef<OpFoldResult>{zero},
                            ArrayRef<OpFoldResult>{b.getIndexAttr(vocabulary)},
                            ArrayRef<OpFoldResult>{b.getIndexAttr(rows)},
                            ValueRange{out}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  LinalgBuilder l(b, loc, {outer.compute});
  Scalars s(b, loc, l.compute);
  Value first = forall.getInductionVar(0);
  Value start = l.zeros({rows, n}, l.compute);
  auto loop = scf::ForOp::create(
      b, loc, s.index(0), s.index(tokens), s.index(1), ValueRange{start},
      [&](OpBuilder &, Location, Value token, ValueRange carried) {
        Value id = tensor::ExtractOp::create(b, loc, ids, token);
        Value row = arith::SubIOp::create(
            b, loc, s.clampedIndex(id, vocabulary), first);
        Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           row, s.index(rows));
        if (auto padding = getPaddingIdx()) {
          Value counts = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::ne, id,
              arith::ConstantOp::create(
                  b, loc, b.getIntegerAttr(id.getType(), *padding)));
          mine = arith::AndIOp::create(b, loc, mine, counts);
        }
        auto guarded = scf::IfOp::create(
            b, loc, mine,
            [&](OpBuilder &, Location) {
              Value slice = tensor::ExtractSliceOp::create(
                  b, loc, RankedTensorType::get({n}, elementOf(grad)), grad,
                  ArrayRef<OpFoldResult>{token, zero},
                  ArrayRef<OpFoldResult>{one, width},
                  ArrayRef<OpFoldResult>{one, one});
              Value old = tensor::ExtractSliceOp::create(
                  b, loc, RankedTensorType::get({n}, l.compute), carried[0],
                  ArrayRef<OpFoldResult>{row, zero},
                  ArrayRef<OpFoldResult>{one, width},
                  ArrayRef<OpFoldResult>{one, one});
              // Into the accumulator's own row.
              AffineMap id1 = b.getMultiDimIdentityMap(1);
              auto add = linalg::GenericOp::create(
                  b, loc, TypeRange{old.getType()}, ValueRange{slice},
                  ValueRange{old}, ArrayRef<AffineMap>{id1, id1},
                  ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
                  [&](OpBuilder &inner, Location at, ValueRange x) {
                    Value wide = convertFloat(inner, at, x[0], l.compute);
                    Value sum = arith::AddFOp::create(inner, at, x[1], wide);
                    linalg::YieldOp::create(inner, at, sum);
                  });
              Value updated = tensor::InsertSliceOp::create(
                  b, loc, add.getResult(0), carried[0],
                  ArrayRef<OpFoldResult>{row, zero},
                  ArrayRef<OpFoldResult>{one, width},
                  ArrayRef<OpFoldResult>{one, one});
              scf::YieldOp::create(b, loc, updated);
            },
            [&](OpBuilder &, Location) {
              scf::YieldOp::create(b, loc, carried);
            });
        scf::YieldOp::create(b, loc, guarded.getResults());
      });
  Value rounded = l.rounded(loop.getResult(0), type.getElementType());
  OpFoldResult size = b.getIndexAttr(rows);
  if (vocabulary % rows) { // the last block is shorter
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto bound = AffineMap::get(1, 0,
                                {b.getAffineConstantExpr(rows),
                                 b.getAffineConstantExpr(vocabulary) - d0},
                                b.getContext());
    size = affine::AffineMinOp::create(b, loc, bound, ValueRange{first})
               .getResult();
    rounded = tensor::ExtractSliceOp::create(
        b, loc, rounded, ArrayRef<OpFoldResult>{zero, zero},
        ArrayRef<OpFoldResult>{size, width}, ArrayRef<OpFoldResult>{one, one});
  }
  b.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(
      b, loc, rounded, forall.getRegionIterArgs()[0],
      ArrayRef<OpFoldResult>{first, zero}, ArrayRef<OpFoldResult>{size, width},
      ArrayRef<OpFoldResult>{one, one});
  results.push_back(forall.getResult(0));
  return success();
}

// The product of the token-by-row indicator matrix and the tokens' gradients.
LogicalResult EmbeddingGradOp::lowerToSums(OpBuilder &b, ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  int64_t vocabulary = type.getDimSize(0), n = type.getDimSize(1), tokens = 1;
  for (int64_t size : shapeOf(operands[1]))
    tokens *= size;
  LinalgBuilder l(b, getLoc(), {operands[0].getType(), type});
  Value grad = l.reshape(operands[0], {tokens, n});
  Value ids = l.reshape(operands[1], {tokens});
  Value has = l.map(
      {vocabulary, tokens}, {l.at(ids, {1})}, elementOf(grad),
      [&](Scalars &s, ValueRange x) -> Value {
        Value mine =
            arith::CmpIOp::create(s.b, s.loc, arith::CmpIPredicate::eq,
                                  s.clampedIndex(x[0], vocabulary), s.loop(0));
        if (auto padding = getPaddingIdx()) {
          Value counts = arith::CmpIOp::create(
              s.b, s.loc, arith::CmpIPredicate::ne, x[0],
              arith::ConstantOp::create(
                  s.b, s.loc, s.b.getIntegerAttr(x[0].getType(), *padding)));
          mine = arith::AndIOp::create(s.b, s.loc, mine, counts);
        }
        return s.select(mine, s.f(1), s.f(0));
      });
  Value sum = l.sum({vocabulary, n, tokens}, {2},
                    {l.at(has, {0, 2}), l.at(grad, {2, 1})},
                    [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  results.push_back(l.rounded(sum, type.getElementType()));
  return success();
}

static Value isIgnored(Scalars &s, Value label, int64_t ignore) {
  Value constant = arith::ConstantOp::create(
      s.b, s.loc, s.b.getIntegerAttr(label.getType(), ignore));
  return s.eq(label, constant);
}

// max(1, number of labels that are not `ignore`), a tensor of rank 0 in the
// computation type.
static Value countLabels(LinalgBuilder &l, Value labels, int64_t ignore) {
  int64_t tokens = 1;
  for (int64_t size : shapeOf(labels))
    tokens *= size;
  OpBuilder &b = l.b;
  Value count = l.reduce(
      {tokens}, {0}, {l.whole(l.reshape(labels, {tokens}))},
      b.getI64IntegerAttr(0),
      [&](Scalars &s, ValueRange x) -> Value {
        Value one = s.select(isIgnored(s, x[0], ignore), s.i64(0), s.i64(1));
        return arith::AddIOp::create(s.b, s.loc, x[1], one);
      },
      b.getI64Type());
  return l.map(
      {}, {l.at(count, {})}, l.compute, [&](Scalars &s, ValueRange x) -> Value {
        Value some = arith::MaxSIOp::create(s.b, s.loc, x[0], s.i64(1));
        return arith::SIToFPOp::create(s.b, s.loc, s.compute, some);
      });
}

LogicalResult LabelCountOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                          SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  LinalgBuilder l(b, getLoc(), {type});
  Value count = l.rounded(countLabels(l, operands[0], getIgnore()),
                          type.getElementType());
  results.push_back(l.reshape(count, type.getShape()));
  return success();
}

// loss = lse - logit of the label, with lse = max + log(sum of exp(logit -
// max)): the largest exponent is 0, so nothing overflows.
LogicalResult CrossEntropyOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                            SmallVectorImpl<Value> &results) {
  int64_t n = shapeOf(operands[0]).back(), tokens = 1;
  for (int64_t size : shapeOf(operands[1]))
    tokens *= size;
  SmallVector<Type> types{operands[0].getType(), getLoss().getType()};
  if (getLse())
    types.push_back(getLse().getType());
  LinalgBuilder l(b, getLoc(), TypeRange(types));
  Value logits = l.reshape(operands[0], {tokens, n});
  Value labels = l.reshape(operands[1], {tokens});
  int64_t ignore = getIgnore();
  Value most = l.maximum({tokens, n}, {1}, l.whole(logits));
  Value total = l.sum({tokens, n}, {1}, {l.whole(logits), l.at(most, {0})},
                      [](Scalars &s, ValueRange x) {
                        Value shift = s.select(s.isNegInf(x[1]), s.f(0), x[1]);
                        return s.exp(s.sub(x[0], shift));
                      });
  Value lse =
      l.map({tokens}, {l.whole(total), l.whole(most)}, l.compute,
            [](Scalars &s, ValueRange x) { return s.add(x[1], s.log(x[0])); });
  // Reshaped before its use, so that a pass may fold the reshape upwards.
  Value statistic;
  if (getLse())
    statistic =
        l.reshape(l.rounded(lse, elementOf(getLse())), shapeOf(getLse()));
  bool none = getReduction() == Reduction::None;
  auto lossType = plainTensor(getLoss().getType());
  Value losses = l.map(
      {tokens}, {l.whole(lse), l.whole(labels)},
      none ? lossType.getElementType() : l.compute,
      [&](Scalars &s, ValueRange x) {
        Value column = s.clampedIndex(x[1], n);
        Value logit = tensor::ExtractOp::create(s.b, s.loc, logits,
                                                ValueRange{s.loop(0), column});
        Value loss = s.sub(x[0], convertFloat(s.b, s.loc, logit, s.compute));
        return s.select(isIgnored(s, x[1], ignore), s.f(0), loss);
      });
  if (!none) {
    losses = l.sum({tokens}, {0}, {l.whole(losses)},
                   [](Scalars &, ValueRange x) { return x[0]; });
    SmallVector<LinalgBuilder::Input> in{l.at(losses, {})};
    if (getReduction() == Reduction::Mean)
      in.push_back(l.at(countLabels(l, labels, ignore), {}));
    losses =
        l.map({}, in, lossType.getElementType(), [](Scalars &s, ValueRange x) {
          return x.size() > 1 ? s.div(x[0], x[1]) : x[0];
        });
  }
  results.push_back(l.reshape(losses, lossType.getShape()));
  if (statistic)
    results.push_back(statistic);
  return success();
}

LogicalResult
// The gradient of a logit is weight * (softmax - 1 at the label). The
// probabilities come from the logits and the saved log-sum-exps, so forward
// keeps one number for each token and not one for each logit.
CrossEntropyGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                  SmallVectorImpl<Value> &results) {
  auto type = plainTensor(getResult().getType());
  int64_t n = type.getShape().back(), tokens = 1;
  for (int64_t size : shapeOf(operands[2]))
    tokens *= size;
  LinalgBuilder l(b, getLoc(),
                  {operands[0].getType(), operands[1].getType(),
                   operands[3].getType(), type});
  Value logits = l.reshape(operands[1], {tokens, n});
  Value labels = l.reshape(operands[2], {tokens});
  Value lse = l.reshape(operands[3], {tokens});
  bool none = getReduction() == Reduction::None;
  Value grad = l.reshape(operands[0], none ? ArrayRef<int64_t>{tokens}
                                           : ArrayRef<int64_t>{});
  SmallVector<LinalgBuilder::Input> in{l.whole(labels),
                                       none ? l.at(grad, {0}) : l.at(grad, {})};
  if (getReduction() == Reduction::Mean)
    in.push_back(l.at(countLabels(l, labels, getIgnore()), {}));
  int64_t ignore = getIgnore();
  Value weight = l.map({tokens}, in, l.compute, [&](Scalars &s, ValueRange x) {
    Value w = x.size() > 2 ? s.div(x[1], x[2]) : x[1];
    return s.select(isIgnored(s, x[0], ignore), s.f(0), w);
  });
  // Ignored rows are zero whatever their logits are, NaN included.
  Value out = l.map(
      {tokens, n},
      {l.whole(logits), l.at(lse, {0}), l.at(labels, {0}), l.at(weight, {0})},
      type.getElementType(), [&](Scalars &s, ValueRange x) -> Value {
        Value p = s.exp(s.sub(x[0], x[1]));
        Value column =
            arith::IndexCastOp::create(s.b, s.loc, x[2].getType(), s.loop(1));
        Value hit = s.select(s.eq(column, x[2]), s.f(1), s.f(0));
        Value value = s.mul(x[3], s.sub(p, hit));
        return s.select(isIgnored(s, x[2], ignore), s.f(0), value);
      });
  results.push_back(l.reshape(out, type.getShape()));
  return success();
}
