// SPDX-License-Identifier: Apache-2.0
//
// Splits a loop over blocks by the state of its masks.
//
// A comparison of affine blocks (AffineBlocks.h) has one value in the whole
// block up to some iteration, and the other from a later iteration on. With the
// loop's counter at lb + step * k:
//
//                 k:  0 ... a     a ... b     b ...
//     key <= query    true        mixed       false       causal
//     query - key < w false       mixed       true        window
//
// Both points come from `a * counter <= number`. Iterations in which a mask's
// constant makes the body do nothing are dropped; the other constant holds in
// full blocks. So three loops cover everything. The first exists only with a
// window, the last only with an end:
//
//     start              full            rest             end
//       |  all masks      |  no mask      |  masks of ends  |
//
// Iterations in which programs take turns (tile.wait_turn) can be dropped too,
// if no program waits for them. An iteration that is hidden from all later
// programs as well has no turn. One that is hidden from all earlier programs
// passes its turn at once, since later programs still have theirs to come:
//
//     turn 0    full  end   pass  pass        a window of two blocks:
//     turn 1          full  end   pass        rows are programs, columns
//     turn 2                full  end         the iterations, which wait for
//                                             turns 0, 1, 2 ...
//
//     turn 0    pass  pass  begin full        the first programs see the last
//     turn 1    pass  begin full  full        blocks only
//     turn 2    begin full  full  full
//
// If nothing can be dropped, the three loops are the iterations in which all
// comparisons are constant, mixed, and constant again.
#include "passes/tile/AffineBlocks.h"
#include "passes/tile/Passes.h"
#include "passes/tile/SplitMaskedLoopsNeutral.h"

namespace act::tile {
#define GEN_PASS_DEF_SPLITMASKEDLOOPSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

using Facts = SmallVector<std::pair<Value, bool>>;

/// The iterations with factor * counter <= most: a prefix of the loop.
struct First {
  int64_t factor; // positive
  AffineNumber most;
};

struct Mask {
  Value op;
  bool before;         // its value at first; later it is the opposite
  First same, mixed;   // until: all `before`, not all the opposite
  bool passes = false; // where it hides an iteration, the turn passes at once
};

/// From the latest of `from` to the earliest of `to`. An empty list means the
/// loop's start or end.
struct Piece {
  Facts facts;
  SmallVector<First> from, to;
  /// Not before the earliest of these.
  SmallVector<First> after;
  /// `to` is the latest of these, if that is earlier.
  SmallVector<First> until;
  /// The body is reduced to passing the turn.
  bool onlyPasses = false;
};

/// x < y or x <= y as x - y + constant < 0: the result is negative exactly
/// where the comparison is true. One form for all predicates lets the rest of
/// the pass look at corners only.
std::optional<AffineBlock> below(arith::CmpIOp op, AffineBlocks &sums) {
  using P = arith::CmpIPredicate;
  Value x = op.getLhs(), y = op.getRhs();
  P p = op.getPredicate();
  if (p == P::eq || p == P::ne)
    return std::nullopt;
  if (p == P::ult || p == P::ule || p == P::ugt || p == P::uge) {
    // Equal to the signed predicate if both are non-negative.
    auto a = sums.of(x), b = sums.of(y);
    if (!a || !b || !sums.isNonNegative(*a) || !sums.isNonNegative(*b))
      return std::nullopt;
    p = p == P::ult   ? P::slt
        : p == P::ule ? P::sle
        : p == P::ugt ? P::sgt
                      : P::sge;
  }
  if (p == P::sgt || p == P::sge)
    std::swap(x, y);
  auto d = sums.difference(x, y);
  if (!d || p == P::slt || p == P::sgt)
    return d;
  auto less = d->number.plus(-1);
  if (!less)
    return std::nullopt;
  d->number = *less;
  return d;
}

/// `op` as a mask of `loop`; nothing if it is no sum, does not depend on the
/// counter, or depends on something else that changes in the loop. The points
/// are the iterations at which the block's lowest and highest corner change
/// sign.
std::optional<Mask> maskOf(arith::CmpIOp op, scf::ForOp loop,
                           AffineBlocks &sums) {
  auto d = below(op, sums);
  auto ends = d ? d->extremes() : std::nullopt;
  if (!ends)
    return std::nullopt;
  Value counter = loop.getInductionVar();
  int64_t factor = d->number.factorOf(counter);
  // boundOf() multiplies it by a step of at most 31 bits.
  if (factor == 0 || std::abs(factor) > INT32_MAX)
    return std::nullopt;
  for (auto [symbol, f] : d->number.symbols)
    if (symbol != counter && !loop.isDefinedOutsideOfLoop(symbol))
      return std::nullopt;
  AffineNumber low = sums.extreme(ends->first.without(counter), false),
               high = sums.extreme(ends->second.without(counter), true);
  if (factor < 0) // false while -factor * counter <= low, true above high
    return Mask{op, false, {-factor, low}, {-factor, high}};
  // True while factor * counter + high < 0, false once it is not with low.
  auto same = AffineNumber{-1, {}}.plus(high, -1),
       mixed = AffineNumber{-1, {}}.plus(low, -1);
  if (!same || !mixed)
    return std::nullopt;
  return Mask{op, true, {factor, *same}, {factor, *mixed}};
}

class Splitting {
public:
  Splitting(scf::ForOp loop, AffineBlocks &sums) : loop(loop), sums(sums) {}
  /// Decides how to split the loop; false: leave it alone.
  bool plan();
  void apply();

private:
  bool planParts();
  /// The mask, if the iterations that it hides at the loop's start or end may
  /// be dropped, as described above.
  std::optional<Mask> leavingTurns(Mask mask, bool atStart);
  bool planThirds();
  void planPasses();
  /// Whether `x` certainly has all iterations of `y`; all of the loop.
  bool covers(const First &x, const First &y);
  bool isWhole(const First &x);
  bool isNone(const First &x);
  std::optional<AffineNumber> overStart(const First &x);
  /// What is known where `mask` has reached its second constant (`after`) or
  /// still has its first. Includes facts about other masks unless `alone`.
  Facts factsWhere(const Mask &mask, bool after, bool alone);

  /// Whether each row of `dot` certainly covers all k under these facts.
  bool seesAll(DotOp dot, const Facts &facts);

  Value boundOf(const First &first, OpBuilder &b);
  Value extreme(ArrayRef<First> points, bool latest, OpBuilder &b);

  scf::ForOp loop;
  AffineBlocks &sums;
  SmallVector<Mask> masks;
  SmallVector<Mask> begins, ends; // masks that hide the first, the last blocks
  Facts always;
  std::vector<Piece> pieces;
  SmallVector<WaitTurnOp> waits;
};

/// Both are prefixes of the loop, so one comparison of their ends decides.
/// False where nothing is proven.
bool Splitting::covers(const First &x, const First &y) {
  if (x.factor != y.factor)
    return false;
  auto more = y.most.plus(x.most, -1);
  auto bound = more ? sums.upperBound(*more) : std::nullopt;
  return bound && *bound <= 0;
}

bool Splitting::isWhole(const First &x) {
  auto end = sums.of(loop.getUpperBound());
  auto last = end ? end->number.plus(-1) : std::nullopt;
  auto scaled = last ? AffineNumber().plus(*last, x.factor) : std::nullopt;
  return scaled && covers(x, {x.factor, *scaled});
}

/// How far the loop's start is inside `x`: negative if not even the first
/// iteration belongs to it.
std::optional<AffineNumber> Splitting::overStart(const First &x) {
  auto start = sums.of(loop.getLowerBound());
  return start ? x.most.plus(start->number, -x.factor) : std::nullopt;
}

bool Splitting::isNone(const First &x) {
  auto over = overStart(x);
  auto bound = over ? sums.upperBound(*over) : std::nullopt;
  return bound && *bound < 0;
}

/// After this mask's range, another mask is over too if its range is part of
/// this one's. Before that, another mask still has its first value if its range
/// contains this one's.
Facts Splitting::factsWhere(const Mask &mask, bool after, bool alone) {
  Facts facts(always);
  if (alone) {
    facts.push_back({mask.op, mask.before != after});
    return facts;
  }
  for (const Mask &other : masks) {
    if (after && covers(mask.mixed, other.mixed))
      facts.push_back({other.op, !other.before});
    else if (!after && covers(other.same, mask.same))
      facts.push_back({other.op, other.before});
  }
  return facts;
}

bool Splitting::plan() {
  auto step = getConstantIntValue(loop.getStep());
  if (loop.getUnsignedCmp() || (step && (*step <= 0 || *step > INT32_MAX)))
    return false;
  loop.walk([&](WaitTurnOp wait) { waits.push_back(wait); });
  loop.getBody()->walk([&](arith::CmpIOp op) {
    auto mask = maskOf(op, loop, sums);
    if (!mask || !overStart(mask->mixed) || !overStart(mask->same))
      return;
    if (isWhole(mask->same))
      always.push_back({op.getResult(), mask->before});
    else if (isNone(mask->mixed))
      always.push_back({op.getResult(), !mask->before});
    else if (!isNone(mask->same) || !isWhole(mask->mixed))
      masks.push_back(*mask);
  });
  // Hidden in all iterations: no piece, so the loop's results are its inputs.
  if (!always.empty() && doesNothing(loop, always))
    return true;
  // First each mask alone. With the facts about others, a mask that only begins
  // would pass for one that ends: beyond another mask's end the iteration is
  // empty whatever this mask is.
  for (const Mask &mask : masks) {
    for (bool alone : {true, false}) {
      const auto end = leavingTurns(mask, /*atStart=*/false),
                 begin = leavingTurns(mask, /*atStart=*/true);
      if (end && doesNothing(loop, factsWhere(mask, /*after=*/true, alone)))
        ends.push_back(*end);
      else if (begin &&
               doesNothing(loop, factsWhere(mask, /*after=*/false, alone)))
        begins.push_back(*begin);
      else
        continue;
      break;
    }
  }
  if (begins.empty() && ends.empty() ? planThirds() : planParts())
    return true;
  // Nothing to split, but some masks have one value in the whole loop.
  if (always.empty())
    return false;
  pieces.assign(1, Piece{always, {}, {}, {}, {}});
  return true;
}

// A turn is a number of the form factor * program + constant. If the boundary
// of the hidden iterations has the same symbol with a factor of the same sign,
// both grow together from program to program. Then what a start hides is hidden
// from all later programs, and what an end hides from all earlier ones; with a
// factor of the other sign it is the other way round.
std::optional<Mask> Splitting::leavingTurns(Mask mask, bool atStart) {
  const First &hidden = atStart ? mask.same : mask.mixed;
  bool grows = false, shrinks = false;
  for (WaitTurnOp wait : waits) {
    auto turn = sums.of(wait.getTurn());
    if (!turn || turn->number.symbols.size() != 1)
      return std::nullopt;
    auto [program, factor] = *turn->number.symbols.begin();
    for (auto [symbol, by] : hidden.most.symbols) {
      if (symbol != program)
        return std::nullopt;
      (by * factor > 0 ? grows : shrinks) = true;
    }
  }
  if (grows && shrinks)
    return std::nullopt;
  mask.passes = !waits.empty() && (atStart ? shrinks : !shrinks);
  return mask;
}

/// For masks that hide iterations: up to three loops, and those iterations are
/// left out. `left` has all masks, `full` none, `rest` only those that end.
bool Splitting::planParts() {
  Piece left{always, {}, {}, {}, {}}, full = left, rest = left;
  bool someFull = true;
  for (const Mask &m : begins) {
    if (!isNone(m.same))
      left.from.push_back(m.same);
    full.from.push_back(m.mixed);
    full.facts.push_back({m.op, !m.before});
    someFull &= !isWhole(m.mixed);
  }
  rest.facts = full.facts;
  for (const Mask &m : ends) {
    if (!isWhole(m.mixed))
      rest.to.push_back(m.mixed);
    full.to.push_back(m.same);
    full.facts.push_back({m.op, m.before});
    someFull &= !isNone(m.same);
    for (const Mask &first : begins)
      someFull &= !covers(first.mixed, m.same);
  }
  // There is certainly no full block: one loop with all masks, over fewer
  // iterations.
  if (!someFull) {
    left.to = rest.to;
    pieces = {left};
    if (left.from.empty() && left.to.empty())
      return false;
    planPasses();
    return true;
  }
  if (!begins.empty()) {
    left.until = full.from;
    left.to = rest.to;
    pieces.push_back(left);
  }
  pieces.push_back(full);
  if (!ends.empty()) {
    rest.from = full.from;
    rest.after = full.to;
    pieces.push_back(rest);
  }
  planPasses();
  return true;
}

/// Where later programs wait for this one's turn in hidden iterations, those
/// still pass it: at once, up to the latest start and from the earliest end.
void Splitting::planPasses() {
  Piece before, after;
  before.onlyPasses = after.onlyPasses = true;
  for (const Mask &m : begins)
    if (m.passes && !isNone(m.same))
      before.until.push_back(m.same);
  for (const Mask &m : ends)
    if (m.passes && !isWhole(m.mixed))
      after.after.push_back(m.mixed);
  if (!before.until.empty())
    pieces.insert(pieces.begin(), before);
  if (!after.after.empty())
    pieces.push_back(after);
}

/// If no iteration can be proven to do nothing: all of them run, but those with
/// constant comparisons run without masks.
bool Splitting::planThirds() {
  Piece before{always, {}, {}, {}, {}}, mixed = before, after = before;
  bool someBefore = true, someAfter = true;
  for (const Mask &m : masks) {
    before.facts.push_back({m.op, m.before});
    before.to.push_back(m.same);
    after.facts.push_back({m.op, !m.before});
    after.from.push_back(m.mixed);
    someBefore &= !isNone(m.same);
    someAfter &= !isWhole(m.mixed);
  }
  // If some masks begin and others end, their full blocks are in the middle,
  // and it is unknown here which are which.
  bool alike = llvm::all_of(
      masks, [&](const Mask &m) { return m.before == masks[0].before; });
  if (masks.empty() || !alike || (!someBefore && !someAfter))
    return false;
  if (someBefore) {
    pieces.push_back(before);
    mixed.after = before.to;
  }
  if (someAfter)
    mixed.until = after.from;
  pieces.push_back(mixed);
  if (someAfter)
    pieces.push_back(after);
  return true;
}

/// A comparison implied by a known one also holds: compare their corners.
bool Splitting::seesAll(DotOp dot, const Facts &facts) {
  if (dot.getWithin().empty())
    return true;
  auto low = sums.of(dot.getLow()), high = sums.of(dot.getHigh());
  if (!low || !high)
    return false;
  // low - 1 < 0 and depth - 1 - high < 0.
  std::optional<AffineNumber> wanted[] = {
      low->number.plus(-1),
      AffineNumber{dot.getA().getType().getDimSize(1) - 1, {}}.plus(
          high->number, -1)};
  return llvm::all_of(wanted, [&](const std::optional<AffineNumber> &end) {
    return end && llvm::any_of(facts, [&](const auto &fact) {
             auto compared = fact.first.template getDefiningOp<arith::CmpIOp>();
             auto d =
                 compared && fact.second ? below(compared, sums) : std::nullopt;
             auto corners = d ? d->extremes() : std::nullopt;
             auto more =
                 corners ? corners->second.plus(*end, -1) : std::nullopt;
             return more && more->symbols.empty() && more->constant >= 0;
           });
  });
}

/// The first iteration not in `first`: the start plus as many steps as there
/// are iterations in `first`, which is
///     max(most - factor * start + factor * step, 0) / (factor * step)
/// The result is a counter of the original loop, so the next piece goes on with
/// the same blocks. It is at most the loop's end, so a piece never runs over.
Value Splitting::boundOf(const First &first, OpBuilder &b) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto indexOf = [&](Value v) {
    return v.getType().isIndex()
               ? v
               : b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), v);
  };
  AffineNumber over = *overStart(first);
  Value stride, room;
  auto step = getConstantIntValue(loop.getStep());
  auto inOne = step ? over.plus(first.factor * *step) : std::nullopt;
  if (inOne) {
    stride = constant(first.factor * *step);
    room = materialize(*inOne, b, loc);
    over = *inOne;
  } else {
    stride = b.createOrFold<arith::MulIOp>(loc, indexOf(loop.getStep()),
                                           constant(first.factor));
    room =
        b.createOrFold<arith::AddIOp>(loc, materialize(over, b, loc), stride);
  }
  auto less = AffineNumber().plus(over, -1);
  auto bound = less ? sums.upperBound(*less) : std::nullopt;
  if (!bound || *bound > 0)
    room = b.createOrFold<arith::MaxSIOp>(loc, room, constant(0));
  Value steps = b.createOrFold<arith::DivUIOp>(loc, room, stride);
  Value bound_ =
      b.createOrFold<arith::MulIOp>(loc, steps, indexOf(loop.getStep()));
  Value at =
      b.createOrFold<arith::AddIOp>(loc, indexOf(loop.getLowerBound()), bound_);
  at = b.createOrFold<arith::MinSIOp>(loc, at, indexOf(loop.getUpperBound()));
  Type type = loop.getUpperBound().getType();
  return type.isIndex() ? at
                        : b.createOrFold<arith::IndexCastOp>(loc, type, at);
}

Value Splitting::extreme(ArrayRef<First> points, bool latest, OpBuilder &b) {
  Value all;
  for (const First &point : points) {
    Value at = boundOf(point, b);
    if (!all)
      all = at;
    else if (latest)
      all = b.createOrFold<arith::MaxSIOp>(loop.getLoc(), all, at);
    else
      all = b.createOrFold<arith::MinSIOp>(loop.getLoc(), all, at);
  }
  return all;
}

/// Reduces the body to its tile.pass_turn. Without yielded values, the rest of
/// the body is dead and folds away.
static void keepPasses(scf::ForOp loop) {
  loop.getBody()->getTerminator()->setOperands(loop.getRegionIterArgs());
  loop.walk([](Operation *op) {
    if (isa<WaitTurnOp, AtomicAddOp>(op))
      op->erase();
  });
}

/// One clone of the loop per piece, each with its bounds and its facts as
/// constants. What one piece carries out, the next carries in. Pieces that turn
/// out empty at run time pass it through. Canonicalization then folds the
/// selects on the constants.
void Splitting::apply() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> carried(loop.getInitArgs());
  SmallVector<DotOp> dots;
  loop.walk([&](DotOp dot) { dots.push_back(dot); });
  for (const Piece &piece : pieces) {
    Value from = extreme(piece.from, /*latest=*/true, b),
          after = extreme(piece.after, /*latest=*/false, b),
          to = extreme(piece.to, /*latest=*/false, b),
          until = extreme(piece.until, /*latest=*/true, b);
    if (from && after)
      from = b.createOrFold<arith::MaxSIOp>(loc, from, after);
    else if (after)
      from = after;
    if (to && until)
      to = b.createOrFold<arith::MinSIOp>(loc, to, until);
    else if (until)
      to = until;
    IRMapping map;
    auto part = cast<scf::ForOp>(b.clone(*loop, map));
    if (from)
      part.setLowerBound(from);
    if (to)
      part.setUpperBound(to);
    part.getInitArgsMutable().assign(carried);
    for (DotOp dot : dots)
      if (seesAll(dot, piece.facts))
        map.lookup(dot.getResult())
            .getDefiningOp<DotOp>()
            .getWithinMutable()
            .clear();
    if (piece.onlyPasses)
      keepPasses(part);
    for (auto [v, holds] : piece.facts) {
      Operation *op = map.lookup(v).getDefiningOp();
      OpBuilder before(op);
      TypedAttr value = b.getBoolAttr(holds);
      if (auto block = dyn_cast<RankedTensorType>(v.getType()))
        value = SplatElementsAttr::get(block, holds);
      Value known = arith::ConstantOp::create(before, op->getLoc(), value);
      op->getResult(0).replaceAllUsesWith(known);
      op->erase();
    }
    carried.assign(part.result_begin(), part.result_end());
  }
  loop->replaceAllUsesWith(carried);
  loop.erase();
}

/// Hoists loop-invariant numbers: the new bounds are made of them.
void hoistNumbers(scf::ForOp loop) {
  for (Operation &op :
       llvm::make_early_inc_range(loop.getBody()->without_terminator()))
    if (isMemoryEffectFree(&op) && isSpeculatable(&op) &&
        op.getNumRegions() == 0 &&
        llvm::all_of(op.getResultTypes(),
                     [](Type t) { return t.isIntOrIndex(); }) &&
        llvm::all_of(op.getOperands(),
                     [&](Value v) { return loop.isDefinedOutsideOfLoop(v); }))
      op.moveBefore(loop);
}

struct SplitMaskedLoops
    : act::tile::impl::SplitMaskedLoopsPassBase<SplitMaskedLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (kernel.isKernel() && failed(split(kernel)))
        signalPassFailure();
    });
  }

  /// Plans all loops before it changes any: the ranges and sums that plans rely
  /// on belong to the kernel as it is.
  LogicalResult split(gpu::GPUFuncOp kernel) {
    kernel.walk([](scf::ForOp loop) { hoistNumbers(loop); });
    DataFlowSolver ranges;
    if (failed(findRanges(ranges, kernel)))
      return failure();
    AffineBlocks sums(ranges);
    // Inner loops first. A loop around a split loop stays whole: splitting it
    // would copy the inner body nine times.
    llvm::SmallPtrSet<Operation *, 8> around;
    std::vector<Splitting> plans;
    kernel.walk([&](scf::ForOp loop) {
      Splitting splitting(loop, sums);
      if (around.contains(loop) || !splitting.plan())
        return;
      plans.push_back(std::move(splitting));
      for (Operation *op = loop; op; op = op->getParentOp())
        around.insert(op);
    });
    for (Splitting &plan : plans)
      plan.apply();
    return success();
  }
};

} // namespace
