// SPDX-License-Identifier: Apache-2.0
//
// Programs that add to the same places in turns, all from the first place on,
// follow each other closely: each waits for the one before, at every place. So
// some of them, neighbours along the sum, start at different places of the same
// loop, go around it, and add in the order in which they come by. Four programs
// of a loop with eight iterations, which are columns here; the numbers are
// turns:
//
//     program 0    0 0 3 3 2 2 1 1       starts at iteration 0
//     program 1    1 1 0 0 3 3 2 2       starts at 2
//     program 2    2 2 1 1 0 0 3 3       starts at 4
//     program 3    3 3 2 2 1 1 0 0       starts at 6
//
// A turn is free by the time that a program asks for it, unless the program
// before is more than two iterations late. Rows that are no whole block come
// behind the loop, for all at the same time.
//
// Each waits for all the others, so a card must hold all of them at once
// (tile.at_once). They have consecutive tickets: if the last to start is there,
// the others are, too. Other neighbours of the same sum wait for these, so they
// come last: tickets count programs of a ring first, then rings of different
// sums, then the next ring of each.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SHIFTTURNSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// The most programs that a card must hold at once.
constexpr int64_t mostAtOnce = 16;
/// Programs that run before the next ring of the same sum begins, if there are
/// so many. No card runs many more at once.
constexpr int64_t programsBefore = 256;

/// Scalars of index type.
struct Scalars {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t n) {
    return arith::ConstantIndexOp::create(b, loc, n);
  }
  Value add(Value x, Value y) {
    return b.createOrFold<arith::AddIOp>(loc, x, y);
  }
  Value sub(Value x, Value y) {
    return b.createOrFold<arith::SubIOp>(loc, x, y);
  }
  Value least(Value x, Value y) {
    return b.createOrFold<arith::MinUIOp>(loc, x, y);
  }
  Value times(Value x, int64_t n) {
    return b.createOrFold<arith::MulIOp>(loc, x, constant(n));
  }
  Value over(Value x, int64_t n) {
    return b.createOrFold<arith::DivUIOp>(loc, x, constant(n));
  }
  Value rest(Value x, int64_t n) {
    return b.createOrFold<arith::RemUIOp>(loc, x, constant(n));
  }
  Value isBelow(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
  }
  Value pick(Value condition, Value x, Value y) {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
};

/// The digit (number / below) % count of a program's number.
struct Digit {
  Value number;
  int64_t below = 1, count = 0;
};

/// Whether the value is the program's number, programs - 1 - ticket.
bool isNumber(Value v, int64_t programs) {
  auto reversed = v.getDefiningOp<arith::SubIOp>();
  return reversed && reversed.getRhs().getDefiningOp<TicketOp>() &&
         getConstantIntValue(reversed.getLhs()) == programs - 1;
}

/// The digit that a turn counts down from: turn = count - 1 - digit.
std::optional<Digit> digitOf(Value turn, int64_t programs) {
  // If the digit is the whole number, the turn is the ticket.
  if (turn.getDefiningOp<TicketOp>()) {
    for (Operation *user : turn.getUsers())
      if (isa<arith::SubIOp>(user) && isNumber(user->getResult(0), programs))
        return Digit{user->getResult(0), 1, programs};
    return std::nullopt;
  }
  auto reversed = turn.getDefiningOp<arith::SubIOp>();
  if (!reversed)
    return std::nullopt;
  Digit d;
  d.number = reversed.getRhs();
  if (auto op = d.number.getDefiningOp<arith::RemUIOp>())
    if (auto by = getConstantIntValue(op.getRhs()))
      d.count = *by, d.number = op.getLhs();
  if (auto op = d.number.getDefiningOp<arith::DivUIOp>())
    if (auto by = getConstantIntValue(op.getRhs()))
      d.below = *by, d.number = op.getLhs();
  if (!d.count)
    d.count = programs / d.below;
  if (!isNumber(d.number, programs) || programs % (d.below * d.count) ||
      getConstantIntValue(reversed.getLhs()) != d.count - 1)
    return std::nullopt;
  return d;
}

/// Whether the order of iterations matters only to how sums are rounded.
bool onlyAddsUp(scf::ForOp loop) {
  for (auto [carried, yielded] :
       llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (!carried.hasOneUse())
      return false;
    Operation *user = *carried.user_begin();
    auto dot = dyn_cast<DotOp>(user);
    if (yielded.getDefiningOp() != user ||
        !(dot ? dot.getAcc() == carried : isa<arith::AddFOp>(user)))
      return false;
  }
  return !loop.walk([](Operation *op) {
                return isa<StoreOp, StoreTensorOp>(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Whether all programs make the same iterations of the loops around this one.
bool isInUniformLoops(scf::ForOp loop) {
  Operation *outer = loop->getParentOp();
  while (auto around = dyn_cast<scf::ForOp>(outer)) {
    for (Value v : {around.getLowerBound(), around.getUpperBound()})
      if (!getConstantIntValue(v))
        return false;
    outer = outer->getParentOp();
  }
  return isa<gpu::GPUFuncOp>(outer);
}

/// A loop in which programs take turns, in the order of a digit of their
/// numbers from the last one down, at a place that each iteration has alone.
class Shift {
public:
  explicit Shift(gpu::GPUFuncOp kernel) : kernel(kernel) {}
  bool find();
  int64_t run();

private:
  gpu::GPUFuncOp kernel;
  scf::ForOp loop;
  SmallVector<WaitTurnOp> waits, beside; // in the loop, and next to it
  Digit along;
  int64_t programs = 0, step = 0, iterations = 0;

  // Programs of a ring, and of the last ring of a sum; iterations between the
  // starts of neighbours.
  int64_t ring = 0, lastRing = 0, rings = 0, apart = 0;
  Value ringOf, withinRing, sizeOf, own; // this program's

  int64_t sums() const { return programs / along.count; }
  void plan();
  void number();
  void start();
};

bool Shift::find() {
  ArrayRef<int64_t> grid = getGrid(kernel);
  if (grid.empty() ||
      !llvm::all_of(grid.drop_front(), [](int64_t n) { return n == 1; }))
    return false;
  programs = grid[0];
  bool fits = true;
  int64_t tickets = 0, passes = 0;
  kernel.walk([&](Operation *op) {
    tickets += isa<TicketOp>(op);
    passes += isa<PassTurnOp>(op);
    auto wait = dyn_cast<WaitTurnOp>(op);
    if (!wait)
      return;
    waits.push_back(wait);
    auto own = dyn_cast<scf::ForOp>(wait->getParentOp());
    if (loop ? own != loop && wait->getBlock() == loop->getBlock() : !own) {
      waits.pop_back();
      beside.push_back(wait);
      return;
    }
    loop = loop ? loop : own;
    fits &= own == loop;
  });
  if (!fits || tickets != 1 || waits.empty() ||
      passes != int64_t(waits.size() + beside.size()))
    return false;
  auto low = getConstantIntValue(loop.getLowerBound()),
       high = getConstantIntValue(loop.getUpperBound()),
       by = getConstantIntValue(loop.getStep());
  if (!low || !high || !by || *low != 0 || *by < 1 || *high % *by ||
      !isInUniformLoops(loop))
    return false;
  step = *by, iterations = *high / *by;
  for (WaitTurnOp wait : llvm::concat<WaitTurnOp>(waits, beside)) {
    const bool isInLoop = wait->getParentOp() == loop;
    auto digit = digitOf(wait.getTurn(), programs);
    if (!digit ||
        (along.number &&
         (along.number != digit->number || along.below != digit->below ||
          along.count != digit->count)) ||
        (isInLoop
             ? !llvm::is_contained(wait.getIndices(), loop.getInductionVar())
             : wait->getBlock() != loop->getBlock()))
      return false;
    along = *digit;
  }
  plan();
  return ring > 1 && onlyAddsUp(loop);
}

// With few sums, rings are larger: the next ring of a sum should find the one
// before at its end.
void Shift::plan() {
  int64_t wanted = 4;
  while (wanted < mostAtOnce && wanted * sums() < programsBefore)
    wanted *= 2;
  wanted = std::min({wanted, along.count, iterations});
  rings = llvm::divideCeil(along.count, wanted);
  ring = llvm::divideCeil(along.count, rings);
  lastRing = along.count - (rings - 1) * ring;
  apart = llvm::bit_floor(uint64_t(iterations / ring));
}

// The number that this program's ticket stands for.
void Shift::number() {
  OpBuilder b(kernel.getContext());
  b.setInsertionPoint(along.number.getDefiningOp());
  Scalars s{b, along.number.getLoc()};
  Value ticket = along.number.getDefiningOp<arith::SubIOp>().getRhs(), sum;
  const int64_t each = ring * sums(); // programs of all first rings
  Value rest = s.rest(ticket, each);
  ringOf = s.over(ticket, each);
  sum = s.over(rest, ring);
  withinRing = s.rest(ticket, ring);
  sizeOf = s.constant(ring);
  if (lastRing != ring) {
    Value before = s.constant((rings - 1) * each);
    Value isLast = arith::CmpIOp::create(b, s.loc, arith::CmpIPredicate::uge,
                                         ticket, before);
    Value beyond = s.sub(ticket, before);
    sum = s.pick(isLast, s.over(beyond, lastRing), sum);
    withinRing = s.pick(isLast, s.rest(beyond, lastRing), withinRing);
    sizeOf = s.pick(isLast, s.constant(lastRing), sizeOf);
  }
  // Known to be in range, whatever the analysis makes of rings of two sizes.
  own = s.least(s.add(s.times(ringOf, ring), withinRing),
                s.constant(along.count - 1));
  Value number =
      s.add(s.times(s.over(sum, along.below), along.count * along.below),
            s.add(s.times(own, along.below), s.rest(sum, along.below)));
  along.number.replaceAllUsesWith(number);
}

void Shift::start() {
  OpBuilder b(loop);
  Scalars s{b, loop.getLoc()};
  Value first = s.times(withinRing, apart * step);
  Value before = s.times(ringOf, ring);
  Value mostBefore = s.sub(sizeOf, s.constant(1));
  b.setInsertionPointToStart(loop.getBody());
  // How far along the place is, and how many programs of the ring start there
  // or before.
  Value moved = s.add(loop.getInductionVar(), first);
  Value place = s.rest(moved, iterations * step);
  loop.getInductionVar().replaceAllUsesExcept(place, moved.getDefiningOp());
  for (WaitTurnOp wait : waits) {
    b.setInsertionPoint(wait);
    Value started = s.least(s.over(place, apart * step), mostBefore);
    // Those that start later than this program come by before it.
    Value ahead = s.sub(started, withinRing);
    Value turn =
        s.pick(s.isBelow(started, withinRing), s.add(ahead, sizeOf), ahead);
    wait.getTurnMutable().assign(s.add(before, turn));
  }
  // All come to the rest of the rows at the same time.
  for (WaitTurnOp wait : beside)
    wait.getTurnMutable().assign(own);
}

/// Returns the number of programs that must be there at once.
int64_t Shift::run() {
  number();
  start();
  return ring;
}

struct ShiftTurns : act::tile::impl::ShiftTurnsPassBase<ShiftTurns> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->removeAttr(shiftTurnsName))
        continue;
      Shift shift(kernel);
      if (shift.find())
        kernel->setAttr(atOnceName,
                        Builder(kernel).getI64IntegerAttr(shift.run()));
      else if (isByHand(kernel))
        kernel.emitWarning("has ")
            << shiftTurnsName
            << ", but no loop over all of its blocks in which programs wait "
               "for their turns alone";
    }
  }
};

} // namespace
