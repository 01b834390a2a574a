// SPDX-License-Identifier: Apache-2.0
// Reductions and matrix products on blocks, in as many steps as they take.
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Elements of a block reduced at once, of a single row reduced at once, and of
/// one loop step.
constexpr int64_t wholeBlock = 8192, wholeRow = longestRow, stepBlock = 4096;
/// Elements of such a block that a thread may hold.
constexpr int64_t mostHeld = 256;

/// The number of threads that can share a block of so many elements without
/// copies. Dimensions are split in halves, so it is a power of two.
int64_t shares(int64_t elements) {
  return std::min<int64_t>(128, elements & -elements);
}

/// A combiner in a reduction's body: what it adds to the running result.
struct Combiner {
  CombineKind kind;
  Value added;
};

// The last op of the body must combine the running result with something that
// does not depend on it:
//
//   ^bb0(%x, %acc):  %y = f(%x)   %n = arith.addf %y, %acc   yield %n
std::optional<Combiner> combinerOf(linalg::GenericOp op) {
  Block *body = op.getBody();
  Value running = body->getArgument(op.getNumDpsInputs());
  Operation *last = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!last || last->getNumOperands() != 2)
    return std::nullopt;
  auto kind = llvm::TypeSwitch<Operation *, std::optional<CombineKind>>(last)
                  .Case<arith::AddFOp, arith::AddIOp>(
                      [](auto) { return CombineKind::Add; })
                  .Case<arith::MulFOp, arith::MulIOp>(
                      [](auto) { return CombineKind::Mul; })
                  .Case<arith::OrIOp>([](auto) { return CombineKind::Or; })
                  .Case<arith::MaximumFOp, arith::MaxSIOp>(
                      [](auto) { return CombineKind::Max; })
                  .Case<arith::MinimumFOp, arith::MinSIOp>(
                      [](auto) { return CombineKind::Min; })
                  .Default([](Operation *) { return std::nullopt; });
  if (!kind)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (last->getOperand(i) == running && last->getOperand(1 - i) != running)
      return Combiner{*kind, last->getOperand(1 - i)};
  return std::nullopt;
}

/// The neutral element.
TypedAttr neutralOf(CombineKind kind, Type type) {
  if (auto f = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &s = f.getFloatSemantics();
    if (kind == CombineKind::Max || kind == CombineKind::Min)
      return FloatAttr::get(
          f, APFloat::getInf(s, /*Negative=*/kind == CombineKind::Max));
    return FloatAttr::get(f, kind == CombineKind::Mul ? 1.0 : 0.0);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt n = kind == CombineKind::Max   ? APInt::getSignedMinValue(width)
            : kind == CombineKind::Min ? APInt::getSignedMaxValue(width)
                                       : APInt(width, kind == CombineKind::Mul);
  return IntegerAttr::get(type, n);
}

/// Whether a block along `loop` is no box in a tensor that is read by `map`:
/// its numbers are apart, or added to those of another block. A convolution
/// reads at `x + k`: a box along x for one k, but not along both.
bool isGathered(AffineMap map, unsigned loop, ArrayRef<unsigned> blocks) {
  return llvm::any_of(map.getResults(), [&](AffineExpr e) {
    if (!e.isFunctionOfDim(loop) || isa<AffineDimExpr>(e))
      return false;
    SmallVector<AffineExpr> zero(map.getNumDims(),
                                 getAffineConstantExpr(0, map.getContext()));
    SmallVector<AffineExpr> one = zero;
    one[loop] = getAffineConstantExpr(1, map.getContext());
    return e.replaceDims(one) - e.replaceDims(zero) != one[loop] ||
           llvm::any_of(blocks, [&](unsigned other) {
             return other != loop && e.isFunctionOfDim(other);
           });
  });
}

bool isNarrow(Type t) { return t.isBF16() || t.isF16(); }

bool hasProduct(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    if (generic.getNumReductionLoops() > 0 && factorsOf(generic))
      return true;
  return llvm::any_of(op->getOperands(), [&](Value o) {
    return isa<RankedTensorType>(o.getType()) && ::hasProduct(o, seen);
  });
}

} // namespace

// A sum of x * y where both are operands as they are, widened at most. Anything
// computed in between would have to be an operand of its own: `tile.dot`
// multiplies blocks.
std::optional<std::pair<Value, Value>>
act::tile::factorsOf(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || inputsAlong(op).size() != 2)
    return std::nullopt;
  auto combiner = combinerOf(op);
  if (!combiner || combiner->kind != CombineKind::Add)
    return std::nullopt;
  Value added = combiner->added;
  if (windowOf(op))
    added = added.getDefiningOp<arith::SelectOp>().getTrueValue();
  auto mul = added.getDefiningOp<arith::MulFOp>();
  if (!mul)
    return std::nullopt;
  auto factor = [&](Value v) -> Value {
    if (auto ext = v.getDefiningOp<arith::ExtFOp>())
      v = ext.getIn();
    auto argument = dyn_cast<BlockArgument>(v);
    return argument && argument.getOwner() == op.getBody() ? v : Value();
  };
  Value x = factor(mul.getLhs()), y = factor(mul.getRhs());
  if (!x || !y || x == y)
    return std::nullopt;
  // The operands are two-dimensional blocks only if neither has all loops.
  unsigned rank = op.getNumLoops();
  for (unsigned i : {0u, 1u})
    if (op.getIndexingMapsArray()[i].getNumResults() == rank)
      return std::nullopt;
  return std::pair(x, y);
}

SmallVector<unsigned> act::tile::inOrder(linalg::GenericOp op,
                                         ArrayRef<unsigned> loops,
                                         ArrayRef<unsigned> blocks) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<unsigned> order(loops);
  llvm::stable_sort(
      order, [&](unsigned x, unsigned y) { return ranges[x] < ranges[y]; });
  auto gathers = [&](unsigned d) {
    return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
      return isGathered(op.getMatchingIndexingMap(input), d, blocks);
    });
  };
  if (blocks.empty() || llvm::none_of(order, gathers))
    return order;
  // Products, eight times as many where operands are gathered.
  auto cost = [&](unsigned d) {
    int64_t n = llvm::divideCeil(ranges[d], 64) * (gathers(d) ? 8 : 1);
    for (unsigned other : order)
      n *= other == d ? 1 : ranges[other];
    return n;
  };
  auto *best = order.begin();
  for (auto *it = order.begin(); it != order.end(); ++it)
    if (cost(*it) <= cost(*best))
      best = it;
  std::rotate(best, best + 1, order.end());
  return order;
}

// The form is select(place >= from and place < to, x * y, 0), with the ends as
// the third and fourth input. Packed sequences have it (attention's sums),
// where 0 * y is not enough: y may be another sequence's NaN.
std::optional<unsigned> act::tile::windowOf(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 4)
    return std::nullopt;
  auto combiner = combinerOf(op);
  auto choice = combiner ? combiner->added.getDefiningOp<arith::SelectOp>()
                         : arith::SelectOp();
  auto both = choice ? choice.getCondition().getDefiningOp<arith::AndIOp>()
                     : arith::AndIOp();
  if (!both || !matchPattern(choice.getFalseValue(), m_PosZeroFloat()))
    return std::nullopt;
  Value place;
  for (unsigned i : {0u, 1u}) {
    auto compared = both->getOperand(i).getDefiningOp<arith::CmpIOp>();
    if (!compared ||
        compared.getPredicate() !=
            (i ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge) ||
        compared.getRhs() != op.getBody()->getArgument(2 + i) ||
        (i && compared.getLhs() != place))
      return std::nullopt;
    place = compared.getLhs();
  }
  auto cast = place.getDefiningOp<arith::IndexCastOp>();
  auto loop =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  return loop ? std::optional<unsigned>(loop.getDim()) : std::nullopt;
}

SmallVector<OpOperand *> act::tile::inputsAlong(linalg::GenericOp op) {
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  if (windowOf(op))
    inputs.truncate(2);
  return inputs;
}

bool act::tile::hasProduct(Value tensor) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  return ::hasProduct(tensor, seen);
}

// Nested loops, one sweep inside the other. `nest` has the open ones, so that
// evaluate() can place code outside them.
FailureOr<Value> BlockEvaluator::sweep(
    ArrayRef<Sweep> sweeps, Place loops, Value acc,
    function_ref<FailureOr<Value>(const Place &, Value)> body) {
  if (sweeps.empty())
    return body(loops, acc);
  const Sweep &s = sweeps.front();
  if (s.extent <= s.step) {
    if (s.step > 1)
      loops[s.dim].axis = wholeAxis(s.step, loops);
    return sweep(sweeps.drop_front(), loops, acc, body);
  }
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(s.extent),
                                 constant(s.step),
                                 acc ? ValueRange(acc) : ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  nest.push_back(loop);
  if (s.step == 1)
    loops[s.dim].scalar = loop.getInductionVar();
  else
    loops[s.dim].axis = addAxis(loop.getInductionVar(), s.step);
  auto next = sweep(sweeps.drop_front(), loops,
                    acc ? Value(loop.getRegionIterArgs()[0]) : Value(), body);
  nest.pop_back();
  if (failed(next))
    return failure();
  if (!acc)
    return Value();
  scf::YieldOp::create(b, loc, *next);
  return loop.getResult(0);
}

// The last step of a loop may reach beyond its end. Loads give zeros there, but
// what is computed from zeros need not be neutral: exp(0) is 1, and 0 is no
// maximum of negative numbers.
BlockValue BlockEvaluator::masked(BlockValue block, const Sweep &s,
                                  const Place &loops, Value neutral) {
  if (s.step == 1 || s.extent % s.step == 0)
    return block;
  const Coordinate &c = loops[s.dim];
  SmallVector<int> onto(block.axes);
  if (!llvm::is_contained(onto, c.axis))
    onto.push_back(c.axis);
  Value at = numbers(c).value;
  auto type = cast<RankedTensorType>(at.getType());
  Value end = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, b.getI64IntegerAttr(s.extent)));
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, end);
  Value v =
      arith::SelectOp::create(b, loc, spread({inside, {c.axis}}, onto),
                              spread(block, onto), spread({neutral, {}}, onto));
  return {v, onto};
}

Place BlockEvaluator::placeOfInit(linalg::GenericOp op, unsigned result,
                                  const Place &loops) {
  Place at;
  for (AffineExpr e :
       op.getMatchingIndexingMap(op.getDpsInitOperand(result)).getResults())
    at.push_back(loops[cast<AffineDimExpr>(e).getPosition()]);
  return at;
}

// The body without its last op, which combines. That one is a reduction of the
// block here.
FailureOr<BlockValue> BlockEvaluator::combined(linalg::GenericOp op,
                                               const Place &loops) {
  auto body = bodyOf(op, loops);
  if (failed(body))
    return failure();
  Operation *last =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &inner : op.getBody()->without_terminator())
    if (&inner != last && failed(bodyOp(&inner, body->values, loops)))
      return failure();
  return body->of(combinerOf(op)->added, *this);
}

FailureOr<BlockValue> BlockEvaluator::addend(linalg::GenericOp op,
                                             const Place &loops) {
  auto combiner = combinerOf(op);
  if (!combiner || combiner->kind != CombineKind::Add)
    return op.emitOpError("is not a sum");
  auto own = combined(op, loops);
  if (failed(own))
    return failure();
  BlockValue all = *own;
  Type element = getElementTypeOrSelf(all.value.getType());
  Value zero =
      arith::ConstantOp::create(b, loc, neutralOf(CombineKind::Add, element));
  for (auto [d, range] : llvm::enumerate(op.getStaticLoopRanges()))
    if (int axis = loops[d].axis; axis >= 0)
      all = masked(all, {unsigned(d), range, axes[axis].extent}, loops, zero);
  SmallVector<int> along = axesOf(loops);
  return BlockValue{spread(all, along), along};
}

FailureOr<SmallVector<Value>> BlockEvaluator::loop(
    Value from, Value to, ValueRange carried,
    function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, constant(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  nest.push_back(loop);
  auto next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  nest.pop_back();
  if (failed(next))
    return failure();
  if (!carried.empty()) // else the builder has made the yield
    scf::YieldOp::create(b, loc, *next);
  return SmallVector<Value>(loop.getResults());
}

// A block along one more axis is reduced in one op. If the block would be too
// large, a loop goes over parts of it and carries the result:
//
//   acc = neutral
//   for k: acc = combine(acc, reduce(block at k))
//
// The op's initial value, if it is not neutral, is combined once at the end.
FailureOr<BlockValue> BlockEvaluator::reduce(linalg::GenericOp op, Place loops,
                                             ArrayRef<unsigned> dims) {
  auto combiner = combinerOf(op);
  if (!combiner)
    return op.emitOpError(
        "reduces in a way that the tile dialect does not have");
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<int> outer = axesOf(loops);
  SmallVector<unsigned> order = inOrder(op, dims);
  bool ofProducts =
      llvm::any_of(op.getDpsInputs(), [](Value v) { return hasProduct(v); });
  int64_t elements = elementsOf(loops);
  for (unsigned d : order)
    elements *= d == order.back() ? rowExtent(ranges[d]) : ranges[d];
  bool isRow = elementsOf(loops) == 1 && order.size() == 1;
  bool atOnce = elements <= (isRow ? wholeRow : wholeBlock) &&
                elements / shares(elements) <= mostHeld;
  SmallVector<Sweep> sweeps;
  for (unsigned d : order) {
    int64_t step = 1;
    // A product needs rows and columns; take those that the result lacks.
    if (ofProducts &&
        (d == order.back() ||
         (outer.empty() && order.size() > 1 && d == order[order.size() - 2])))
      step =
          std::min(productStep, int64_t(llvm::alignTo(ranges[d], productUnit)));
    else if (!ofProducts && atOnce)
      step = d == order.back() ? rowExtent(ranges[d]) : ranges[d];
    else if (!ofProducts && d == order.back())
      step = std::min<int64_t>(llvm::bit_ceil(uint64_t(ranges[d])),
                               llvm::bit_floor(uint64_t(std::max<int64_t>(
                                   1, stepBlock / elementsOf(loops)))));
    sweeps.push_back({d, ranges[d], step});
  }
  bool inLoop =
      llvm::any_of(sweeps, [](const Sweep &s) { return s.extent > s.step; });

  auto first =
      evaluate(op.getDpsInitOperand(0)->get(), placeOfInit(op, 0, loops));
  if (failed(first))
    return failure();
  Operation *last =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  TypedAttr neutralValue =
      neutralOf(combiner->kind, last->getResult(0).getType());
  Value neutral = arith::ConstantOp::create(b, loc, neutralValue);
  Attribute start;
  bool fromNothing =
      matchPattern(first->value, m_Constant(&start)) && start == neutralValue;
  // Combines two partial results.
  auto combine = [&](BlockValue running,
                     BlockValue added) -> FailureOr<BlockValue> {
    DenseMap<Value, BlockValue> both;
    for (Value v : last->getOperands())
      both[v] = v == combiner->added ? added : running;
    if (failed(bodyOp(last, both, loops)))
      return failure();
    return both[last->getResult(0)];
  };
  auto step = [&](const Place &at, Value acc) -> FailureOr<Value> {
    auto own = combined(op, at);
    if (failed(own))
      return failure();
    BlockValue all = *own;
    for (const Sweep &s : sweeps)
      all = masked(all, s, at, neutral);
    SmallVector<int> along = axesOf(at);
    all = {spread(all, along), along};
    for (const Sweep &s : llvm::reverse(sweeps)) {
      int axis = at[s.dim].axis;
      if (axis < 0)
        continue;
      unsigned d = llvm::find(all.axes, axis) - all.axes.begin();
      all.value =
          ReduceOp::create(b, loc, combiner->kind, all.value, d).getResult(0);
      all.axes.erase(all.axes.begin() + d);
    }
    if (!acc)
      return all.value;
    auto sum = combine({acc, outer}, all);
    return failed(sum) ? FailureOr<Value>(failure()) : spread(*sum, outer);
  };
  Value acc;
  if (inLoop)
    acc = spread(fromNothing ? *first : BlockValue{neutral, {}}, outer);
  auto total = sweep(sweeps, loops, acc, step);
  if (failed(total))
    return failure();
  BlockValue result{*total, outer};
  return fromNothing ? FailureOr<BlockValue>(result) : combine(*first, result);
}

// A loop over the summed dimension with one `tile.dot` per step. Its operands
// are evaluated inside the loop, so they may be computed, and what does not
// depend on the step is placed before the loop.
FailureOr<BlockValue> BlockEvaluator::product(linalg::GenericOp op, Place loops,
                                              ArrayRef<unsigned> dims) {
  auto factors = factorsOf(op);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  Place at = placeOfInit(op, 0, loops);
  SmallVector<int> wanted;     // rows, columns
  SmallVector<unsigned> along; // the loops along them
  for (auto [c, e] : llvm::zip(
           at, op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults()))
    if (c.axis >= 0) {
      wanted.push_back(c.axis);
      along.push_back(cast<AffineDimExpr>(e).getPosition());
    }
  SmallVector<unsigned> order = inOrder(op, dims, along);
  // Only the loop along the blocks may have a window.
  auto window = windowOf(op);
  if (window)
    llvm::stable_sort(order, [&](unsigned x, unsigned y) {
      return x != *window && y == *window;
    });
  unsigned depth = order.back();
  SmallVector<Sweep> sweeps;
  for (unsigned d : order)
    sweeps.push_back({d, ranges[d], 1});
  int64_t padded = llvm::alignTo(ranges[depth], 16);
  Sweep &inner = sweeps.back();
  bool isGiven = loops[depth].axis >= 0;
  inner.step = isGiven ? axes[loops[depth].axis].extent
               : !nest.empty() && padded <= innerDepth
                   ? padded
                   : std::min(productStep, padded);
  // Computed operands whose rows differ from the loop (4-bit weights with heads
  // of 80) need steps that divide the loop.
  auto reshaped = [](Value v) {
    return v.getDefiningOp<tensor::ExpandShapeOp>() && !argumentBehind(v);
  };
  if (int64_t own = ranges[depth] & -ranges[depth];
      !isGiven && order.size() > 1 && own >= 16 &&
      llvm::any_of(op.getDpsInputs(), reshaped))
    inner.step = std::min(inner.step, own);
  auto first = evaluate(op.getDpsInitOperand(0)->get(), at);
  if (failed(first))
    return failure();
  auto step = [&](const Place &place, Value acc) -> FailureOr<Value> {
    int k = place[depth].axis;
    auto in = operands(op, place, window ? 4 : 2);
    if (failed(in))
      return failure();
    SmallVector<Value> within;
    for (unsigned i = 2; i < in->blocks.size(); ++i) {
      // Relative to the block's start. Both are positions in the loop, so
      // nothing wraps around.
      Value end = spread(in->blocks[i], {wanted[0]});
      Value from = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                              axes[place[depth].axis].base);
      within.push_back(arith::SubIOp::create(b, loc, end,
                                             spread({from, {}}, {wanted[0]}),
                                             arith::IntegerOverflowFlags::nsw));
    }
    Value sides[2];
    Type elements[2];
    for (int i : {0, 1})
      elements[i] = getElementTypeOrSelf(in->blocks[i].value.getType());
    for (Value factor : {factors->first, factors->second}) {
      unsigned number = cast<BlockArgument>(factor).getArgNumber();
      BlockValue v = in->blocks[number];
      Type element = elements[number];
      // Loads are zero outside of a tensor; computed values may be anything,
      // and beyond a window there may be more of the tensor.
      if (!argumentBehind(op.getDpsInputs()[number]) ||
          !llvm::is_contained(op.getIndexingMapsArray()[number].getResults(),
                              getAffineDimExpr(depth, op.getContext())))
        v = masked(v, inner, place,
                   arith::ConstantOp::create(
                       b, loc, neutralOf(CombineKind::Add, element)));
      // A computed f32 operand is rounded to match a 16-bit tensor.
      if (Type other = elements[1 - number];
          element.isF32() && isNarrow(other)) {
        Type narrow = other;
        if (auto block = dyn_cast<RankedTensorType>(v.value.getType()))
          narrow = block.clone(other);
        v.value = arith::TruncFOp::create(b, loc, narrow, v.value);
      }
      // The side says whether rows come first. (All rows of a computed operand
      // may be the same.)
      bool rows = op.getMatchingIndexingMap(op.getDpsInputOperand(number))
                      .isFunctionOfDim(along[0]);
      sides[!rows] =
          rows ? spread(v, {wanted[0], k}) : spread(v, {k, wanted[1]});
    }
    if (!sides[0] || !sides[1])
      return op.emitOpError("multiplies two blocks of the same axis");
    return Value(
        DotOp::create(b, loc, sides[0], sides[1], acc, precision, within));
  };
  Value start = spread(*first, wanted);
  auto total = isGiven ? step(loops, start) : sweep(sweeps, loops, start, step);
  if (failed(total))
    return failure();
  return BlockValue{*total, wanted};
}

// Each step makes a part of the sum and adds it to memory when it is this
// program's turn for those rows:
//
//   for rows of the result
//     part = product(..)
//     wait_turn; atomic_add part; pass_turn
//
// Computing comes before waiting, so programs wait only for the additions of
// others.
LogicalResult BlockEvaluator::addInTurns(linalg::GenericOp op, Place loops,
                                         ArrayRef<unsigned> swept, Value memory,
                                         Turns turns) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<unsigned> order = inOrder(op, swept), summed;
  op.getReductionDims(summed);
  SmallVector<Sweep> sweeps;
  for (unsigned d : order)
    sweeps.push_back({d, ranges[d], 1});
  if (!sweeps.empty())
    sweeps.back().step =
        std::min(productStep, int64_t(llvm::alignTo(sweeps.back().extent, 16)));
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto step = [&](const Place &at, Value) -> FailureOr<Value> {
    auto part = product(op, at, summed);
    if (failed(part))
      return failure();
    Place to = placeOfInit(op, 0, at);
    Access sum = accessOf(type, memory, to);
    // Rows that are added together share the turn of their first row.
    SmallVector<int64_t> rows;
    SmallVector<Value> first;
    for (auto [c, size] : llvm::zip(to, type.getShape()))
      if (c.axis < 0 || c.axis == at[order.back()].axis) {
        rows.push_back(size);
        first.push_back(indexOf(c));
      }
    Value numbers;
    if (turns.numbers) {
      numbers =
          viewOf(RankedTensorType::get(rows, b.getI32Type()), turns.numbers);
      WaitTurnOp::create(b, loc, numbers, first, turns.turn);
    }
    Value added = reshaped(spread(*part, sum.axes), sum.shape());
    AtomicAddOp::create(b, loc, added, sum.view, sum.indices, sum.extents);
    if (numbers)
      PassTurnOp::create(b, loc, numbers, first);
    return Value();
  };
  return sweep(sweeps, loops, Value(), step);
}
