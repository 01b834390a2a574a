// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/BlockBytes.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

namespace act::tile {
#define GEN_PASS_DEF_COUNTBLOCKBYTESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// A number that is known once the program's is, or not at all.
using Number = std::optional<int64_t>;

/// One access as it is made: where, and how much of it is inside of the view.
struct Access {
  SmallVector<int64_t> where; // equal for equal blocks
  int64_t bytes = 0;
  bool whole = false; // nothing of it is outside
};

/// What a scalar op gives, or nothing.
Number evaluated(Operation *op, ArrayRef<Number> in) {
  if (!llvm::all_of(in, [](const Number &n) { return n.has_value(); }))
    return std::nullopt;
  auto divided = [&](auto &&divide) -> Number {
    return *in[1] ? Number(divide(*in[0], *in[1])) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](arith::AddIOp) { return *in[0] + *in[1]; })
      .Case([&](arith::SubIOp) { return *in[0] - *in[1]; })
      .Case([&](arith::MulIOp) { return *in[0] * *in[1]; })
      .Case<arith::DivUIOp, arith::DivSIOp>([&](auto) {
        return divided([](int64_t x, int64_t y) { return x / y; });
      })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) {
        return divided([](int64_t x, int64_t y) { return x % y; });
      })
      .Case([&](arith::FloorDivSIOp) {
        return divided(
            [](int64_t x, int64_t y) { return llvm::divideFloorSigned(x, y); });
      })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) {
        return divided(
            [](int64_t x, int64_t y) { return llvm::divideCeilSigned(x, y); });
      })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](auto) { return std::min(*in[0], *in[1]); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) { return std::max(*in[0], *in[1]); })
      .Case([&](arith::AndIOp) { return *in[0] & *in[1]; })
      .Case([&](arith::OrIOp) { return *in[0] | *in[1]; })
      .Case([&](arith::XOrIOp) { return *in[0] ^ *in[1]; })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>([&](auto) { return *in[0]; })
      .Case([&](arith::SelectOp) { return *in[0] ? *in[1] : *in[2]; })
      .Case([&](arith::CmpIOp cmp) {
        unsigned bits = 64; // positions are never negative where it matters
        return int64_t(arith::applyCmpPredicate(cmp.getPredicate(),
                                                APInt(bits, uint64_t(*in[0])),
                                                APInt(bits, uint64_t(*in[1]))));
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// One program after the other. Fails as soon as something that matters is not
/// known.
class Programs {
public:
  explicit Programs(gpu::GPUFuncOp kernel) : kernel(kernel) {}
  std::optional<int64_t> count();

private:
  struct Dimension {
    Value index;
    int64_t extent, size, stride;
  };
  /// An op as it is executed: its values are numbered once.
  struct Step {
    Operation *op;
    SmallVector<unsigned> in, out;
    std::vector<Step> body, otherwise; // of loops and branches
    bool isStraight = false;           // of a loop: only places change in it
    unsigned counter = 0;
    SmallVector<Dimension> dimensions; // of an access
    SmallVector<unsigned> indices;
    int64_t memory = 0, elementBytes = 0, times = 1;
  };
  using Sink = llvm::function_ref<void(const Access &)>;

  unsigned slot(Value v) {
    auto [it, fresh] = slots.try_emplace(v, slots.size());
    if (fresh) {
      APInt n;
      numbers.push_back(matchPattern(v, m_ConstantInt(&n))
                            ? Number(n.getBitWidth() == 1 ? n.getZExtValue()
                                                          : n.getSExtValue())
                            : std::nullopt);
    }
    return it->second;
  }
  LogicalResult prepare(Block &block, std::vector<Step> &steps);
  LogicalResult prepareAccess(BlockAccessOpInterface access, Step &step);
  bool isStraight(const Step &loop) const;
  LogicalResult run(const std::vector<Step> &steps, Sink sink);
  LogicalResult runLoop(const Step &loop, Sink sink);
  Access made(const Step &step);

  gpu::GPUFuncOp kernel;
  llvm::DenseMap<Value, unsigned> slots;
  llvm::DenseMap<Value, int64_t> memories;
  std::vector<Number> numbers;
  std::array<int64_t, 3> program{}, grid{};
  int64_t tickets = 0, unknownPlaces = 0;
};

bool makesNumber(Operation *op) {
  return op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndex() &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
}

bool reachesMemory(Operation *op) {
  return op
      ->walk([](BlockAccessOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

LogicalResult Programs::prepareAccess(BlockAccessOpInterface access,
                                      Step &step) {
  Value view = access.getView();
  auto type = cast<ViewType>(view.getType());
  SmallVector<int64_t> strides = type.getFullStrides();
  // The same memory has views of several shapes.
  while (Operation *made = view.getDefiningOp()) {
    if (!isa<ViewOp, TransposedViewOp>(made))
      break;
    view = made->getOperand(0);
  }
  step.memory = memories.try_emplace(view, memories.size()).first->second;
  step.elementBytes =
      std::max<int64_t>(1, type.getElementType().getIntOrFloatBitWidth() / 8);
  step.times = isa<AtomicAddOp>(step.op) ? 2 : 1;
  for (auto [index, extent, size, stride] :
       llvm::zip_equal(access.getIndices(), access.getExtents(),
                       type.getShape(), strides)) {
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      return failure();
    step.dimensions.push_back({index, extent, size, stride});
    step.indices.push_back(slot(index));
  }
  return success();
}

/// Whether places in `loop` are sums of its counter and of what does not change
/// in it.
bool Programs::isStraight(const Step &loop) const {
  llvm::DenseSet<unsigned> changes{loop.counter};
  for (const Step &s : loop.body) {
    if (!s.body.empty() || !s.otherwise.empty())
      return false;
    auto isChanging = [&](unsigned i) { return changes.contains(i); };
    if (s.out.empty() || llvm::none_of(s.in, isChanging))
      continue;
    bool sum =
        isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(s.op) ||
        (isa<arith::MulIOp>(s.op) && llvm::count_if(s.in, isChanging) == 1);
    if (!sum)
      return false;
    changes.insert(s.out.begin(), s.out.end());
  }
  return true;
}

LogicalResult Programs::prepare(Block &block, std::vector<Step> &steps) {
  for (Operation &op : block.without_terminator()) {
    Step step{&op, {}, {}};
    if (auto access = dyn_cast<BlockAccessOpInterface>(op)) {
      if (failed(prepareAccess(access, step)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (Value v :
           {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        step.in.push_back(slot(v));
      step.counter = slot(loop.getInductionVar());
      if (failed(prepare(*loop.getBody(), step.body)))
        return failure();
      step.isStraight = isStraight(step);
      if (step.body.empty())
        continue;
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (!reachesMemory(branch))
        continue;
      step.in.push_back(slot(branch.getCondition()));
      if (failed(prepare(branch.getThenRegion().front(), step.body)) ||
          (branch.elseBlock() &&
           failed(prepare(*branch.elseBlock(), step.otherwise))))
        return failure();
    } else if (op.getNumRegions()) {
      if (reachesMemory(&op))
        return failure();
      continue;
    } else if (makesNumber(&op) && !matchPattern(&op, m_Constant())) {
      for (Value v : op.getOperands())
        if (v.getType().isIntOrIndex())
          step.in.push_back(slot(v));
      step.out.push_back(slot(op.getResult(0)));
    } else {
      continue;
    }
    steps.push_back(std::move(step));
  }
  return success();
}

Access Programs::made(const Step &step) {
  Access a;
  a.whole = true;
  int64_t first = 0, elements = 1;
  bool known = true;
  SmallVector<std::pair<int64_t, int64_t>> spans; // stride, numbers
  for (auto [d, at] : llvm::zip_equal(step.dimensions, step.indices)) {
    int64_t n = d.extent < 0 ? 1 : d.extent;
    if (isa<ShapedType>(d.index.getType()) || !numbers[at]) {
      known = false;
      elements *= std::min(n, d.size);
      continue;
    }
    int64_t from = std::max<int64_t>(*numbers[at], 0),
            to = std::min(*numbers[at] + n, d.size);
    int64_t inside = std::max<int64_t>(to - from, 0);
    a.whole &= inside == n;
    elements *= inside;
    first += from * d.stride;
    if (inside != 1)
      spans.push_back({d.stride, inside});
  }
  a.bytes = elements * step.elementBytes * step.times;
  llvm::sort(spans);
  a.where = {step.memory, isa<StoreOp>(step.op), first,
             known ? 0 : ++unknownPlaces};
  for (auto [stride, n] : spans)
    a.where.append({stride, n});
  return a;
}

LogicalResult Programs::run(const std::vector<Step> &steps, Sink sink) {
  for (const Step &s : steps) {
    if (!s.dimensions.empty() || isa<BlockAccessOpInterface>(s.op)) {
      sink(made(s));
      continue;
    }
    if (isa<scf::ForOp>(s.op)) {
      if (failed(runLoop(s, sink)))
        return failure();
      continue;
    }
    if (isa<scf::IfOp>(s.op)) {
      Number condition = numbers[s.in[0]];
      if (!condition || failed(run(*condition ? s.body : s.otherwise, sink)))
        return failure();
      continue;
    }
    Number &out = numbers[s.out[0]];
    if (auto id = dyn_cast<ProgramIdOp>(s.op)) {
      out = program[int(id.getAxis())];
    } else if (auto count = dyn_cast<NumProgramsOp>(s.op)) {
      out = grid[int(count.getAxis())];
    } else if (isa<TicketOp>(s.op)) {
      out = tickets++; // each program has one, in some order
    } else {
      SmallVector<Number, 4> in;
      for (unsigned i : s.in)
        in.push_back(numbers[i]);
      out = evaluated(s.op, in);
    }
  }
  return success();
}

LogicalResult Programs::runLoop(const Step &loop, Sink sink) {
  Number from = numbers[loop.in[0]], to = numbers[loop.in[1]],
         step = numbers[loop.in[2]];
  if (!from || !to || !step || *step <= 0)
    return success(!reachesMemory(loop.op));
  int64_t n = *to > *from ? llvm::divideCeilSigned(*to - *from, *step) : 0;
  auto iteration = [&](int64_t i, Sink into) {
    numbers[loop.counter] = *from + i * *step;
    return run(loop.body, into);
  };
  constexpr int64_t few = 4;
  if (!loop.isStraight || n <= few) {
    for (int64_t i = 0; i < n; ++i)
      if (failed(iteration(i, sink)))
        return failure();
    return success();
  }
  // How much of a block is inside is concave in its place: what is whole at
  // both ends is whole between them.
  std::vector<Access> ends[3];
  for (auto [i, end] : llvm::zip(ArrayRef<int64_t>{0, n - 2, n - 1}, ends))
    if (failed(iteration(i, [&](const Access &a) { end.push_back(a); })))
      return failure();
  auto &[first, beforeLast, last] = ends;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].where == last[i].where) {
      sink(first[i]);
      continue;
    }
    if (!first[i].whole || !beforeLast[i].whole) { // each by itself
      for (int64_t k = 0; k < n; ++k) {
        size_t at = 0;
        if (failed(iteration(k, [&](const Access &a) {
              if (at++ == i)
                sink(a);
            })))
          return failure();
      }
      continue;
    }
    Access all = first[i];
    all.bytes = (n - 1) * first[i].bytes + last[i].bytes;
    all.where.push_back(n);
    all.where.append(last[i].where);
    sink(all);
  }
  return success();
}

std::optional<int64_t> Programs::count() {
  auto given = kernel->getAttrOfType<DenseI64ArrayAttr>(gridName);
  std::vector<Step> steps;
  if (!given || !kernel.getBody().hasOneBlock() ||
      failed(prepare(kernel.getBody().front(), steps)))
    return std::nullopt;
  llvm::copy(given.asArrayRef(), grid.begin());
  int64_t sum = 0;
  llvm::DenseSet<size_t> seen;
  for (program[2] = 0; program[2] < grid[2]; ++program[2])
    for (program[1] = 0; program[1] < grid[1]; ++program[1])
      for (program[0] = 0; program[0] < grid[0]; ++program[0]) {
        seen.clear();
        auto add = [&](const Access &a) {
          // Two of the values are DenseSet's own.
          size_t key = llvm::hash_combine_range(a.where.begin(), a.where.end());
          if (seen.insert(key >> 2).second)
            sum += a.bytes;
        };
        if (failed(run(steps, add)))
          return std::nullopt;
      }
  return sum;
}

struct CountBlockBytes
    : act::tile::impl::CountBlockBytesPassBase<CountBlockBytes> {
  void runOnOperation() override {
    Builder b(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel())
        if (auto bytes = blockBytes(kernel))
          kernel->setAttr(blockBytesName, b.getI64IntegerAttr(*bytes));
  }
};

} // namespace

std::optional<int64_t> act::tile::blockBytes(gpu::GPUFuncOp kernel) {
  return Programs(kernel).count();
}
