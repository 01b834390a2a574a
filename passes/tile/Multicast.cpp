// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Multicast.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/DotWarps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace act::tile;

namespace {

/// An integer in a program of a cluster: base + step * rank, where rank is the
/// program's number in its cluster. The base is the same for all and leaves
/// `remainder` when it is divided by `modulus`; with a modulus of 0 it is the
/// remainder.
struct Form {
  int64_t step = 0, remainder = 0, modulus = 1;
};
using Known = std::optional<Form>; // nothing: of no such form

constexpr int64_t largest = int64_t(1) << 31; // products of two do not overflow

Known simplified(Form f) {
  f.modulus = std::abs(f.modulus);
  if (f.modulus)
    f.remainder = (f.remainder % f.modulus + f.modulus) % f.modulus;
  if (std::max(std::abs(f.remainder), f.modulus) >= largest)
    f = {f.step, 0, 1};
  return std::abs(f.step) < largest ? Known(f) : std::nullopt;
}

/// Something that is the same for all.
constexpr Form same;

Form number(int64_t n) { return {0, n, 0}; }

bool isSame(const Known &x) { return x && x->step == 0; }

Known plus(const Known &x, const Known &y, int64_t sign = 1) {
  if (!x || !y)
    return {};
  return simplified({x->step + sign * y->step,
                     x->remainder + sign * y->remainder,
                     std::gcd(x->modulus, y->modulus)});
}

Known times(const Known &x, const Known &y) {
  if (!x || !y)
    return {};
  if (x->step && y->step)
    return {};
  // The step is known if the other factor is.
  const Form &other = x->step ? *y : *x;
  if ((x->step || y->step) && other.modulus)
    return {};
  return simplified(
      {(x->step + y->step) * other.remainder, x->remainder * y->remainder,
       std::gcd(std::gcd(x->remainder * y->modulus, y->remainder * x->modulus),
                x->modulus * y->modulus)});
}

Known least(const Known &x, const Known &y) {
  if (!isSame(x) || !isSame(y))
    return {};
  return simplified({0, x->remainder,
                     std::gcd(std::gcd(x->modulus, y->modulus),
                              x->remainder - y->remainder)});
}

int64_t quotient(int64_t x, int64_t by) { // rounded down
  return x / by - (x % by < 0);
}

/// Numbers that the programs of a cluster compute.
class ClusterNumbers {
public:
  explicit ClusterNumbers(gpu::GPUFuncOp kernel)
      : kernel(kernel), schedule(getSchedule(kernel)),
        programs(schedule.getCluster()), grid(getGrid(kernel)) {}
  Known of(Value v);
  /// Whether all go through the loop as often.
  bool haveSameCount(scf::ForOp loop);

private:
  Known compute(Value v);
  Known compute(ProgramIdOp op);
  Known iteration(scf::ForOp loop);
  Known hardware(GridAxis axis) const;
  Known started() const;
  bool staysBelow(const Form &x, int64_t multiple, int64_t before = 0) const;
  Known divided(const Known &x, const Known &by) const;
  Known rest(const Known &x, const Known &by) const;

  gpu::GPUFuncOp kernel;
  ScheduleAttr schedule;
  const int64_t programs;
  ArrayRef<int64_t> grid;
  DenseMap<Value, Known> known;
};

/// Whether all programs' numbers, less `before`, are between the same two
/// multiples of the number.
bool ClusterNumbers::staysBelow(const Form &x, int64_t multiple,
                                int64_t before) const {
  if (x.step == 0)
    return true;
  return multiple &&
         quotient(x.remainder - before, multiple) ==
             quotient(x.remainder - before + x.step * (programs - 1), multiple);
}

/// x / by, of numbers that are not negative.
Known ClusterNumbers::divided(const Known &x, const Known &by) const {
  if (!x || !isSame(by))
    return {};
  const int64_t divisor = by->modulus == 0 ? by->remainder : 0;
  const bool isExact = divisor > 0 && x->modulus % divisor == 0;
  const int64_t common =
      std::gcd(x->modulus, std::gcd(by->modulus, by->remainder));
  if (staysBelow(*x, common))
    return isExact ? simplified({0, quotient(x->remainder, divisor),
                                 x->modulus / divisor})
                   : Known(same);
  if (divisor > 0 && x->step % divisor == 0)
    return isExact
               ? simplified({x->step / divisor, quotient(x->remainder, divisor),
                             x->modulus / divisor})
               : Known(Form{x->step / divisor});
  return {};
}

/// x % by, of numbers that are not negative.
Known ClusterNumbers::rest(const Known &x, const Known &by) const {
  if (!x || !isSame(by))
    return {};
  const int64_t common =
      std::gcd(x->modulus, std::gcd(by->modulus, by->remainder));
  if (common == 0)
    return {};
  if (staysBelow(*x, common))
    return simplified({x->step, x->remainder, common});
  const bool isWhole =
      by->modulus == 0 && by->remainder && x->step % by->remainder == 0;
  return isWhole ? simplified({0, x->remainder, common}) : std::nullopt;
}

/// A cluster is adjacent blocks along x, the first one's number a multiple.
Known ClusterNumbers::hardware(GridAxis axis) const {
  return axis == GridAxis::X ? Form{1, 0, programs} : same;
}

/// The number of the program that a block starts as, with the schedule's raster
/// (Raster.cpp), where programs are along x and y.
Known ClusterNumbers::started() const {
  Known own = plus(hardware(GridAxis::X), times(same, number(grid[0])));
  const int64_t together = schedule.getRaster()[0],
                columns = schedule.getRaster()[1];
  Known group = number(together * columns), within = rest(own, group);
  Known first = times(divided(own, group), number(together));
  Known rows = least(plus(number(grid[0] * grid[1] / columns), first, -1),
                     number(together));
  Known row = plus(first, rest(within, rows));
  return plus(times(row, number(columns)), divided(within, rows));
}

Known ClusterNumbers::compute(ProgramIdOp op) {
  const GridAxis axis = op.getAxis();
  const int own = int(axis);
  const bool isNumbered = bool(op.getNumber());
  if (!isNumbered && (schedule.getRaster().empty() || axis == GridAxis::Z))
    return hardware(axis);
  if (grid.size() != 3)
    return {};
  Known place = isNumbered ? of(op.getNumber()) : started();
  int64_t before = 1;
  for (int64_t n : grid.take_front(own))
    before *= n;
  place = divided(place, number(before));
  return own == 2 ? place : rest(place, number(grid[own]));
}

Known ClusterNumbers::iteration(scf::ForOp loop) {
  Known from = of(loop.getLowerBound()), step = of(loop.getStep());
  if (!from || !isSame(step))
    return {};
  return simplified(
      {from->step, from->remainder,
       std::gcd(from->modulus, std::gcd(step->remainder, step->modulus))});
}

bool ClusterNumbers::haveSameCount(scf::ForOp loop) {
  Known all = plus(of(loop.getUpperBound()), of(loop.getLowerBound()), -1),
        step = of(loop.getStep());
  if (!all || !isSame(step))
    return false;
  return staysBelow(
      *all, std::gcd(all->modulus, std::gcd(step->remainder, step->modulus)),
      1);
}

Known ClusterNumbers::compute(Value v) {
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    if (argument.getOwner() == &kernel.getBody().front())
      return same;
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && v == loop.getInductionVar() ? iteration(loop) : Known();
  }
  Operation *op = v.getDefiningOp();
  if (auto id = dyn_cast<ProgramIdOp>(op))
    return compute(id);
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return id.getDimension() == gpu::Dimension::x ? hardware(GridAxis::X)
                                                  : same;
  if (auto count = dyn_cast<gpu::GridDimOp>(op))
    return count.getDimension() == gpu::Dimension::x ? Form{0, 0, programs}
                                                     : same;
  if (APInt n; matchPattern(v, m_ConstantInt(&n)))
    return n.isSignedIntN(32) ? number(n.getSExtValue()) : same;
  if (isa<NumProgramsOp>(op))
    return same;
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      (op->getNumOperands() == 0 && !op->hasTrait<OpTrait::ConstantLike>()))
    return {};
  SmallVector<Known> operands;
  for (Value o : op->getOperands())
    operands.push_back(of(o));
  if (v.getType().isIndex()) { // wide enough not to overflow
    Known result =
        TypeSwitch<Operation *, Known>(op)
            .Case([&](arith::AddIOp) { return plus(operands[0], operands[1]); })
            .Case([&](arith::SubIOp) {
              return plus(operands[0], operands[1], -1);
            })
            .Case(
                [&](arith::MulIOp) { return times(operands[0], operands[1]); })
            .Case([&](arith::DivUIOp) {
              return divided(operands[0], operands[1]);
            })
            .Case(
                [&](arith::RemUIOp) { return rest(operands[0], operands[1]); })
            .Case<arith::MinUIOp, arith::MinSIOp, arith::MaxUIOp,
                  arith::MaxSIOp>(
                [&](Operation *) { return least(operands[0], operands[1]); })
            .Default([](Operation *) { return Known(); });
    if (result)
      return result;
  }
  return llvm::all_of(operands, isSame) ? Known(same) : std::nullopt;
}

Known ClusterNumbers::of(Value v) {
  if (auto it = known.find(v); it != known.end())
    return it->second;
  Known result = compute(v);
  known[v] = result;
  return result;
}

} // namespace

SmallVector<bool> act::tile::multicastLoads(scf::ForOp loop,
                                            ArrayRef<StagedLoad> loads) {
  SmallVector<bool> shared(loads.size(), false);
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  const int64_t cluster = getSchedule(kernel).getCluster();
  if (cluster < 2 || waitsForOthers(kernel))
    return shared;
  ClusterNumbers numbers(kernel);
  for (auto around = loop; around;
       around = dyn_cast<scf::ForOp>(around->getParentOp()))
    if (!numbers.haveSameCount(around))
      return shared;
  for (auto [staged, is] : llvm::zip(loads, shared)) {
    LoadOp load = staged.load;
    auto block = cast<RankedTensorType>(load.getType());
    is = block.getRank() == 2 && canMulticast(block.getDimSize(0), cluster) &&
         llvm::all_of(load.getIndices(),
                      [&](Value i) { return isSame(numbers.of(i)); });
  }
  return shared;
}

void act::tile::dropCluster(gpu::GPUFuncOp kernel, bool hasClusters) {
  if (hasClusters && !kernel->hasAttr(plannedBytesName)) // chosen by hand
    kernel.emitWarning(
        "has clusters, but no block that their programs could copy together: "
        "at a position that is the same for all of them, of at least 8 rows "
        "for each, copied by tensor maps, in loops that all go through as "
        "often");
  kernel->setAttr(scheduleName, getSchedule(kernel).withoutCluster());
}
