// SPDX-License-Identifier: Apache-2.0
//
// A matrix product on one thread, in the usual five loops:
//
//   for nc            columns, NC at a time
//     for kc          depth, KC at a time:  pack B (KC x NC) in panels of NR
//       for mc        rows, MC at a time:   pack A (MC x KC), rows as they are
//         for panel, for MR rows:  MR x NR accumulators in registers over KC
//
// Packing evaluates what the body does to an operand before the product (a
// cast, a scale), so 16-bit operands cost as much as f32 ones. Each element of
// the result is a chain of fused multiply-adds in the order of k, whatever the
// tile sizes: bits depend on the shape only. Rows and columns beyond the edge
// are computed from whatever is in the buffers and masked when stored.
#include "passes/groups-to-host/ContractionMatch.h"
#include "passes/groups-to-host/HostVectorizer.h"
#include "passes/groups-to-host/Passes.h"

using namespace mlir;
using act::BodyEvaluator;
using act::Lanes;

namespace {

constexpr int64_t kMc = 256, kNc = 256, kKc = 256;

class Product {
public:
  Product(linalg::GenericOp op, act::Contraction contraction, RewriterBase &b)
      : op(op), c(std::move(contraction)), b(b), loc(op.getLoc()) {
    element = cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType();
    ranges = llvm::to_vector(op.getStaticLoopRanges());
    int64_t bits = 512;
    if (auto attr = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(
            act::kVectorBitsAttr))
      bits = attr.getInt();
    // Accumulators, two vectors of B and one of A fit in the registers: 8 * 2 +
    // 3 of AVX-512's 32, 6 * 2 + 3 of AVX2's 16.
    lanes = bits / element.getIntOrFloatBitWidth();
    vectors = 2;
    rows = bits >= 512 ? 8 : 6;
  }

  LogicalResult run() {
    if (!assignRoles())
      return failure();
    b.setInsertionPoint(op);
    bounds = act::loopBounds(op, b);
    ivs.assign(bounds.size(), Value());
    zero = index(0);
    chooseTiles();
    SmallVector<scf::ForOp> outer;
    for (auto *dims : {&c.batch, &c.m, &c.n, &c.k})
      for (unsigned d : *dims)
        if (d != m && d != n && d != k)
          ivs[d] = enter(zero, bounds[d], 1);
    Value nc = block(n, NC), nSize = extent(n, nc, NC);
    Value kc = block(k, KC), kSize = extent(k, kc, KC);
    packB(nc, nSize, kc, kSize);
    Value mc = block(m, MC), mSize = extent(m, mc, MC);
    packA(mc, mSize, kc, kSize);
    multiply(mc, mSize, nc, nSize, kSize);
    b.eraseOp(op);
    return success();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, int64_t y) {
    return y == 1 ? x : arith::MulIOp::create(b, loc, x, index(y)).getResult();
  }
  Value affineOf(AffineExpr expr, ArrayRef<Value> symbols) {
    return getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineApply(b, loc, expr,
                                              getAsOpFoldResult(symbols)));
  }
  Value enter(Value lower, Value upper, int64_t step) {
    auto loop = scf::ForOp::create(b, loc, lower, upper, index(step));
    b.setInsertionPoint(loop.getBody()->getTerminator());
    return loop.getInductionVar();
  }
  /// A loop over blocks of `step`; none if there is only one.
  Value block(unsigned d, int64_t step) {
    if (!ShapedType::isDynamic(ranges[d]) && ranges[d] <= step)
      return zero;
    return enter(zero, bounds[d], step);
  }
  Value extent(unsigned d, Value from, int64_t step) {
    if (!ShapedType::isDynamic(ranges[d])) {
      if (ranges[d] <= step)
        return bounds[d];
      if (ranges[d] % step == 0)
        return index(step);
    }
    return arith::MinUIOp::create(b, loc, index(step), sub(bounds[d], from));
  }

  /// N is the dimension along which the result is contiguous; the two factors
  /// change places when that is one of the left factor's.
  bool assignRoles() {
    OpOperand *out = op.getDpsInitOperand(0);
    auto type = cast<MemRefType>(out->get().getType());
    AffineMap map = op.getMatchingIndexingMap(out);
    if (!type.isLastDimUnitStride() || !map.getNumResults())
      return false;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last)
      return false;
    n = last.getPosition();
    if (llvm::is_contained(c.m, n)) {
      std::swap(c.m, c.n);
      std::swap(c.lhs, c.rhs);
    } else if (!llvm::is_contained(c.n, n)) {
      return false;
    }
    auto longest = [&](ArrayRef<unsigned> dims) {
      unsigned best = dims.back();
      for (unsigned d : dims)
        if (!ShapedType::isDynamic(ranges[d]) &&
            !ShapedType::isDynamic(ranges[best]) && ranges[d] > ranges[best])
          best = d;
      return best;
    };
    m = longest(c.m);
    k = longest(c.k);
    return true;
  }

  /// Blocks of about equal size: 300 columns are two of 160, not 256 and 44.
  void chooseTiles() {
    auto fit = [&](unsigned d, int64_t limit, int64_t unit) {
      if (ShapedType::isDynamic(ranges[d]))
        return limit;
      int64_t pieces = llvm::divideCeil(ranges[d], limit);
      return int64_t(llvm::alignTo(llvm::divideCeil(ranges[d], pieces), unit));
    };
    if (!ShapedType::isDynamic(ranges[n]) && ranges[n] <= lanes)
      vectors = 1;
    if (!ShapedType::isDynamic(ranges[m]))
      rows = std::min(rows, ranges[m]);
    NR = vectors * lanes;
    MC = fit(m, kMc / rows * rows, rows);
    NC = fit(n, kNc, NR);
    KC = fit(k, kKc, lanes);
  }

  /// Whether what `factor` reads first is contiguous along `d`.
  bool isContiguous(Value factor, unsigned d) {
    if (auto arg = dyn_cast<BlockArgument>(factor)) {
      if (arg.getOwner() != op.getBody())
        return false;
      OpOperand &operand = op->getOpOperand(arg.getArgNumber());
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (!type || !type.isLastDimUnitStride() || !map.getNumResults())
        return false;
      for (AffineExpr expr : map.getResults().drop_back())
        if (expr.isFunctionOfDim(d))
          return false;
      return map.getResults().back() == getAffineDimExpr(d, op.getContext());
    }
    Operation *def = factor.getDefiningOp();
    return def && def->getBlock() == op.getBody() &&
           llvm::any_of(def->getOperands(),
                        [&](Value v) { return isContiguous(v, d); });
  }

  BodyEvaluator evaluator(int64_t lane, int64_t width) {
    return BodyEvaluator(op, b, ivs, lane, width);
  }

  Value buffer(ArrayRef<int64_t> shape) {
    return memref::AllocOp::create(b, loc, MemRefType::get(shape, element),
                                   b.getI64IntegerAttr(64));
  }

  /// for (i = 0; i + width <= size; i += width) body(i, width), and the rest
  /// one by one.
  void inVectors(Value size, int64_t width,
                 llvm::function_ref<void(Value, int64_t)> body) {
    AffineExpr s = b.getAffineSymbolExpr(0);
    Value whole = affineOf(s.floorDiv(width) * width, {size});
    {
      OpBuilder::InsertionGuard guard(b);
      body(enter(zero, whole, width), width);
    }
    if (auto constant = getConstantIntValue(OpFoldResult(size)))
      if (*constant % width == 0)
        return;
    OpBuilder::InsertionGuard guard(b);
    body(enter(whole, size, 1), 1);
  }

  /// Rows of A keep their contiguous direction; the kernel reads scalars, so
  /// either works.
  void packA(Value mc, Value mSize, Value kc, Value kSize) {
    OpBuilder::InsertionGuard guard(b);
    alongK = isContiguous(c.lhs, k) || !isContiguous(c.lhs, m);
    unsigned slow = alongK ? m : k, fast = alongK ? k : m;
    Value slowBase = alongK ? mc : kc, fastBase = alongK ? kc : mc;
    packedA = alongK ? buffer({MC, KC}) : buffer({KC, MC});
    Value i = enter(zero, alongK ? mSize : kSize, 1);
    ivs[slow] = add(slowBase, i);
    inVectors(alongK ? kSize : mSize, lanes, [&](Value j, int64_t width) {
      ivs[fast] = add(fastBase, j);
      Value value = evaluator(fast, width).getVector(c.lhs);
      if (width == 1)
        memref::StoreOp::create(b, loc, value, packedA, ValueRange{i, j});
      else
        vector::StoreOp::create(b, loc, value, packedA, ValueRange{i, j});
    });
  }

  /// Panels of NR columns, so that the inner loop reads B from front to back:
  /// [panel][k][NR].
  void packB(Value nc, Value nSize, Value kc, Value kSize) {
    OpBuilder::InsertionGuard guard(b);
    packedB = buffer({NC / NR, KC, NR});
    AffineExpr s = b.getAffineSymbolExpr(0), p = b.getAffineSymbolExpr(1);
    Value panels = affineOf(s.ceilDiv(NR), {nSize});
    Value panel = enter(zero, panels, 1);
    Value from = add(nc, mul(panel, NR));
    Value width = arith::MinUIOp::create(b, loc, index(NR),
                                         affineOf(s - p * NR, {nSize, panel}));
    if (!isContiguous(c.rhs, n) && isContiguous(c.rhs, k))
      packTransposed(panel, from, width, kc, kSize);
    else
      packStraight(panel, from, width, kc, kSize);
  }

  /// Rows of B are contiguous: a panel's row is a piece of it.
  void packStraight(Value panel, Value from, Value width, Value kc,
                    Value kSize) {
    Value i = enter(zero, kSize, 1);
    ivs[k] = add(kc, i);
    inVectors(width, lanes, [&](Value j, int64_t count) {
      ivs[n] = add(from, j);
      store(evaluator(n, count).getVector(c.rhs), count, {panel, i, j});
    });
  }

  void store(Value value, int64_t count, ValueRange at) {
    if (count == 1)
      memref::StoreOp::create(b, loc, value, packedB, at);
    else
      vector::StoreOp::create(b, loc, value, packedB, at);
  }

  /// Squares of lanes x lanes are read along k and transposed in registers.
  void packTransposed(Value panel, Value from, Value width, Value kc,
                      Value kSize) {
    inVectors(width, lanes, [&](Value j, int64_t count) {
      Value column = add(from, j);
      inVectors(kSize, lanes, [&](Value i, int64_t depth) {
        ivs[k] = add(kc, i);
        if (count > 1 && depth > 1) {
          SmallVector<Value> square;
          for (int64_t l = 0; l < lanes; ++l) {
            ivs[n] = l ? add(column, index(l)) : column;
            square.push_back(evaluator(k, lanes).getVector(c.rhs));
          }
          act::transposeSquare(b, loc, square);
          for (int64_t l = 0; l < lanes; ++l)
            store(square[l], lanes, {panel, l ? add(i, index(l)) : i, j});
          return;
        }
        for (int64_t l = 0; l < count; ++l) {
          ivs[n] = l ? add(column, index(l)) : column;
          BodyEvaluator values = evaluator(k, depth);
          Value value = values.getVector(c.rhs);
          for (int64_t d = 0; d < depth; ++d)
            store(depth == 1
                      ? value
                      : vector::ExtractOp::create(b, loc, value, d).getResult(),
                  1,
                  {panel, d ? add(i, index(d)) : i, l ? add(j, index(l)) : j});
        }
      });
    });
  }

  struct Tile {
    Value rowCount, columnCount; // valid ones
    Value row, column;           // in the iteration space
  };

  SmallVector<Value> outSubscripts(const Tile &tile, int64_t r, int64_t v) {
    SmallVector<Value> at(ivs);
    for (unsigned d : c.k)
      at[d] = zero;
    at[m] = r ? add(tile.row, index(r)) : tile.row;
    at[n] = v ? add(tile.column, index(v * lanes)) : tile.column;
    AffineMap map = op.getIndexingMapsArray().back();
    SmallVector<Value> result;
    for (AffineExpr expr : map.getResults())
      result.push_back(at[cast<AffineDimExpr>(expr).getPosition()]);
    return result;
  }

  /// The lanes of vector `v` in row `r` that are elements of the result. A
  /// masked access neither reads nor writes beyond the edge.
  Value mask(const Tile &tile, int64_t r, int64_t v) {
    Value valid =
        v ? sub(tile.columnCount, index(v * lanes)) : tile.columnCount;
    if (r > 0) {
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                           tile.rowCount, index(r));
      valid = arith::SelectOp::create(b, loc, inside, valid, zero);
    }
    auto type = VectorType::get({lanes}, b.getI1Type());
    return vector::CreateMaskOp::create(b, loc, type, valid);
  }

  /// The two inner loops, over panels of B and rows of A, and the product:
  ///
  ///     acc[r][v] = masked load of the result
  ///     for k:  b[v] = B[panel][k][v]
  ///             for r:  acc[r][v] = fma(broadcast A[r][k], b[v], acc[r][v])
  ///     masked store
  ///
  /// Accumulators start from the result in memory: each block of k continues
  /// the chain of the one before it, so KC does not affect the bits.
  void multiply(Value mc, Value mSize, Value nc, Value nSize, Value kSize) {
    AffineExpr s = b.getAffineSymbolExpr(0), p = b.getAffineSymbolExpr(1);
    Value panels = affineOf(s.ceilDiv(NR), {nSize});
    Value panel = enter(zero, panels, 1);
    Value i = enter(zero, mSize, rows);
    Tile tile;
    tile.row = add(mc, i);
    tile.column = add(nc, mul(panel, NR));
    tile.rowCount = sub(mSize, i);
    tile.columnCount = affineOf(s - p * NR, {nSize, panel});
    auto type = VectorType::get({lanes}, element);
    Value out = op.getDpsInits()[0];
    Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    SmallVector<Value> acc;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        acc.push_back(vector::MaskedLoadOp::create(b, loc, type, out,
                                                   outSubscripts(tile, r, v),
                                                   mask(tile, r, v), none));
    auto loop = scf::ForOp::create(b, loc, zero, kSize, index(1), acc);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value depth = loop.getInductionVar();
      SmallVector<Value> columns, next;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(vector::LoadOp::create(
            b, loc, type, packedB, ValueRange{panel, depth, index(v * lanes)}));
      for (int64_t r = 0; r < rows; ++r) {
        Value at = r ? add(i, index(r)) : i;
        Value scalar = memref::LoadOp::create(b, loc, packedA,
                                              alongK ? ValueRange{at, depth}
                                                     : ValueRange{depth, at});
        Value row = vector::BroadcastOp::create(b, loc, type, scalar);
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(
              // math.fma: vector.fma leaves contraction to LLVM.
              math::FmaOp::create(b, loc, row, columns[v],
                                  loop.getRegionIterArgs()[r * vectors + v]));
      }
      scf::YieldOp::create(b, loc, next);
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        vector::MaskedStoreOp::create(b, loc, out, outSubscripts(tile, r, v),
                                      mask(tile, r, v),
                                      loop.getResult(r * vectors + v));
  }

  linalg::GenericOp op;
  act::Contraction c;
  RewriterBase &b;
  Location loc;
  Type element;
  SmallVector<int64_t> ranges;
  SmallVector<Value> bounds, ivs;
  unsigned m = 0, n = 0, k = 0;
  int64_t lanes, vectors, rows, NR = 0, MC = 0, NC = 0, KC = 0;
  bool alongK = true;
  Value zero, packedA, packedB;
};

} // namespace

LogicalResult act::lowerContraction(linalg::GenericOp op,
                                    RewriterBase &rewriter) {
  auto contraction = matchContraction(op);
  if (!contraction)
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  return Product(op, *contraction, rewriter).run();
}
