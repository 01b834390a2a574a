// SPDX-License-Identifier: Apache-2.0
//
// Tiles of scores as IR: slices of the operands, sums over tiles, and the score
// of an element with its slope. AttentionTiles.h has the drawing; the loops
// over tiles are in the lowerings.
#include "dialects/act/AttentionTiles.h"
#include "dialects/act/ScoreRegion.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace act {

using Tile = AttentionTiles::Tile;

// A row that has seen nothing has the maximum -inf, and -inf - -inf would be
// NaN. It is shifted by 0 instead.
Value power(Scalars &s, Value x, Value most) {
  return s.exp(s.sub(x, s.select(s.isNegInf(most), s.f(0), most)));
}

// One block if `size` fits in it, else blocks of nearly equal length.
static int64_t blockLength(int64_t size, int64_t wanted) {
  int64_t count = (size + wanted - 1) / wanted;
  return (size + count - 1) / count;
}

AttentionTiles::AttentionTiles(OpBuilder &b, Location loc, Value q, Value k,
                               Value v, const Options &options)
    : b(b), loc(loc), l(b, loc, {q.getType()}), options(options) {
  this->q = dense(q);
  this->k = dense(k);
  this->v = dense(v);
  ArrayRef<int64_t> query = shapeOf(this->q), keys = shapeOf(this->k);
  batch = query[0];
  s = query[1];
  heads = query[2];
  d = query[3];
  kv = keys[1];
  kvHeads = keys[2];
  dv = shapeOf(this->v)[3];
  rows = blockLength(s, 64);
  columns = blockLength(kv, kv > 1024 ? 128 : 64);
  if (options.dropout)
    key = preparePhilox(b, loc, options.seed, options.step, options.site);
}

static SmallVector<int64_t> withBatch(Value tensor, size_t rank) {
  SmallVector<int64_t> shape(shapeOf(tensor));
  if (shape.size() < rank)
    shape.insert(shape.begin(), 1);
  return shape;
}
Value AttentionTiles::dense(Value tensor) {
  return l.reshape(tensor, withBatch(tensor, 4));
}
Value AttentionTiles::denseStatistic(Value tensor) {
  return l.reshape(tensor, withBatch(tensor, 3));
}

SmallVector<int64_t> AttentionTiles::biasShape() {
  return withBatch(options.bias, 4);
}
Value AttentionTiles::denseBias() {
  return l.reshape(options.bias, biasShape());
}

Value AttentionTiles::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}
Value AttentionTiles::add(Value x, Value y) {
  return arith::AddIOp::create(b, loc, x, y);
}
Value AttentionTiles::sub(Value x, Value y) {
  return arith::SubIOp::create(b, loc, x, y);
}
Value AttentionTiles::min(Value x, Value y) {
  return arith::MinSIOp::create(b, loc, x, y);
}
Value AttentionTiles::max(Value x, Value y) {
  return arith::MaxSIOp::create(b, loc, x, y);
}

Value AttentionTiles::kvHead(Value head) {
  if (heads == kvHeads)
    return head;
  return arith::DivUIOp::create(b, loc, head, index(heads / kvHeads));
}
// All blocks have one static size. The last one is moved back until it fits, so
// it may repeat elements of the block before. score() masks repeated keys, and
// forEachBlock() cuts repeated rows off.
Value AttentionTiles::rowOf(Value firstRow) {
  return s % rows ? min(firstRow, index(s - rows)) : firstRow;
}
Value AttentionTiles::columnOf(Value firstColumn) {
  return kv % columns ? min(firstColumn, index(kv - columns)) : firstColumn;
}

Value AttentionTiles::rowsOf(Value tensor, Value batch, Value row, Value head,
                             int64_t count) {
  int64_t width = shapeOf(tensor)[3];
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get({count, width}, elementOf(tensor)), tensor,
      ArrayRef<OpFoldResult>{batch, row, head, zero},
      ArrayRef<OpFoldResult>{one, b.getIndexAttr(count), one,
                             b.getIndexAttr(width)},
      ArrayRef<OpFoldResult>{one, one, one, one});
}

Value AttentionTiles::statisticOf(Value tensor, const Tile &tile) {
  OpFoldResult one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get({rows}, elementOf(tensor)), tensor,
      ArrayRef<OpFoldResult>{tile.batch, tile.head, tile.row},
      ArrayRef<OpFoldResult>{one, one, b.getIndexAttr(rows)},
      ArrayRef<OpFoldResult>{one, one, one});
}

// The last boundary that is not past token `at` (0 if none), or the first one
// past it (the end if none).
Value AttentionTiles::sequenceBound(Value at, bool low) {
  Value count = index(shapeOf(options.boundaries)[0]);
  Value start = low ? index(0) : index(kv);
  auto loop = scf::ForOp::create(
      b, loc, index(0), count, index(1), ValueRange{start},
      [&](OpBuilder &inner, Location, Value n, ValueRange carried) {
        Value bound =
            tensor::ExtractOp::create(inner, loc, options.boundaries, n);
        bound =
            arith::IndexCastOp::create(inner, loc, inner.getIndexType(), bound);
        Value before = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::sle, bound, at);
        Value counts = bound;
        if (low)
          counts =
              arith::SelectOp::create(inner, loc, before, bound, carried[0]);
        else
          counts =
              arith::SelectOp::create(inner, loc, before, carried[0], bound);
        Value next;
        if (low)
          next = arith::MaxSIOp::create(inner, loc, carried[0], counts);
        else
          next = arith::MinSIOp::create(inner, loc, carried[0], counts);
        scf::YieldOp::create(inner, loc, next);
      });
  return loop.getResult(0);
}

// The same for every row, as i32.
Value AttentionTiles::rowBounds(Value first, int64_t count, bool low) {
  int64_t boundaries = shapeOf(options.boundaries)[0];
  return l.reduce(
      {count, boundaries}, {1}, {l.at(options.boundaries, {1})},
      b.getI32IntegerAttr(low ? 0 : kv),
      [&](Scalars &s, ValueRange x) -> Value {
        Value token = arith::AddIOp::create(s.b, s.loc, first, s.loop(0));
        token = arith::IndexCastOp::create(s.b, s.loc, s.b.getI32Type(), token);
        Value before = arith::CmpIOp::create(
            s.b, s.loc, arith::CmpIPredicate::sle, x[0], token);
        // Boundaries on the other side become the reduction's neutral element.
        if (low)
          return arith::MaxSIOp::create(s.b, s.loc, x[1],
                                        s.select(before, x[0], s.i32(0)));
        return arith::MinSIOp::create(s.b, s.loc, x[1],
                                      s.select(before, s.i32(kv), x[0]));
      },
      b.getI32Type());
}

void AttentionTiles::setSequences(Tile &tile) {
  if (!options.boundaries)
    return;
  tile.rowLow = rowBounds(tile.row, rows, true);
  tile.rowHigh = rowBounds(tile.row, rows, false);
}

// A key block outside of the range has no visible score. Inside of it scores
// are still masked one by one, because the range is that of all rows together.
// The lower end is rounded down, so that blocks start at the same columns for
// every row.
std::pair<Value, Value> AttentionTiles::columnRange(const Tile &tile) {
  Value low = index(0), high = index(kv);
  // The keys visible to the last row.
  Value last = add(tile.row, index(rows - 1 + shift()));
  if (options.causal)
    high = max(min(high, add(last, index(1))), index(0));
  if (options.window)
    low = max(low, add(tile.row, index(shift() - *options.window + 1)));
  if (options.boundaries) {
    low = max(low, sequenceBound(tile.row, true));
    high = min(high, sequenceBound(last, false));
  }
  Value block = index(columns);
  low = arith::MulIOp::create(
      b, loc, arith::DivUIOp::create(b, loc, low, block), block);
  return {low, high};
}

std::pair<Value, Value> AttentionTiles::rowRange(const Tile &tile) {
  Value low = index(0), high = index(s);
  Value last = add(tile.column, index(columns - 1));
  if (options.causal)
    low = max(low, add(tile.column, index(-shift())));
  if (options.window) // i + shift - j < window
    high =
        max(min(high, add(last, index(*options.window - shift()))), index(0));
  if (options.boundaries) {
    low = max(low, sequenceBound(tile.column, true));
    high = min(high, sequenceBound(last, false));
  }
  Value block = index(rows);
  low = arith::MulIOp::create(
      b, loc, arith::DivUIOp::create(b, loc, low, block), block);
  return {low, high};
}

Value AttentionTiles::product(Value x, Value y) {
  return l.sum({shapeOf(x)[0], shapeOf(y)[0], shapeOf(x)[1]}, {2},
               {l.at(x, {0, 2}), l.at(y, {1, 2})},
               [](Scalars &s, ValueRange in) { return s.mul(in[0], in[1]); });
}

// A generic that goes on from the values of `out` instead of a neutral element,
// so that an accumulator is updated in its own memory.
static Value genericOn(LinalgBuilder &l, Value out, AffineMap outMap,
                       ArrayRef<LinalgBuilder::Input> inputs, int64_t loops,
                       ArrayRef<int64_t> reduced, LinalgBuilder::Body body) {
  OpBuilder &b = l.b;
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const LinalgBuilder::Input &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(input.map ? AffineMap::get(loops, 0, input.map.getResults(),
                                              b.getContext())
                             : b.getMultiDimIdentityMap(loops));
  }
  maps.push_back(outMap);
  SmallVector<utils::IteratorType> iterators(loops,
                                             utils::IteratorType::parallel);
  for (int64_t dim : reduced)
    iterators[dim] = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      b, l.loc, TypeRange{out.getType()}, tensors, ValueRange{out}, maps,
      iterators, [&](OpBuilder &inner, Location at, ValueRange args) {
        Scalars s(inner, at, l.compute);
        SmallVector<Value> values;
        for (Value arg : args)
          values.push_back(isa<FloatType>(arg.getType())
                               ? convertFloat(inner, at, arg, l.compute)
                               : arg);
        linalg::YieldOp::create(inner, at, body(s, values));
      });
  return generic.getResult(0);
}

Value AttentionTiles::accumulate(Value acc, Value x, Value y, bool transposed) {
  auto d = [&](unsigned i) { return b.getAffineDimExpr(i); };
  AffineMap out = AffineMap::get(3, 0, {d(0), d(1)}, b.getContext());
  return genericOn(
      l, acc, out,
      {transposed ? l.at(x, {2, 0}) : l.at(x, {0, 2}), l.at(y, {2, 1})}, 3, {2},
      [](Scalars &s, ValueRange in) {
        return s.add(in[2], s.mul(in[0], in[1]));
      });
}

Value AttentionTiles::update(Value out, ArrayRef<LinalgBuilder::Input> inputs,
                             LinalgBuilder::Body body) {
  int64_t rank = shapeOf(out).size();
  return genericOn(l, out, b.getMultiDimIdentityMap(rank), inputs, rank, {},
                   body);
}

Value AttentionTiles::addOver(Value acc, Value x, ArrayRef<int64_t> loops,
                              ArrayRef<int64_t> summed) {
  SmallVector<AffineExpr> exprs;
  for (int64_t loop : loops)
    exprs.push_back(b.getAffineDimExpr(loop));
  return genericOn(
      l, acc, AffineMap::get(2, 0, exprs, b.getContext()), {l.whole(x)}, 2,
      summed, [](Scalars &s, ValueRange in) { return s.add(in[1], in[0]); });
}

SmallVector<LinalgBuilder::Input>
AttentionTiles::scoreInputs(const Tile &tile) {
  SmallVector<LinalgBuilder::Input> inputs;
  if (options.bias) {
    Value bias = denseBias();
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    SmallVector<OpFoldResult> offsets{tile.batch, tile.head, tile.row,
                                      tile.column},
        sizes(4, one), strides(4, one);
    SmallVector<int64_t> size, loops;
    // A dimension of size 1 stands for all positions: it is read at 0 and has
    // no loop.
    for (auto [i, n] : llvm::enumerate(shapeOf(bias))) {
      if (n == 1) {
        offsets[i] = zero;
      } else if (i >= 2) {
        loops.push_back(i - 2);
        size.push_back(i == 2 ? rows : columns);
        sizes[i] = b.getIndexAttr(size.back());
      }
    }
    Value of = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(size, elementOf(bias)), bias, offsets,
        sizes, strides);
    inputs.push_back(l.at(of, loops));
  }
  if (options.mask) {
    ArrayRef<int64_t> shape = shapeOf(options.mask);
    bool ofPairs = shape.size() == 3; // [b, s, s_kv], or [1, s, s_kv] for all b
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    SmallVector<OpFoldResult> offsets{
        ofPairs && shape[0] == 1 ? zero : OpFoldResult(tile.batch)},
        sizes{one}, strides(shape.size(), one);
    SmallVector<int64_t> size;
    if (ofPairs) {
      offsets.push_back(tile.row);
      size.push_back(rows);
    }
    offsets.push_back(tile.column);
    size.push_back(columns);
    for (int64_t n : size)
      sizes.push_back(b.getIndexAttr(n));
    Value bits = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(size, b.getI1Type()), options.mask,
        offsets, sizes, strides);
    inputs.push_back(ofPairs ? l.whole(bits) : l.at(bits, {1}));
  }
  if (options.boundaries) {
    inputs.push_back(l.at(tile.rowLow, {0}));
    inputs.push_back(l.at(tile.rowHigh, {0}));
  }
  return inputs;
}

static Value compare(Scalars &s, arith::CmpIPredicate predicate, Value x,
                     Value y) {
  return arith::CmpIOp::create(s.b, s.loc, predicate, x, y);
}

static AttentionTiles::Position positionIn(Scalars &s, const Tile &tile) {
  return {tile.batch, tile.head,
          arith::AddIOp::create(s.b, s.loc, tile.row, s.loop(0)),
          arith::AddIOp::create(s.b, s.loc, tile.column, s.loop(1))};
}

AttentionTiles::Score AttentionTiles::score(Scalars &s, const Tile &tile,
                                            Value raw, ValueRange inputs,
                                            bool wantSlope, bool rowsRepeat) {
  Position at = positionIn(s, tile);
  SmallVector<Value> others;
  if (kv % columns)
    others.push_back(
        compare(s, arith::CmpIPredicate::sge, at.key, tile.firstColumn));
  if (rowsRepeat && this->s % rows)
    others.push_back(
        compare(s, arith::CmpIPredicate::sge, at.query, tile.firstRow));
  return scoreAt(s, at, raw, inputs, wantSlope, others);
}

// The order is that of the op's definition: scale, softcap, bias, score region,
// masks. The slope follows it by the chain rule. The bias is added behind the
// softcap, so its slope has only the region's factor.
AttentionTiles::Score AttentionTiles::scoreAt(Scalars &s, const Position &at,
                                              Value raw, ValueRange inputs,
                                              bool wantSlope,
                                              ValueRange others) {
  OpBuilder &in = s.b;
  Value i = at.query, j = at.key;
  Value value = s.mul(s.f(options.scale), raw);
  Value slope = wantSlope ? s.f(options.scale) : Value();
  if (options.softcap) {
    Value t = s.tanh(s.div(value, s.f(*options.softcap)));
    value = s.mul(s.f(*options.softcap), t);
    if (wantSlope)
      slope = s.mul(slope, s.sub(s.f(1), s.mul(t, t)));
  }
  Value biasSlope = wantSlope ? s.f(1) : Value();
  if (options.bias) {
    value = s.add(value, inputs[0]);
    inputs = inputs.drop_front();
  }
  if (options.score) {
    ScoreAndSlope inlined = inlineScoreRegion(
        s, *options.score, {value, at.batch, at.head, i, j}, wantSlope);
    value = inlined.score;
    if (wantSlope) {
      biasSlope = inlined.slope ? inlined.slope : s.f(0);
      slope = inlined.slope ? s.mul(slope, inlined.slope) : s.f(0);
    }
  }
  Value visible;
  auto require = [&](Value condition) {
    visible = visible ? arith::AndIOp::create(in, s.loc, visible, condition)
                      : condition;
  };
  if (options.causal || options.window) {
    Value row =
        shift() ? arith::AddIOp::create(in, s.loc, i, s.index(shift())) : i;
    if (options.causal)
      require(compare(s, arith::CmpIPredicate::sle, j, row));
    if (options.window)
      require(compare(s, arith::CmpIPredicate::slt,
                      arith::SubIOp::create(in, s.loc, row, j),
                      s.index(*options.window)));
  }
  for (Value condition : others)
    require(condition);
  if (options.mask) {
    require(inputs[0]);
    inputs = inputs.drop_front();
  }
  if (options.boundaries) {
    Value key = arith::IndexCastOp::create(in, s.loc, in.getI32Type(), j);
    require(compare(s, arith::CmpIPredicate::sge, key, inputs[0]));
    require(compare(s, arith::CmpIPredicate::slt, key, inputs[1]));
  }
  if (visible)
    value = s.select(visible, value, s.negInf());
  return {value, slope, biasSlope, visible};
}

Value AttentionTiles::drop(Scalars &s, const Tile &tile, Value x) {
  return options.dropout ? dropAt(s, positionIn(s, tile), x) : x;
}

// The random number belongs to the element's index in [b, heads, s, s_kv]. So
// forward, gradient and every tiling drop the same elements, and no mask is
// saved.
Value AttentionTiles::dropAt(Scalars &s, const Position &at, Value x) {
  if (!options.dropout)
    return x;
  auto mulAdd = [&](Value a, int64_t size, Value c) -> Value {
    a = arith::MulIOp::create(s.b, s.loc, a, s.index(size));
    return arith::AddIOp::create(s.b, s.loc, a, c);
  };
  Value element = mulAdd(
      mulAdd(mulAdd(at.batch, heads, at.head), this->s, at.query), kv, at.key);
  element = arith::IndexCastOp::create(s.b, s.loc, s.b.getI64Type(), element);
  Value keep = philoxAtLeast(s, *key, element, *options.dropout);
  return s.select(keep, s.mul(x, s.f(1 / (1 - *options.dropout))), s.f(0));
}

// Rows that the last block shares with the one before are cut off before they
// are stored: the blocks run in parallel and must not write to one place.
SmallVector<Value> AttentionTiles::forEachBlock(
    int64_t batch, int64_t heads, int64_t length, int64_t block,
    ArrayRef<Output> outputs,
    function_ref<SmallVector<Value>(Value, Value, Value)> body) {
  SmallVector<Value> inits;
  for (const Output &output : outputs)
    inits.push_back(output.tensor);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  auto forall = scf::ForallOp::create(
      b, loc, ArrayRef<OpFoldResult>{zero, zero, zero},
      ArrayRef<OpFoldResult>{b.getIndexAttr(batch), b.getIndexAttr(heads),
                             b.getIndexAttr(length)},
      ArrayRef<OpFoldResult>{one, one, b.getIndexAttr(block)}, inits,
      std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  Value n = forall.getInductionVar(0), head = forall.getInductionVar(1),
        first = forall.getInductionVar(2);
  SmallVector<Value> tiles = body(n, head, first);
  OpFoldResult count = b.getIndexAttr(block), skip = zero;
  if (length % block) {
    Value start = min(first, index(length - block));
    Value seen = sub(first, start);
    skip = seen;
    count = sub(index(block), seen);
  }
  for (auto [output, tile] : llvm::zip(outputs, tiles)) {
    SmallVector<int64_t> shape(shapeOf(tile));
    SmallVector<OpFoldResult> offsets(shape.size(), zero), sizes,
        strides(shape.size(), one);
    for (int64_t size : shape)
      sizes.push_back(b.getIndexAttr(size));
    offsets[0] = skip;
    sizes[0] = count;
    if (length % block)
      tile =
          tensor::ExtractSliceOp::create(b, loc, tile, offsets, sizes, strides);
  }
  b.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [i, output] : llvm::enumerate(outputs)) {
    ArrayRef<int64_t> shape = shapeOf(output.tensor);
    SmallVector<OpFoldResult> offsets{n, head, zero, zero},
        sizes(shape.size(), one);
    if (output.blockDim == 1)
      std::swap(offsets[1], offsets[2]);
    offsets.resize(shape.size(), zero);
    offsets[output.blockDim] = first;
    sizes[output.blockDim] = count;
    if (shape.size() > 3)
      sizes[3] = b.getIndexAttr(shape[3]);
    SmallVector<OpFoldResult> strides(shape.size(), one);
    tensor::ParallelInsertSliceOp::create(b, loc, tiles[i],
                                          forall.getRegionIterArgs()[i],
                                          offsets, sizes, strides);
  }
  return SmallVector<Value>(forall.getResults());
}

} // namespace act
