// SPDX-License-Identifier: Apache-2.0
//
// Scans. The layout's digits along the axis (registers, lanes and warps
// together) are a mixed radix of the position, processed from the fastest on.
// At any time, positions form runs as long as the digits so far. For each of
// its runs a thread knows
//   - for each element that it holds, the combination up to that element,
//   - the combination of the whole run.
// The next digit concatenates runs: the combination of what precedes a run
// comes from registers, lane exchanges or shared memory, and is combined with
// the run's elements. The preceding part is always the left operand, so nothing
// need commute, and the order depends on the shape and the layout alone.
#include "passes/tile/threads/Combine.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Digit;

namespace {

class Scan {
public:
  Scan(ScanOp op, ThreadBuilder &t)
      : op(op), t(t), axis(op.getAxis()),
        layout(t.layoutOf(op.getInputs()[0].getType())) {}

  void run();

private:
  struct Run {
    Tuple all;
    SmallVector<int64_t> registers; // its elements in this thread, in order
  };
  /// A digit along the axis. Null `id`: of the register's number; else (id /
  /// divisor) % extent of the lane or warp.
  struct Step {
    Digit digit;
    Value id;
    int64_t divisor;
  };

  Tuple combine(const Tuple &front, const Tuple &v) {
    return act::tile::combine(op.getKind(), op.getCombiner(), front, v, t);
  }
  /// combine(front, v) where `isBehind`, else v.
  Tuple combineIf(Value isBehind, const Tuple &front, const Tuple &v);
  Tuple shuffled(const Tuple &v, NVVM::ShflKind kind, Value by);
  Value compare(arith::CmpIPredicate predicate, Value digit, int64_t n) {
    return arith::CmpIOp::create(t.b, t.loc, predicate, digit, t.i32(n));
  }
  std::vector<Step> steps() const;
  void overRegisters(const Digit &digit);
  void overLanes(const Step &step, bool isLast);
  void overWarps(const Step &step);

  ScanOp op;
  ThreadBuilder &t;
  unsigned axis;
  const act::layout::Distributed &layout;
  std::vector<Tuple> elements;     // by register
  std::map<Coordinates, Run> runs; // by their first element in lane and warp 0
};

Tuple Scan::combineIf(Value isBehind, const Tuple &front, const Tuple &v) {
  Tuple out;
  for (auto [both, own] : llvm::zip(combine(front, v), v))
    out.push_back(arith::SelectOp::create(t.b, t.loc, isBehind, both, own));
  return out;
}

Tuple Scan::shuffled(const Tuple &v, NVVM::ShflKind kind, Value by) {
  Tuple out;
  for (Value x : v)
    out.push_back(shuffle(x, kind, by, t));
  return out;
}

/// The digits along the axis, fastest first: each has runs of the length that
/// the digits before it make.
std::vector<Scan::Step> Scan::steps() const {
  std::vector<Step> all;
  for (auto [digits, id] : {std::pair(&layout.registers(), Value()),
                            std::pair(&layout.lanes(), t.lane),
                            std::pair(&layout.warps(), t.warp)}) {
    int64_t divisor = 1;
    for (const Digit &d : *digits) {
      if (d.dimension() == axis)
        all.push_back({d, id, divisor});
      divisor *= d.extent;
    }
  }
  llvm::sort(all, [](const Step &a, const Step &b) {
    return a.digit.stride() < b.digit.stride();
  });
  return all;
}

/// Joins runs that a digit of the register's number separates: both are in the
/// same thread.
void Scan::overRegisters(const Digit &digit) {
  int64_t next = digit.extent * digit.stride();
  std::map<Coordinates, Run> longer;
  for (auto &[at, run] : runs) { // in order along the axis
    Coordinates start = at;
    start[axis] -= at[axis] % next;
    auto [it, isFirst] = longer.try_emplace(start, run);
    if (isFirst)
      continue;
    Run &front = it->second;
    Tuple all = combine(front.all, run.all);
    for (int64_t r : run.registers) // the last may equal the run's total
      elements[r] =
          elements[r] == run.all ? all : combine(front.all, elements[r]);
    front.all = std::move(all);
    llvm::append_range(front.registers, run.registers);
  }
  runs = std::move(longer);
}

/// Joins the runs of the lanes along a digit: a scan of their totals by doubled
/// distances (Hillis and Steele), then one shift by a lane for what precedes.
void Scan::overLanes(const Step &step, bool isLast) {
  Value digit = t.digit(t.lane, step.divisor, step.digit.extent);
  Value isBehind = compare(arith::CmpIPredicate::ne, digit, 0);
  for (auto &[at, run] : runs) {
    // The total over as many lanes in front: 1, 2, 4, …
    Tuple all = run.all;
    for (int64_t n = 1; n < step.digit.extent; n *= 2)
      all = combineIf(
          compare(arith::CmpIPredicate::sge, digit, n),
          shuffled(all, NVVM::ShflKind::up, t.i32(n * step.divisor)), all);
    Tuple front;
    for (int64_t r : run.registers) {
      if (elements[r] == run.all) {
        elements[r] = all;
        continue;
      }
      if (front.empty())
        front = shuffled(all, NVVM::ShflKind::up, t.i32(step.divisor));
      elements[r] = combineIf(isBehind, front, elements[r]);
    }
    if (isLast)
      continue;
    // The last lane along the axis.
    Value last = arith::OrIOp::create(
        t.b, t.loc, t.lane, t.i32((step.digit.extent - 1) * step.divisor));
    run.all = shuffled(all, NVVM::ShflKind::idx, last);
  }
}

/// Joins the runs of the warps along a digit: each warp reads all totals and
/// combines those before its own.
void Scan::overWarps(const Step &step) {
  using Role = WarpParts::Role;
  WarpParts parts(
      layout,
      [&](const Digit &d, bool ofWarps) {
        if (ofWarps && d == step.digit)
          return Role::Part;
        // All positions of a run know its total.
        bool within = d.dimension() == axis && d.stride() < step.digit.stride();
        return d.isCopy() || within ? Role::Same : Role::Place;
      },
      t);
  std::vector<Tuple> all;
  for (auto &[at, run] : runs)
    all.push_back(run.all);
  parts.write(all);
  Value isBehind = compare(arith::CmpIPredicate::ne, parts.own(), 0);
  size_t i = 0;
  for (auto &[at, run] : runs) {
    Tuple front, sum;
    for (int64_t p = 0; p < parts.count(); ++p) {
      if (p == 1)
        front = sum;
      else if (p > 1) {
        Value further = compare(arith::CmpIPredicate::sge, parts.own(), p);
        for (auto [f, s] : llvm::zip(front, sum))
          f = arith::SelectOp::create(t.b, t.loc, further, s, f);
      }
      Tuple part = parts.read(p, i);
      sum = p ? combine(sum, part) : part;
    }
    for (int64_t r : run.registers)
      elements[r] = combineIf(isBehind, front, elements[r]);
    run.all = sum;
    ++i;
  }
}

/// Begins with a run for each element.
void Scan::run() {
  std::map<Coordinates, int64_t> firsts; // of registers with copies
  SmallVector<int64_t> first;
  for (int64_t r = 0; r < layout.registerCount(); ++r) {
    Coordinates at = layout.coordinates(r, 0, 0);
    first.push_back(firsts.try_emplace(at, r).first->second);
    Tuple one;
    for (Value input : op.getInputs())
      one.push_back(t.of(input)[r]);
    elements.push_back(one);
    runs.try_emplace(at, Run{one, {r}});
  }
  std::vector<Step> all = steps();
  for (auto [i, step] : llvm::enumerate(all)) {
    if (!step.id)
      overRegisters(step.digit);
    else if (step.id == t.lane)
      overLanes(step, i + 1 == all.size());
    else
      overWarps(step);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Registers out;
    for (int64_t r : first)
      out.push_back(elements[r][i]);
    t.set(result, std::move(out));
  }
}

} // namespace

LogicalResult act::tile::lowerScan(Operation *op, ThreadBuilder &t) {
  Scan(cast<ScanOp>(op), t).run();
  return success();
}
