// SPDX-License-Identifier: Apache-2.0
// Attention without its scores in memory: a block of queries goes through the
// key blocks in order and carries the softmax's maximum and sum (Milakov and
// Gimelshein 2018; Dao et al. 2022).
#include "dialects/act/AttentionTiles.h"
#include "dialects/act/ScoreRegion.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace act;

using Tile = AttentionTiles::Tile;

// [n] filled with one scalar of the computation type.
static Value splat(AttentionTiles &t, int64_t n, Value scalar) {
  Value empty = t.l.empty({n}, t.l.compute);
  return linalg::FillOp::create(t.b, t.loc, scalar, empty).getResult(0);
}

namespace {
struct Running {
  Value most, total, acc;
};
} // namespace

// A row starts empty; a sink is a score without a value.
static Running start(AttentionTiles &t, Value sinks, Value head) {
  Running r;
  Scalars s(t.b, t.loc, t.l.compute);
  r.acc = t.l.zeros({t.rows, t.dv}, t.l.compute);
  if (!sinks) {
    r.most = splat(t, t.rows, s.negInf());
    r.total = splat(t, t.rows, s.f(0));
    return r;
  }
  Value sink = tensor::ExtractOp::create(t.b, t.loc, sinks, head);
  sink = convertFloat(t.b, t.loc, sink, t.l.compute);
  r.most = splat(t, t.rows, sink);
  r.total = splat(t, t.rows, s.select(s.isNegInf(sink), s.f(0), s.f(1)));
  return r;
}

// Folds one block of keys into the running softmax. What was summed under the
// old maximum shrinks by exp(old - new). Dropout applies to the numerators
// only: the softmax is normalised over all keys.
static Running foldBlock(AttentionTiles &t, const Tile &tile, Value queries,
                         Running r) {
  LinalgBuilder &l = t.l;
  Value head = t.kvHead(tile.head);
  Value keys = t.rowsOf(t.k, tile.batch, tile.column, head, t.columns);
  Value values = t.rowsOf(t.v, tile.batch, tile.column, head, t.columns);
  SmallVector<LinalgBuilder::Input> in{l.whole(t.product(queries, keys))};
  llvm::append_range(in, t.scoreInputs(tile));
  Value scores =
      l.map({t.rows, t.columns}, in, l.compute, [&](Scalars &s, ValueRange x) {
        return t.score(s, tile, x[0], x.drop_front(), false, false).value;
      });
  // The old maximum must be read before it is replaced.
  Value ofBlock = l.maximum({t.rows, t.columns}, {1}, l.whole(scores));
  Value shrink = l.map({t.rows}, {l.whole(r.most), l.whole(ofBlock)}, l.compute,
                       [](Scalars &s, ValueRange x) {
                         return power(s, x[0], s.max(x[0], x[1]));
                       });
  Value most =
      t.update(r.most, {l.whole(ofBlock)},
               [](Scalars &s, ValueRange x) { return s.max(x[1], x[0]); });
  Value p = t.update(scores, {l.at(most, {0})}, [](Scalars &s, ValueRange x) {
    return power(s, x[1], x[0]);
  });
  Value total =
      t.update(r.total, {l.whole(shrink)},
               [](Scalars &s, ValueRange x) { return s.mul(x[1], x[0]); });
  total = t.addOver(total, p, {0}, {1});
  Value acc =
      t.update(r.acc, {l.at(shrink, {0})},
               [](Scalars &s, ValueRange x) { return s.mul(x[1], x[0]); });
  if (t.options.dropout)
    p = l.map({t.rows, t.columns}, {l.whole(p)}, l.compute,
              [&](Scalars &s, ValueRange x) { return t.drop(s, tile, x[0]); });
  return {most, total, t.accumulate(acc, p, values, false)};
}

LogicalResult AttentionOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  if (getNumRegions() && failed(checkScoreRegion(getRegion(0), false)))
    return failure();
  Adaptor in(operands, *this);
  AttentionTiles t(b, getLoc(), in.getQ(), in.getK(), in.getV(),
                   attentionOptions(*this, in));
  LinalgBuilder &l = t.l;
  auto type = plainTensor(getResult().getType());
  Type element = type.getElementType();
  SmallVector<AttentionTiles::Output> outputs{
      {l.empty({t.batch, t.s, t.heads, t.dv}, element), 1}};
  if (getLse())
    outputs.push_back(
        {l.empty({t.batch, t.heads, t.s}, elementOf(getLse())), 2});
  auto blocks = t.forEachBlock(
      t.batch, t.heads, t.s, t.rows, outputs,
      [&](Value n, Value head, Value first) {
        Tile tile{n, head, first, t.rowOf(first), {}, {}, {}, {}};
        t.setSequences(tile);
        Value queries = t.rowsOf(t.q, n, tile.row, head, t.rows);
        Running r = start(t, in.getSinks(), head);
        auto [low, high] = t.columnRange(tile);
        auto loop = scf::ForOp::create(
            b, getLoc(), low, high, t.index(t.columns),
            ValueRange{r.most, r.total, r.acc},
            [&](OpBuilder &, Location, Value column, ValueRange carried) {
              Tile at = tile;
              at.firstColumn = column;
              at.column = t.columnOf(column);
              Running next = foldBlock(t, at, queries,
                                       {carried[0], carried[1], carried[2]});
              scf::YieldOp::create(b, getLoc(),
                                   ValueRange{next.most, next.total, next.acc});
            });
        Value most = loop.getResult(0), total = loop.getResult(1);
        SmallVector<Value> tiles{l.map(
            {t.rows, t.dv}, {l.whole(loop.getResult(2)), l.at(total, {0})},
            element, [](Scalars &s, ValueRange x) {
              Value none = arith::CmpFOp::create(
                  s.b, s.loc, arith::CmpFPredicate::OEQ, x[1], s.f(0));
              return s.div(x[0], s.select(none, s.f(1), x[1]));
            })};
        if (getLse())
          tiles.push_back(l.map(
              {t.rows}, {l.whole(most), l.whole(total)}, elementOf(getLse()),
              [](Scalars &s, ValueRange x) {
                Value none = arith::CmpFOp::create(
                    s.b, s.loc, arith::CmpFPredicate::OEQ, x[1], s.f(0));
                return s.select(none, s.negInf(), s.add(x[0], s.log(x[1])));
              }));
        return tiles;
      });
  results.push_back(l.reshape(blocks[0], type.getShape()));
  if (getLse())
    results.push_back(l.reshape(blocks[1], shapeOf(getLse())));
  return success();
}
