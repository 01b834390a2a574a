// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient as sums over keys, queries and a head's elements,
// each one linalg.generic on [batch, kv head, member of its group, query, key].
// The lowering of these chooses blocks and the order of keys.
#include "dialects/act/AttentionLowering.h"
#include "dialects/act/AttentionTiles.h"
#include "dialects/act/ScoreRegion.h"

using namespace mlir;
using namespace act;

namespace {

class AttentionSums {
public:
  AttentionSums(OpBuilder &b, Location loc, Value q, Value k, Value v,
                const AttentionTiles::Options &options)
      : t(b, loc, q, k, v, options), l(t.l), members(t.heads / t.kvHeads),
        scores({t.batch, t.kvHeads, members, t.s, t.kv}),
        rows(ArrayRef(scores).drop_back()), q(grouped(t.q)) {}

  /// [b, s, heads, d] as [b, s, kv heads, members, d].
  Value grouped(Value dense) {
    ArrayRef<int64_t> shape = shapeOf(dense);
    return l.reshape(dense, {shape[0], shape[1], t.kvHeads, members, shape[3]});
  }
  /// [b, heads, s] as [b, kv heads, members, s].
  Value groupedStatistic(Value dense) { return l.reshape(dense, rows); }
  /// A value of each head, as [kv heads, members].
  Value groupedHeads(Value perHead) {
    return l.reshape(perHead, {t.kvHeads, members});
  }

  /// sum over e of x[b, query, kv head, member, e] y[b, key, kv head, e].
  Value product(Value x, Value y) {
    return l.sum(with(shapeOf(x)[4]), {5},
                 {l.at(x, {0, 3, 1, 2, 5}), l.at(y, {0, 4, 1, 5})},
                 [](Scalars &s, ValueRange in) { return s.mul(in[0], in[1]); });
  }
  /// sum of x y over loop 5; for a packed batch, only within the sequence of
  /// loop 1: other sequences may hold NaN and infinity, and 0 times these is
  /// not 0.
  Value overSequence(ArrayRef<int64_t> ranges, ArrayRef<int64_t> summed,
                     LinalgBuilder::Input x, LinalgBuilder::Input y) {
    SmallVector<LinalgBuilder::Input> in{x, y};
    if (t.options.boundaries)
      for (Value end : sequences())
        in.push_back(l.at(end, {1}));
    return l.sum(ranges, summed, in, [](Scalars &s, ValueRange in) -> Value {
      Value product = s.mul(in[0], in[1]);
      if (in.size() == 2)
        return product;
      Value at =
          arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(), s.loop(5));
      auto compare = [&](arith::CmpIPredicate p, Value end) -> Value {
        return arith::CmpIOp::create(s.b, s.loc, p, at, end);
      };
      Value same = arith::AndIOp::create(
          s.b, s.loc, compare(arith::CmpIPredicate::sge, in[2]),
          compare(arith::CmpIPredicate::slt, in[3]));
      return s.select(same, product, s.f(0));
    });
  }
  /// sum over keys of x[scores] y[b, key, kv head, e], in the order that q has:
  /// [b, query, kv head, member, e].
  Value overKeys(Value x, Value y) {
    return overSequence({t.batch, t.s, t.kvHeads, members, shapeOf(y)[3], t.kv},
                        {5}, l.at(x, {0, 2, 3, 1, 5}), l.at(y, {0, 5, 2, 4}));
  }
  /// sum over queries and members of x[scores] y[b, query, kv head, member, e],
  /// times `factor`, rounded: [b, key, kv head, e].
  Value overQueries(Value x, Value y, Type element, double factor = 1) {
    int64_t width = shapeOf(y)[4];
    Value sum =
        overSequence({t.batch, t.kv, t.kvHeads, width, members, t.s}, {4, 5},
                     l.at(x, {0, 2, 4, 5, 1}), l.at(y, {0, 5, 2, 4, 3}));
    return l.map(shapeOf(sum), {l.whole(sum)}, element,
                 [&](Scalars &s, ValueRange in) {
                   return factor == 1 ? in[0] : s.mul(in[0], s.f(factor));
                 });
  }
  /// The inputs of a score other than the product, placed after an op's own
  /// inputs.
  SmallVector<LinalgBuilder::Input> scoreInputs() {
    SmallVector<LinalgBuilder::Input> inputs;
    if (t.options.bias) {
      SmallVector<int64_t> shape, loops = biasLoops();
      for (int64_t loop : loops)
        shape.push_back(scores[loop]);
      inputs.push_back(l.at(l.reshape(t.denseBias(), shape), loops));
    }
    if (Value mask = t.options.mask) {
      SmallVector<int64_t> shape(shapeOf(mask)), loops{0, 4};
      if (shape.size() == 3)
        loops.insert(loops.begin() + 1, 3);
      if (shape[0] == 1 && t.batch != 1) { // shared by all batches
        loops.erase(loops.begin());
        shape.erase(shape.begin());
        mask = l.reshape(mask, shape);
      }
      inputs.push_back(l.at(mask, loops));
    }
    if (t.options.boundaries)
      for (Value end : sequences())
        inputs.push_back(l.at(end, {3}));
    return inputs;
  }
  /// The begin and end of each token's sequence.
  ArrayRef<Value> sequences() {
    if (ends.empty()) {
      Value zero = t.index(0);
      for (bool low : {true, false})
        ends.push_back(t.rowBounds(zero, t.s, low));
    }
    return ends;
  }
  /// The loops over `scores` that the bias depends on.
  SmallVector<int64_t> biasLoops() {
    SmallVector<int64_t> loops;
    for (auto [i, n] : llvm::enumerate(t.biasShape()))
      if (n != 1 && i == 1)
        loops.append({1, 2});
      else if (n != 1)
        loops.push_back(i ? i + 1 : 0);
    return loops;
  }
  /// The element that a body over `scores` is at.
  AttentionTiles::Position position(Scalars &s) {
    Value head = s.loop(1);
    if (members > 1) {
      head = arith::MulIOp::create(s.b, s.loc, head, s.index(members));
      head = arith::AddIOp::create(s.b, s.loc, head, s.loop(2));
    }
    return {s.loop(0), head, s.loop(3), s.loop(4)};
  }

  AttentionTiles t;
  LinalgBuilder &l;
  int64_t members; // query heads that share keys and values
  SmallVector<int64_t> scores;
  ArrayRef<int64_t> rows;
  Value q;

private:
  SmallVector<Value> ends;

  SmallVector<int64_t> with(int64_t width) {
    SmallVector<int64_t> ranges(scores);
    ranges.push_back(width);
    return ranges;
  }
};

/// A row that sees no key has the sum 0, and its numerators are 0 too: the
/// result is 0 and not NaN.
Value orOne(Scalars &s, Value total) {
  Value none = arith::CmpFOp::create(s.b, s.loc, arith::CmpFPredicate::OEQ,
                                     total, s.f(0));
  return s.select(none, s.f(1), total);
}

/// Whether d score / d (q k^T) is the scale everywhere: then the sums of
/// products apply it.
bool slopeIsScale(const AttentionTiles::Options &o) {
  return !o.softcap && !o.score;
}
double factorOf(const AttentionTiles::Options &o) {
  return slopeIsScale(o) ? o.scale : 1;
}

/// The inputs of the gradients. `delta`, sum(o * grad) of each row, is computed
/// if it is not given.
struct GradSums : AttentionSums {
  GradSums(OpBuilder &b, AttentionGradOp op, AttentionGradOp::Adaptor in,
           Value delta = {})
      : AttentionSums(b, op.getLoc(), in.getQ(), in.getK(), in.getV(),
                      attentionOptions(op, in)),
        grad(grouped(t.dense(in.getGrad()))),
        lse(groupedStatistic(t.denseStatistic(in.getLse()))) {
    if (delta) {
      this->delta = groupedStatistic(t.denseStatistic(delta));
      return;
    }
    Value out = grouped(t.dense(in.getOut()));
    SmallVector<int64_t> ranges(rows);
    ranges.push_back(t.dv);
    this->delta = l.sum(
        ranges, {4}, {l.at(grad, {0, 3, 1, 2, 4}), l.at(out, {0, 3, 1, 2, 4})},
        [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  }

  double factor() const { return factorOf(t.options); }

  /// d loss / d (q k^T) without `factor`, or d loss / d bias, and dropout(p)
  /// when it is wanted.
  SmallVector<Value> scoreGrads(bool wantP, bool ofBias = false) {
    SmallVector<LinalgBuilder::Input> in{
        l.whole(product(q, t.k)), l.whole(product(grad, t.v)),
        l.at(lse, {0, 1, 2, 3}), l.at(delta, {0, 1, 2, 3})};
    llvm::append_range(in, scoreInputs());
    const bool isProduct = in.size() == 4 && !t.options.score;
    SmallVector<Type> elements(wantP ? 2 : 1, l.compute);
    return l.mapAll(scores, in, elements, [&](Scalars &s, ValueRange x) {
      AttentionTiles::Position at = position(s);
      auto score = t.scoreAt(s, at, x[0], x.drop_front(4), true);
      // A row that sees nothing has lse = -inf, and no gradient. Its scores are
      // -inf, too. Products alone are not near the smallest number, as masks
      // may be, so they are shifted by a number whose product with log2(e) is
      // finite, which takes one instruction less.
      constexpr double least = -2.3e38;
      Value p = isProduct ? s.exp(s.sub(score.value, s.max(x[2], s.f(least))))
                          : power(s, score.value, x[2]);
      Value ds = s.mul(p, s.sub(t.dropAt(s, at, x[1]), x[3]));
      if (ofBias ? t.options.score != nullptr : !slopeIsScale(t.options)) {
        // A slope may be infinite or NaN where the score is -inf.
        Value none = arith::CmpFOp::create(
            s.b, s.loc, arith::CmpFPredicate::OEQ, p, s.f(0));
        ds = s.select(none, s.f(0),
                      s.mul(ds, ofBias ? score.biasSlope : score.slope));
      } else if (t.options.boundaries) {
        // Products across two sequences may overflow.
        ds = s.select(score.visible, ds, s.f(0));
      }
      SmallVector<Value> values{ds};
      if (wantP)
        values.push_back(t.dropAt(s, at, p));
      return values;
    });
  }

  Value grad, lse, delta;
};

LogicalResult check(AttentionGradOp op) {
  return op->getNumRegions() ? checkScoreRegion(op->getRegion(0), true)
                             : success();
}

} // namespace

LogicalResult AttentionOp::lowerToSums(OpBuilder &b, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  if (getNumRegions() && failed(checkScoreRegion(getRegion(0), false)))
    return failure();
  Adaptor in(operands, *this);
  AttentionSums a(b, getLoc(), in.getQ(), in.getK(), in.getV(),
                  attentionOptions(*this, in));
  AttentionTiles &t = a.t;
  LinalgBuilder &l = a.l;
  SmallVector<LinalgBuilder::Input> inputs{l.whole(a.product(a.q, t.k))};
  llvm::append_range(inputs, a.scoreInputs());
  Value score =
      l.map(a.scores, inputs, l.compute, [&](Scalars &s, ValueRange x) {
        return t.scoreAt(s, a.position(s), x[0], x.drop_front(), false).value;
      });
  Value most = l.maximum(a.scores, {4}, l.whole(score));
  Value sink;
  if (in.getSinks()) {
    sink = a.groupedHeads(in.getSinks());
    most = l.map(a.rows, {l.whole(most), l.at(sink, {1, 2})}, l.compute,
                 [](Scalars &s, ValueRange x) { return s.max(x[0], x[1]); });
  }
  Value p =
      l.map(a.scores, {l.whole(score), l.at(most, {0, 1, 2, 3})}, l.compute,
            [](Scalars &s, ValueRange x) { return power(s, x[0], x[1]); });
  Value total = l.sum(a.scores, {4}, {l.whole(p)},
                      [](Scalars &, ValueRange x) { return x[0]; });
  if (sink)
    total = l.map(a.rows, {l.whole(total), l.whole(most), l.at(sink, {1, 2})},
                  l.compute, [](Scalars &s, ValueRange x) {
                    return s.add(x[0], power(s, x[2], x[1]));
                  });
  if (t.options.dropout)
    p = l.map(a.scores, {l.whole(p)}, l.compute, [&](Scalars &s, ValueRange x) {
      return t.dropAt(s, a.position(s), x[0]);
    });
  auto type = plainTensor(getResult().getType());
  Value out = l.map({t.batch, t.s, t.kvHeads, a.members, t.dv},
                    {l.whole(a.overKeys(p, t.v)), l.at(total, {0, 2, 3, 1})},
                    type.getElementType(), [](Scalars &s, ValueRange x) {
                      return s.div(x[0], orOne(s, x[1]));
                    });
  results.push_back(l.reshape(out, type.getShape()));
  if (!getLse())
    return success();
  Value lse =
      l.map(a.rows, {l.whole(most), l.whole(total)}, elementOf(getLse()),
            [](Scalars &s, ValueRange x) {
              Value none = arith::CmpFOp::create(
                  s.b, s.loc, arith::CmpFPredicate::OEQ, x[1], s.f(0));
              return s.select(none, s.negInf(), s.add(x[0], s.log(x[1])));
            });
  results.push_back(l.reshape(lse, shapeOf(getLse())));
  return success();
}

bool act::takesTurns(AttentionGradOp op) {
  return !op.getDq().use_empty() &&
         (!op.getDk().use_empty() || !op.getDv().use_empty());
}

/// Without turns only delta is used. The other workspaces keep their places in
/// the list, with one number each.
SmallVector<RankedTensorType> AttentionGradOp::getWorkspaceTypes() {
  auto q = cast<RankedTensorType>(getQ().getType());
  auto lse = cast<RankedTensorType>(getLse().getType());
  Type wide = computeType(q.getElementType());
  Type i32 = Builder(getContext()).getI32Type();
  auto number = [](Type type) { return RankedTensorType::get({1}, type); };
  if (!takesTurns(*this))
    return {number(wide), lse, number(i32), number(i32)};
  return {withElement(q, wide), lse, withElement(lse, i32), number(i32)};
}

void act::attentionGradBegin(OpBuilder &b, AttentionGradOp op,
                             ValueRange operands,
                             AttentionGradWorkspace &begun) {
  GradSums g(b, op, AttentionGradOp::Adaptor(operands, op));
  // All by rows: memory is dense, and zeros have no order.
  SmallVector<int64_t> wide(g.rows);
  wide.push_back(g.t.d);
  Type i32 = b.getI32Type();
  begun.sum = g.l.zeros(wide, g.l.compute);
  begun.delta = g.l.rounded(g.delta, elementOf(op.getLse()));
  begun.turns = g.l.zeros(g.rows, i32);
  begun.ticket = g.l.zeros({1}, i32);
}

LogicalResult act::attentionGradKeys(OpBuilder &b, AttentionGradOp op,
                                     ValueRange operands, Value delta,
                                     Value &dk, Value &dv, Value &sum) {
  if (failed(check(op)))
    return failure();
  GradSums g(b, op, AttentionGradOp::Adaptor(operands, op), delta);
  SmallVector<Value> of = g.scoreGrads(true);
  auto k = plainTensor(op.getDk().getType());
  auto v = plainTensor(op.getDv().getType());
  dk = g.l.reshape(g.overQueries(of[0], g.q, k.getElementType(), g.factor()),
                   k.getShape());
  dv = g.l.reshape(g.overQueries(of[1], g.grad, v.getElementType()),
                   v.getShape());
  sum = g.l.reshape(g.overKeys(of[0], g.t.k), shapeOf(op.getDq()));
  return success();
}

void act::attentionGradEnd(OpBuilder &b, AttentionGradOp op,
                           ValueRange operands, Value sum, Value &dq) {
  LinalgBuilder l(b, op.getLoc(), {sum.getType()});
  double factor =
      factorOf(attentionOptions(op, AttentionGradOp::Adaptor(operands, op)));
  auto type = plainTensor(op.getDq().getType());
  dq =
      l.map(type.getShape(), {l.whole(sum)}, type.getElementType(),
            [&](Scalars &s, ValueRange x) { return s.mul(x[0], s.f(factor)); });
}

// dsinks[h] = - sum over rows of exp(sink - lse) * delta.
LogicalResult act::attentionGradSinks(OpBuilder &b, AttentionGradOp op,
                                      ValueRange operands, Value delta,
                                      Value &dsinks) {
  AttentionGradOp::Adaptor in(operands, op);
  GradSums g(b, op, in, delta);
  auto type = plainTensor(cast<RankedTensorType>(op.getDsinks().getType()));
  Value sum = g.l.sum(g.rows, {0, 3},
                      {g.l.at(g.groupedHeads(in.getSinks()), {1, 2}),
                       g.l.whole(g.lse), g.l.whole(g.delta)},
                      [](Scalars &s, ValueRange x) {
                        Value p = s.exp(s.sub(x[0], x[1]));
                        // No key and a sink of -inf: nothing in the
                        // denominator.
                        p = s.select(s.isNegInf(x[1]), s.f(0), p);
                        return s.neg(s.mul(p, x[2]));
                      });
  dsinks =
      g.l.reshape(g.l.rounded(sum, type.getElementType()), type.getShape());
  return success();
}

LogicalResult act::attentionGradBias(OpBuilder &b, AttentionGradOp op,
                                     ValueRange operands, Value delta,
                                     Value &dbias) {
  if (failed(check(op)))
    return failure();
  GradSums g(b, op, AttentionGradOp::Adaptor(operands, op), delta);
  auto type = plainTensor(cast<RankedTensorType>(op.getDbias().getType()));
  SmallVector<int64_t> kept = g.biasLoops(), summed;
  for (int64_t loop = 0; loop < 5; ++loop)
    if (!llvm::is_contained(kept, loop))
      summed.push_back(loop);
  Value ds = g.scoreGrads(false, true)[0];
  if (!summed.empty())
    ds = g.l.sum(g.scores, summed, {g.l.whole(ds)},
                 [](Scalars &, ValueRange x) { return x[0]; });
  dbias = g.l.reshape(g.l.rounded(ds, type.getElementType()), type.getShape());
  return success();
}

LogicalResult AttentionGradOp::lowerToSums(OpBuilder &b, ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  Value sum, dq, dk, dv, dsinks, dbias;
  if (failed(attentionGradKeys(b, *this, operands, {}, dk, dv, sum)) ||
      (getDsinks() &&
       failed(attentionGradSinks(b, *this, operands, {}, dsinks))) ||
      (getDbias() && failed(attentionGradBias(b, *this, operands, {}, dbias))))
    return failure();
  attentionGradEnd(b, *this, operands, sum, dq);
  results.append({dq, dk, dv});
  for (Value other : {dsinks, dbias})
    if (other)
      results.push_back(other);
  return success();
}
