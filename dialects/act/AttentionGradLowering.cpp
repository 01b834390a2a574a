// SPDX-License-Identifier: Apache-2.0
// The gradient of attention, from probabilities recomputed with the
// log-sum-exp. Two passes over the tiles, each with sums in a fixed order: a
// block of queries collects dq over key blocks; a block of keys collects dk and
// dv over query blocks.
#include "dialects/act/AttentionLowering.h"
#include "dialects/act/AttentionTiles.h"
#include "dialects/act/ScoreRegion.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace act;

using Tile = AttentionTiles::Tile;
using Adaptor = AttentionGradOp::Adaptor;

namespace {
struct Grad {
  Grad(OpBuilder &b, AttentionGradOp op, Adaptor in)
      : t(b, op.getLoc(), in.getQ(), in.getK(), in.getV(),
          attentionOptions(op, in)),
        l(t.l), grad(t.dense(in.getGrad())), out(t.dense(in.getOut())),
        lse(t.denseStatistic(in.getLse())) {}

  /// A block of query rows, as used by all of its tiles.
  struct Queries {
    Value q, grad, lse, delta;
  };
  Queries queriesOf(const Tile &tile);
  /// d loss / d (q k^T), or d bias, and dropout(p) of a tile, [rows, columns].
  std::pair<Value, Value> scoreGrads(const Tile &tile, const Queries &queries,
                                     Value keys, Value values, bool rowsRepeat,
                                     bool wantP, bool ofBias = false);

  AttentionTiles t;
  LinalgBuilder &l;
  Value grad, out, lse;
};
} // namespace

// delta, the sum of o * grad over a row, equals the sum of p * dp over the
// row's keys. So the gradient of softmax needs no pass of its own over the keys
// (Dao et al. 2022).
Grad::Queries Grad::queriesOf(const Tile &tile) {
  Queries result;
  result.q = t.rowsOf(t.q, tile.batch, tile.row, tile.head, t.rows);
  result.grad = t.rowsOf(grad, tile.batch, tile.row, tile.head, t.rows);
  result.lse = t.statisticOf(lse, tile);
  Value o = t.rowsOf(out, tile.batch, tile.row, tile.head, t.rows);
  result.delta =
      l.sum({t.rows, t.dv}, {1}, {l.whole(result.grad), l.whole(o)},
            [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  return result;
}

// p is recomputed as exp(score - lse). Then ds = p * (dropout(dp) - delta) *
// slope, where dp = grad v^T.
std::pair<Value, Value> Grad::scoreGrads(const Tile &tile,
                                         const Queries &queries, Value keys,
                                         Value values, bool rowsRepeat,
                                         bool wantP, bool ofBias) {
  Value raw = t.product(queries.q, keys);
  Value dp = t.product(queries.grad, values);
  SmallVector<LinalgBuilder::Input> in{l.whole(raw), l.whole(dp),
                                       l.at(queries.lse, {0}),
                                       l.at(queries.delta, {0})};
  llvm::append_range(in, t.scoreInputs(tile));
  SmallVector<Type> elements(wantP ? 2 : 1, l.compute);
  auto made = l.mapAll(
      {t.rows, t.columns}, in, elements, [&](Scalars &s, ValueRange x) {
        auto score = t.score(s, tile, x[0], x.drop_front(4), true, rowsRepeat);
        // A row that sees nothing has lse = -inf, and no gradient.
        Value shift = s.select(s.isNegInf(x[2]), s.f(0), x[2]);
        Value p = s.exp(s.sub(score.value, shift));
        Value ds = s.mul(s.mul(p, s.sub(t.drop(s, tile, x[1]), x[3])),
                         ofBias ? score.biasSlope : score.slope);
        // A slope may be infinite or NaN where the score is -inf.
        Value none = arith::CmpFOp::create(
            s.b, s.loc, arith::CmpFPredicate::OEQ, p, s.f(0));
        SmallVector<Value> values{s.select(none, s.f(0), ds)};
        if (wantP)
          values.push_back(t.drop(s, tile, p));
        return values;
      });
  return {made[0], wantP ? made[1] : Value()};
}

// dsinks[h] = - sum over rows of exp(sink - lse) * delta, a block for each
// head.
static Value sinkGrads(Grad &g, Value sinks, Type element) {
  AttentionTiles &t = g.t;
  LinalgBuilder &l = g.l;
  OpBuilder &b = t.b;
  Location loc = t.loc;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  Value out = l.empty({t.heads}, element);
  auto forall = scf::ForallOp::create(
      b, loc, ArrayRef<OpFoldResult>{zero},
      ArrayRef<OpFoldResult>{b.getIndexAttr(t.heads)},
      ArrayRef<OpFoldResult>{one}, ValueRange{out}, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  Value head = forall.getInductionVar(0);
  // One head of a tensor whose dimension `dim` is heads.
  auto ofHead = [&](Value tensor, unsigned dim) -> Value {
    SmallVector<int64_t> shape(shapeOf(tensor));
    SmallVector<OpFoldResult> offsets(shape.size(), zero), sizes,
        strides(shape.size(), one);
    for (int64_t size : shape)
      sizes.push_back(b.getIndexAttr(size));
    offsets[dim] = head;
    sizes[dim] = one;
    shape.erase(shape.begin() + dim);
    return tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, elementOf(tensor)), tensor,
        offsets, sizes, strides);
  };
  Value delta =
      l.sum({t.batch, t.s, t.dv}, {2},
            {l.whole(ofHead(g.grad, 2)), l.whole(ofHead(g.out, 2))},
            [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  Value sink = tensor::ExtractOp::create(b, loc, sinks, head);
  sink = convertFloat(b, loc, sink, l.compute);
  Value total =
      l.sum({t.batch, t.s}, {0, 1}, {l.whole(delta), l.whole(ofHead(g.lse, 1))},
            [&](Scalars &s, ValueRange x) {
              Value p = s.exp(s.sub(sink, x[1]));
              // No key and a sink of -inf: nothing in the denominator.
              p = s.select(s.isNegInf(x[1]), s.f(0), p);
              return s.neg(s.mul(p, x[0]));
            });
  total = l.rounded(total, element);
  b.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(
      b, loc, total, forall.getRegionIterArgs()[0],
      ArrayRef<OpFoldResult>{head}, ArrayRef<OpFoldResult>{one},
      ArrayRef<OpFoldResult>{one});
  return forall.getResult(0);
}

static LogicalResult check(AttentionGradOp op) {
  if (op->getNumRegions())
    return checkScoreRegion(op->getRegion(0), true);
  return success();
}

LogicalResult act::lowerAttentionGradQ(OpBuilder &b, AttentionGradOp op,
                                       ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  if (failed(check(op)))
    return failure();
  Adaptor in(operands, op);
  Grad g(b, op, in);
  AttentionTiles &t = g.t;
  auto type = plainTensor(op.getDq().getType());
  Location loc = op.getLoc();
  Value dq = t.l.empty({t.batch, t.s, t.heads, t.d}, type.getElementType());
  auto blocks = t.forEachBlock(
      t.batch, t.heads, t.s, t.rows, {{dq, 1}},
      [&](Value n, Value head, Value first) {
        Tile tile{n, head, first, t.rowOf(first), {}, {}, {}, {}};
        t.setSequences(tile);
        Grad::Queries queries = g.queriesOf(tile);
        Value start = t.l.zeros({t.rows, t.d}, t.l.compute);
        auto [low, high] = t.columnRange(tile);
        auto loop = scf::ForOp::create(
            b, loc, low, high, t.index(t.columns), ValueRange{start},
            [&](OpBuilder &, Location, Value column, ValueRange carried) {
              Tile at = tile;
              at.firstColumn = column;
              at.column = t.columnOf(column);
              Value kvHead = t.kvHead(head);
              Value keys = t.rowsOf(t.k, n, at.column, kvHead, t.columns);
              Value values = t.rowsOf(t.v, n, at.column, kvHead, t.columns);
              Value ds =
                  g.scoreGrads(at, queries, keys, values, false, false).first;
              Value sum = t.accumulate(carried[0], ds, keys, false);
              scf::YieldOp::create(b, loc, sum);
            });
        return SmallVector<Value>{
            t.l.rounded(loop.getResult(0), type.getElementType())};
      });
  results.push_back(t.l.reshape(blocks[0], type.getShape()));
  if (op.getSinks())
    results.push_back(sinkGrads(g, in.getSinks(), elementOf(op.getDsinks())));
  return success();
}

LogicalResult act::lowerAttentionGradKV(OpBuilder &b, AttentionGradOp op,
                                        ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  if (failed(check(op)))
    return failure();
  Adaptor in(operands, op);
  Grad g(b, op, in);
  AttentionTiles &t = g.t;
  Location loc = op.getLoc();
  auto keyType = plainTensor(op.getDk().getType());
  auto valueType = plainTensor(op.getDv().getType());
  int64_t group = t.heads / t.kvHeads;
  Value dk = t.l.empty(shapeOf(t.k), keyType.getElementType());
  Value dv = t.l.empty(shapeOf(t.v), valueType.getElementType());
  auto blocks = t.forEachBlock(
      t.batch, t.kvHeads, t.kv, t.columns, {{dk, 1}, {dv, 1}},
      [&](Value n, Value kvHead, Value first) {
        Tile tile;
        tile.batch = n;
        tile.column = t.columnOf(first);
        // All rows of the block's dk are computed; rows shared with the
        // previous block are not stored.
        tile.firstColumn = tile.column;
        Value keys = t.rowsOf(t.k, n, tile.column, kvHead, t.columns);
        Value values = t.rowsOf(t.v, n, tile.column, kvHead, t.columns);
        auto [low, high] = t.rowRange(tile);
        // Minus zero is as neutral as zero but a different constant: two
        // accumulators with the same start value would share memory.
        SmallVector<Value> start{
            t.l.zeros({t.columns, t.d}, t.l.compute),
            t.l.filled({t.columns, t.dv}, b.getFloatAttr(t.l.compute, -0.0))};
        Value firstHead = arith::MulIOp::create(b, loc, kvHead, t.index(group));
        auto heads = scf::ForOp::create(
            b, loc, t.index(0), t.index(group), t.index(1), start,
            [&, low = low, high = high](OpBuilder &, Location, Value member,
                                        ValueRange outer) {
              Tile ofHead = tile;
              ofHead.head = t.add(firstHead, member);
              auto loop = scf::ForOp::create(
                  b, loc, low, high, t.index(t.rows), outer,
                  [&](OpBuilder &, Location, Value row, ValueRange carried) {
                    Tile at = ofHead;
                    at.firstRow = row;
                    at.row = t.rowOf(row);
                    t.setSequences(at);
                    Grad::Queries queries = g.queriesOf(at);
                    auto [ds, p] =
                        g.scoreGrads(at, queries, keys, values, true, true);
                    Value sumK = t.accumulate(carried[0], ds, queries.q, true);
                    Value sumV =
                        t.accumulate(carried[1], p, queries.grad, true);
                    scf::YieldOp::create(b, loc, ValueRange{sumK, sumV});
                  });
              scf::YieldOp::create(b, loc, loop.getResults());
            });
        return SmallVector<Value>{
            t.l.rounded(heads.getResult(0), keyType.getElementType()),
            t.l.rounded(heads.getResult(1), valueType.getElementType())};
      });
  results.push_back(t.l.reshape(blocks[0], keyType.getShape()));
  results.push_back(t.l.reshape(blocks[1], valueType.getShape()));
  return success();
}

// A block of the bias' rows collects its gradient from its tiles of scores, in
// the order batch, heads, rows, columns where the bias is shared.
LogicalResult act::lowerAttentionGradBias(OpBuilder &b, AttentionGradOp op,
                                          ValueRange operands, Value &dbias) {
  if (failed(check(op)))
    return failure();
  Adaptor in(operands, op);
  Grad g(b, op, in);
  AttentionTiles &t = g.t;
  LinalgBuilder &l = t.l;
  Location loc = op.getLoc();
  auto type = plainTensor(cast<RankedTensorType>(op.getDbias().getType()));
  SmallVector<int64_t> shape = t.biasShape();
  // The bias' part of a tile, [rows, columns].
  bool ofRows = shape[2] != 1 || t.s == 1, ofColumns = shape[3] != 1;
  SmallVector<int64_t> loops, summed;
  (ofRows ? loops : summed).push_back(0);
  (ofColumns ? loops : summed).push_back(1);
  int64_t block = ofRows ? t.rows : 1;
  SmallVector<int64_t> accShape;
  if (ofRows)
    accShape.push_back(t.rows);
  if (ofColumns)
    accShape.push_back(shape[3]);

  // Adds the scores' gradients of one tile.
  auto addTile = [&](const Tile &at, const Grad::Queries &queries, Value acc) {
    Value kvHead = t.kvHead(at.head);
    Value keys = t.rowsOf(t.k, at.batch, at.column, kvHead, t.columns);
    Value values = t.rowsOf(t.v, at.batch, at.column, kvHead, t.columns);
    Value ds =
        g.scoreGrads(at, queries, keys, values, !ofRows, false, true).first;
    if (!ofColumns)
      return t.addOver(acc, ds, loops, summed);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets{at.column},
        sizes{b.getIndexAttr(t.columns)}, strides(accShape.size(), one);
    SmallVector<int64_t> part{t.columns};
    if (ofRows) {
      offsets.insert(offsets.begin(), zero);
      sizes.insert(sizes.begin(), b.getIndexAttr(t.rows));
      part.insert(part.begin(), t.rows);
    }
    Value slice = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(part, l.compute), acc, offsets, sizes,
        strides);
    slice = t.addOver(slice, ds, loops, summed);
    return Value(tensor::InsertSliceOp::create(b, loc, slice, acc, offsets,
                                               sizes, strides));
  };
  auto forEach = [&](Value low, Value high, int64_t step, Value init,
                     function_ref<Value(Value, Value)> body) -> Value {
    auto loop = scf::ForOp::create(
        b, loc, low, high, t.index(step), ValueRange{init},
        [&](OpBuilder &, Location, Value i, ValueRange carried) {
          scf::YieldOp::create(b, loc, body(i, carried[0]));
        });
    return loop.getResult(0);
  };
  // One of `all`, or all of them.
  auto oneOrAll = [&](int64_t of, int64_t all, Value one, Value init,
                      function_ref<Value(Value, Value)> body) -> Value {
    if (of == all)
      return body(one, init);
    return forEach(t.index(0), t.index(all), 1, init, body);
  };
  auto ofRow = [&](Tile tile, Value acc) {
    tile.row = t.rowOf(tile.firstRow);
    t.setSequences(tile);
    Grad::Queries queries = g.queriesOf(tile);
    auto [low, high] = t.columnRange(tile);
    return forEach(low, high, t.columns, acc, [&](Value column, Value carried) {
      Tile at = tile;
      at.firstColumn = column;
      at.column = t.columnOf(column);
      return addTile(at, queries, carried);
    });
  };
  Value out = l.empty(shape, type.getElementType());
  auto blocks = t.forEachBlock(
      shape[0], shape[1], shape[2], block, {{out, 2}},
      [&](Value n, Value head, Value first) {
        Value acc = l.zeros(accShape, l.compute);
        acc = oneOrAll(shape[0], t.batch, n, acc, [&](Value batch, Value acc) {
          return oneOrAll(shape[1], t.heads, head, acc,
                          [&](Value ofHead, Value acc) {
                            Tile tile{batch, ofHead, first, {}, {}, {}, {}, {}};
                            if (ofRows)
                              return ofRow(tile, acc);
                            return forEach(t.index(0), t.index(t.s), t.rows,
                                           acc, [&](Value row, Value carried) {
                                             tile.firstRow = row;
                                             return ofRow(tile, carried);
                                           });
                          });
        });
        acc = l.reshape(acc, {block, shape[3]});
        return SmallVector<Value>{l.rounded(acc, type.getElementType())};
      });
  dbias = l.reshape(blocks[0], type.getShape());
  return success();
}

LogicalResult AttentionGradOp::lowerToLinalg(OpBuilder &b, ValueRange operands,
                                             SmallVectorImpl<Value> &results) {
  SmallVector<Value> q, kv;
  if (failed(lowerAttentionGradQ(b, *this, operands, q)) ||
      failed(lowerAttentionGradKV(b, *this, operands, kv)))
    return failure();
  results.push_back(q[0]);
  llvm::append_range(results, kv);
  results.append(q.begin() + 1, q.end());
  if (getDbias())
    return lowerAttentionGradBias(b, *this, operands, results.emplace_back());
  return success();
}
