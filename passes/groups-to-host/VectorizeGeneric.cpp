// SPDX-License-Identifier: Apache-2.0
//
// Loops for any linalg.generic on memory. One dimension gets the lanes, the
// others become scalar loops around it:
//
//     parallel lanes    each lane is one element of the result
//     reduction lanes   32 partial results, folded at the end
//     squares           an operand is contiguous along another dimension: it is
//                       read there, and 16 x 16 are transposed in registers
//     points            no dimension suits: one element at a time
//
// BodyEvaluator makes the body of each from the same code.
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/groups-to-host/HostVectorizer.h"
#include "passes/groups-to-host/Passes.h"

using namespace mlir;
using act::BodyEvaluator;
using act::Lanes;

namespace {

/// Number of partial results of a reduction along its contiguous dimension. It
/// is the same for every target, element type and body: the order of additions
/// must not depend on what else the loop computes. Several vectors of a target
/// are independent chains, which hide the latency of an addition.
constexpr int64_t kReductionLanes = 32;
constexpr int64_t kLanes = 16; // f32 in 512 bits

bool isParallel(linalg::GenericOp op, unsigned d) {
  return op.getIteratorTypesArray()[d] == utils::IteratorType::parallel;
}

/// The cost of non-contiguous accesses with lanes along dimension `d`.
int64_t accessCost(linalg::GenericOp op, unsigned d) {
  int64_t cost = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(d))
      continue;
    bool contiguous =
        cast<MemRefType>(operand.get().getType()).isLastDimUnitStride();
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      AffineExpr expr = map.getResult(i);
      if (i + 1 < map.getNumResults()) {
        contiguous &= !expr.isFunctionOfDim(d);
        continue;
      }
      AffineExpr dim = getAffineDimExpr(d, op.getContext());
      contiguous &= simplifyAffineExpr(expr.replace(dim, dim + 1) - expr,
                                       map.getNumDims(), 0) ==
                    getAffineConstantExpr(1, op.getContext());
    }
    if (!contiguous)
      cost += op.isDpsInit(&operand) ? 3 : 2;
  }
  // Subscripts of the body's own loads.
  op.getBody()->walk([&](memref::LoadOp load) {
    for (auto [i, index] : llvm::enumerate(load.getIndices()))
      if (auto own = index.getDefiningOp<linalg::IndexOp>())
        if (own.getDim() == d && i + 1 < load.getIndices().size())
          cost += 2;
  });
  return cost;
}

/// The operations that fold a new value into each accumulator, if all of them
/// may be reordered into partial results. Partial results start from the
/// neutral element, and nothing else may read an accumulator in between.
bool findCombiners(linalg::GenericOp op, SmallVectorImpl<Operation *> &found) {
  Block *body = op.getBody();
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    BlockArgument acc = op.getRegionOutputArgs()[i];
    Operation *combiner = body->getTerminator()->getOperand(i).getDefiningOp();
    if (!combiner || combiner->getBlock() != body ||
        combiner->getNumOperands() != 2 || !acc.hasOneUse() ||
        *acc.getUsers().begin() != combiner ||
        !isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MulIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combiner) ||
        !arith::getNeutralElement(combiner) || !combiner->hasOneUse())
      return false;
    found.push_back(combiner);
  }
  return true;
}

/// Functions that host-expand-math leaves to libm: those without a polynomial,
/// and all of f64.
bool isLibraryCall(Operation &op) {
  if (isa<math::SqrtOp, math::RsqrtOp, math::FmaOp, math::AbsFOp, math::FloorOp,
          math::CeilOp, math::CopySignOp>(op))
    return false;
  bool polynomial =
      isa<math::ExpOp, math::ExpM1Op, math::LogOp, math::Log2Op, math::Log1pOp,
          math::TanhOp, math::ErfOp, math::AtanOp>(op);
  return !polynomial || op.getResult(0).getType().isF64();
}

/// Whether the body has a form on vectors. A body with a gather has: its loads
/// may be done lane by lane.
bool canVectorize(linalg::GenericOp op) {
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<linalg::IndexOp, memref::LoadOp, arith::ConstantOp>(inner))
      continue;
    if (inner.getNumRegions() || !OpTrait::hasElementwiseMappableTraits(&inner))
      return false;
    // A libm call is one call per element either way.
    if (isa<math::MathDialect>(inner.getDialect()) && isLibraryCall(inner))
      return false;
  }
  return true;
}

class GenericLoops {
public:
  GenericLoops(linalg::GenericOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()) {}

  LogicalResult run() {
    rewriter.setInsertionPoint(op);
    bounds = act::loopBounds(op, rewriter);
    ivs.assign(bounds.size(), Value());
    ranges = llvm::to_vector(op.getStaticLoopRanges());
    zero = constant(0);
    chooseLaneDim();
    chooseCrossDim();
    SmallVector<unsigned> outer;
    for (unsigned d = 0; d < bounds.size(); ++d) {
      if (int64_t(d) == laneDim || int64_t(d) == crossDim)
        continue;
      (isParallel(op, d) ? outer : reductions).push_back(d);
    }
    OpBuilder::InsertionGuard guard(rewriter);
    for (unsigned d : outer)
      enterLoop(d, zero, bounds[d], 1);
    if (laneDim >= 0 && !isParallel(op, laneDim))
      emitLaneReduction();
    else if (crossDim >= 0)
      emitSquares();
    else if (laneDim >= 0)
      emitLaneParallel();
    else
      emitPoints(1);
    rewriter.eraseOp(op);
    return success();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  /// The dimension whose lanes cost least: mostly one along which all operands
  /// are contiguous. -1: the body has no vector form or no dimension is long
  /// enough. The target plays no part, so bits do not depend on it.
  void chooseLaneDim() {
    if (!canVectorize(op))
      return;
    SmallVector<Operation *> unused;
    bool partial = findCombiners(op, unused);
    int64_t best = 1 << 20, bestSize = 0;
    for (unsigned d = 0; d < ranges.size(); ++d) {
      bool dynamic = ShapedType::isDynamic(ranges[d]);
      // Too short for a vector.
      if (!dynamic && ranges[d] < 8)
        continue;
      bool parallel = isParallel(op, d);
      if (!parallel && (!partial || accessCost(op, d) > 0 ||
                        (!dynamic && ranges[d] < kReductionLanes)))
        continue;
      if (parallel && !llvm::all_of(op.getDpsInits(), [&](Value out) {
            AffineMap map = op.getIndexingMapsArray().back();
            (void)out;
            return map.isFunctionOfDim(d);
          }))
        continue;
      int64_t cost = 4 * accessCost(op, d);
      if (!parallel)
        ++cost; // on a tie, lanes that need no tree at the end
      int64_t size = dynamic ? 64 : ranges[d];
      if (cost < best || (cost == best && size >= bestSize))
        best = cost, bestSize = size, laneDim = d;
    }
  }

  /// The dimension along which `operand` is contiguous, when it is not the lane
  /// dimension but depends on that too; -1 otherwise.
  int64_t crossOf(OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || !type.isLastDimUnitStride() || map.getNumResults() < 2 ||
        !map.isProjectedPermutation() || !map.isFunctionOfDim(laneDim))
      return -1;
    int64_t last = map.getDimPosition(map.getNumResults() - 1);
    return last == laneDim ? -1 : last;
  }

  /// An elementwise operation that reads across: squares are read along the
  /// other dimension and transposed in registers.
  void chooseCrossDim() {
    Block *body = op.getBody();
    // The body is cloned for each of 16 rows, so it must be short.
    if (laneDim < 0 || op.getNumReductionLoops() ||
        body->getOperations().size() > 12)
      return;
    for (Operation &inner : body->without_terminator())
      if (isa<linalg::IndexOp, memref::LoadOp>(inner) ||
          isa<math::MathDialect>(inner.getDialect()))
        return;
    int64_t cross = -1;
    for (OpOperand *input : op.getDpsInputOperands())
      if (int64_t found = crossOf(*input); found >= 0) {
        if (cross >= 0 && cross != found)
          return;
        cross = found;
      }
    for (OpOperand &out : op.getDpsInitsMutable())
      if (crossOf(out) >= 0)
        return;
    auto large = [&](int64_t d) {
      return ShapedType::isDynamic(ranges[d]) || ranges[d] >= kLanes;
    };
    if (cross >= 0 && large(cross) && large(laneDim))
      crossDim = cross;
  }

  /// Squares as far as both dimensions go, then the rest in rows of lanes and
  /// in single points.
  void emitSquares() {
    Value laneWhole = wholeVectors(zero, bounds[laneDim], kLanes);
    Value crossWhole = wholeVectors(zero, bounds[crossDim], kLanes);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      enterLoop(laneDim, zero, laneWhole, kLanes);
      {
        OpBuilder::InsertionGuard inner(rewriter);
        enterLoop(crossDim, zero, crossWhole, kLanes);
        emitSquare();
      }
      if (ranges[crossDim] % kLanes ||
          ShapedType::isDynamic(ranges[crossDim])) {
        enterLoop(crossDim, crossWhole, bounds[crossDim], 1);
        emitPoints(kLanes);
      }
    }
    if (ranges[laneDim] % kLanes == 0 &&
        !ShapedType::isDynamic(ranges[laneDim]))
      return;
    enterLoop(laneDim, laneWhole, bounds[laneDim], 1);
    enterLoop(crossDim, zero, bounds[crossDim], 1);
    emitPoints(1);
  }

  /// 16 x 16 points. Operands that are contiguous along the cross dimension are
  /// read in 16 rows along it; transposed, row c has the lanes of cross
  /// position c. The other operands are read along the lanes as always.
  void emitSquare() {
    Value lane = ivs[laneDim], cross = ivs[crossDim];
    auto shifted = [&](Value base, int64_t by) -> Value {
      return by ? arith::AddIOp::create(rewriter, loc, base, constant(by))
                      .getResult()
                : base;
    };
    llvm::DenseMap<Value, SmallVector<Value>> squares;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument arg = op.getMatchingBlockArgument(input);
      if (crossOf(*input) < 0 || arg.use_empty())
        continue;
      SmallVector<Value> square;
      for (int64_t l = 0; l < kLanes; ++l) {
        ivs[laneDim] = shifted(lane, l);
        BodyEvaluator along(op, rewriter, ivs, crossDim, kLanes);
        square.push_back(along.getVector(arg));
      }
      act::transposeSquare(rewriter, loc, square);
      squares[arg] = square;
    }
    ivs[laneDim] = lane;
    for (int64_t c = 0; c < kLanes; ++c) {
      ivs[crossDim] = shifted(cross, c);
      BodyEvaluator evaluator(op, rewriter, ivs, laneDim, kLanes);
      for (auto &[arg, square] : squares)
        evaluator.set(arg, {Lanes::Varying, square[c]});
      SmallVector<Value> results;
      for (Value yielded : op.getBody()->getTerminator()->getOperands())
        results.push_back(evaluator.getVector(yielded));
      for (auto [out, result] : llvm::zip(op.getDpsInitsMutable(), results))
        evaluator.storeOperand(&out, result);
    }
  }

  /// Opens a loop and moves the insertion point into it.
  scf::ForOp enterLoop(unsigned d, Value lower, Value upper, int64_t step,
                       ValueRange iterArgs = {}) {
    auto loop = scf::ForOp::create(rewriter, loc, lower, upper, constant(step),
                                   iterArgs);
    ivs[d] = loop.getInductionVar();
    if (iterArgs.empty())
      rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    else
      rewriter.setInsertionPointToStart(loop.getBody());
    return loop;
  }

  /// `bound` rounded down to a multiple of `width` above `from`.
  Value wholeVectors(Value from, Value bound, int64_t width) {
    AffineExpr b = rewriter.getAffineSymbolExpr(0),
               f = rewriter.getAffineSymbolExpr(1);
    return getValueOrCreateConstantIndexOp(
        rewriter, loc,
        affine::makeComposedFoldedAffineApply(
            rewriter, loc, f + (b - f).floorDiv(width) * width,
            {getAsOpFoldResult(bound), getAsOpFoldResult(from)}));
  }

  /// Lanes are elements of the result, each with a sum of its own. So the width
  /// of a vector changes no bit, and the remainder takes narrower ones.
  void emitLaneParallel() {
    int64_t range = ranges[laneDim];
    SmallVector<int64_t> widths;
    if (!reductions.empty())
      widths = {64, 32, 16, 1}; // several accumulators hide the latency
    else
      widths = {kLanes, 1};
    Value from = zero;
    int64_t done = 0;
    for (int64_t width : widths) {
      if (!ShapedType::isDynamic(range)) {
        if (range - done < width)
          continue;
        done += (range - done) / width * width;
      }
      Value to = width == 1 ? bounds[laneDim]
                            : wholeVectors(from, bounds[laneDim], width);
      OpBuilder::InsertionGuard guard(rewriter);
      evaluateUniform();
      {
        OpBuilder::InsertionGuard inner(rewriter);
        enterLoop(laneDim, from, to, width);
        emitPoints(width);
      }
      from = to;
    }
  }

  /// Values that are the same along the lane dimension are computed before its
  /// loop. Only possible where no other loop is inside.
  void evaluateUniform() {
    if (!reductions.empty())
      return;
    uniforms.clear();
    llvm::DenseSet<Value> varying;
    ivs[laneDim] = zero;
    BodyEvaluator evaluator(op, rewriter, ivs, laneDim, 1);
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument arg = op.getMatchingBlockArgument(&operand);
      if (!isa<MemRefType>(operand.get().getType()) ||
          !op.getMatchingIndexingMap(&operand).isFunctionOfDim(laneDim)) {
        if (op.isDpsInit(&operand))
          varying.insert(arg);
        else if (!arg.use_empty())
          uniforms[arg] = evaluator.get(arg);
      } else {
        varying.insert(arg);
      }
    }
    for (Operation &inner : op.getBody()->without_terminator()) {
      auto index = dyn_cast<linalg::IndexOp>(inner);
      bool varies = index ? int64_t(index.getDim()) == laneDim
                          : llvm::any_of(inner.getOperands(), [&](Value v) {
                              return varying.contains(v);
                            });
      // A nested region may use anything.
      varies |= inner.getNumRegions() > 0;
      for (Value result : inner.getResults())
        if (varies)
          varying.insert(result);
        else if (!isa<arith::ConstantOp>(inner))
          uniforms[result] = evaluator.get(result);
    }
  }

  /// The innermost part when lanes are independent: the reduction loops, if
  /// any, with the outputs in registers, then the stores.
  void emitPoints(int64_t width) {
    SmallVector<Value> accumulators;
    Block *body = op.getBody();
    auto outputs = op.getDpsInitsMutable();
    if (!reductions.empty()) {
      // Subscripts of outputs do not involve reduction dimensions.
      for (unsigned d : reductions)
        ivs[d] = zero;
      BodyEvaluator before(op, rewriter, ivs, laneDim, width);
      for (OpOperand &out : outputs)
        accumulators.push_back(before.toVector(before.loadOperand(&out)));
    }
    SmallVector<scf::ForOp> loops;
    for (unsigned d : reductions) {
      loops.push_back(enterLoop(d, zero, bounds[d], 1, accumulators));
      accumulators = llvm::to_vector(
          llvm::map_range(loops.back().getRegionIterArgs(),
                          [](BlockArgument arg) -> Value { return arg; }));
    }
    BodyEvaluator evaluator(op, rewriter, ivs, laneDim, width);
    for (auto [value, lanes] : uniforms)
      evaluator.set(value, lanes);
    for (auto [i, acc] : llvm::enumerate(accumulators))
      evaluator.set(op.getRegionOutputArgs()[i],
                    {width == 1 ? Lanes::Uniform : Lanes::Varying, acc});
    SmallVector<Value> results;
    for (Value yielded : body->getTerminator()->getOperands())
      results.push_back(evaluator.getVector(yielded));
    for (scf::ForOp loop : llvm::reverse(loops)) {
      rewriter.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(rewriter, loc, results);
      results.assign(loop.getResults().begin(), loop.getResults().end());
      rewriter.setInsertionPointAfter(loop);
    }
    for (unsigned d : reductions)
      ivs[d] = zero;
    BodyEvaluator finish(op, rewriter, ivs, laneDim, width);
    for (auto [out, result] : llvm::zip(outputs, results))
      finish.storeOperand(&out, result);
  }

  Value combine(Operation *combiner, Value acc, Value value,
                BlockArgument arg) {
    bool accFirst = combiner->getOperand(0) == arg;
    OperationState state(loc, combiner->getName(),
                         accFirst ? ValueRange{acc, value}
                                  : ValueRange{value, acc},
                         TypeRange{acc.getType()}, combiner->getAttrs());
    return rewriter.create(state)->getResult(0);
  }

  /// Lane l folds elements l, l + 32, ...; then lanes are folded in a fixed
  /// tree (16 with 16, 8 with 8, ...), and the remainder one by one.
  void emitLaneReduction() {
    SmallVector<Operation *> combiners;
    findCombiners(op, combiners);
    unsigned count = combiners.size();
    SmallVector<Value> state;
    for (unsigned d : reductions)
      ivs[d] = zero;
    ivs[laneDim] = zero;
    auto outputs = op.getDpsInitsMutable();
    BodyEvaluator before(op, rewriter, ivs, laneDim, 1);
    for (Operation *combiner : combiners) {
      TypedAttr neutral = *arith::getNeutralElement(combiner);
      auto type = VectorType::get({kReductionLanes}, neutral.getType());
      state.push_back(arith::ConstantOp::create(
          rewriter, loc, DenseElementsAttr::get(type, Attribute(neutral))));
    }
    for (OpOperand &out : outputs)
      state.push_back(before.loadOperand(&out).value);
    // Other reduction dimensions are outer loops that carry the same state.
    SmallVector<scf::ForOp> loops;
    for (unsigned d : reductions) {
      loops.push_back(enterLoop(d, zero, bounds[d], 1, state));
      state.assign(loops.back().getRegionIterArgs().begin(),
                   loops.back().getRegionIterArgs().end());
    }
    Value from = zero;
    SmallVector<unsigned> others;
    std::swap(others, reductions);
    for (int64_t width : {kReductionLanes, int64_t(1)}) {
      Value to = width == 1 ? bounds[laneDim]
                            : wholeVectors(zero, bounds[laneDim], width);
      unsigned first = width == 1 ? count : 0;
      if (width == 1 && !ShapedType::isDynamic(ranges[laneDim]) &&
          ranges[laneDim] % kReductionLanes == 0)
        break;
      evaluateUniform();
      auto loop = enterLoop(laneDim, from, to, width,
                            ArrayRef<Value>(state).slice(first, count));
      BodyEvaluator evaluator(op, rewriter, ivs, laneDim, width);
      for (auto [value, lanes] : uniforms)
        evaluator.set(value, lanes);
      SmallVector<Value> next;
      for (unsigned i = 0; i < count; ++i) {
        BlockArgument arg = op.getRegionOutputArgs()[i];
        bool accFirst = combiners[i]->getOperand(0) == arg;
        Value term = evaluator.getVector(combiners[i]->getOperand(accFirst));
        next.push_back(
            combine(combiners[i], loop.getRegionIterArgs()[i], term, arg));
      }
      scf::YieldOp::create(rewriter, loc, next);
      rewriter.setInsertionPointAfter(loop);
      for (unsigned i = 0; i < count; ++i)
        state[first + i] = loop.getResult(i);
      from = to;
    }
    std::swap(others, reductions);
    for (scf::ForOp loop : llvm::reverse(loops)) {
      rewriter.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(rewriter, loc, state);
      state.assign(loop.getResults().begin(), loop.getResults().end());
      rewriter.setInsertionPointAfter(loop);
    }
    for (unsigned d : reductions)
      ivs[d] = zero;
    ivs[laneDim] = zero;
    BodyEvaluator finish(op, rewriter, ivs, laneDim, 1);
    // The initial value and the elements that filled no vector come first, then
    // the tree's value.
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument arg = op.getRegionOutputArgs()[i];
      Value tree = state[i];
      for (int64_t width = kReductionLanes / 2; width >= 1; width /= 2) {
        auto half = [&](int64_t offset) -> Value {
          return vector::ExtractStridedSliceOp::create(
              rewriter, loc, tree, ArrayRef<int64_t>{offset},
              ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
        };
        Value low = half(0), high = half(width);
        tree = combine(combiners[i], low, high, arg);
      }
      Value scalar = vector::ExtractOp::create(rewriter, loc, tree, 0);
      Value total = combine(combiners[i], state[count + i], scalar, arg);
      finish.storeOperand(&outputs[i], total);
    }
  }

  linalg::GenericOp op;
  RewriterBase &rewriter;
  Location loc;
  SmallVector<Value> bounds, ivs;
  SmallVector<int64_t> ranges;
  SmallVector<unsigned> reductions;
  llvm::DenseMap<Value, Lanes> uniforms;
  int64_t laneDim = -1, crossDim = -1;
  Value zero;
};

} // namespace

LogicalResult act::vectorizeGeneric(linalg::GenericOp op,
                                    RewriterBase &rewriter) {
  return GenericLoops(op, rewriter).run();
}
