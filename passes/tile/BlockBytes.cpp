// SPDX-License-Identifier: Apache-2.0
//
// Interprets a kernel's integers for each program of the grid. Values of blocks
// are not computed, only where blocks are and how much of them is inside their
// view. The kernel is first translated to a list of steps with numbered values,
// since a grid can have many thousand programs.
#include "passes/tile/BlockBytes.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringSwitch.h"

namespace act::tile {
#define GEN_PASS_DEF_COUNTBLOCKBYTESPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// A number known for the current program, or nothing.
using Number = std::optional<int64_t>;

/// One executed access: its position, and how much is inside the view.
struct Access {
  SmallVector<int64_t, 12> where; // equal for equal blocks
  int64_t bytes = 0;
  bool whole = false; // nothing of it is outside
};

/// Evaluates a scalar op on known numbers, or gives nothing. Looked up once per
/// op: programs are many.
using Evaluate = Number (*)(Operation *op, ArrayRef<int64_t> in);

template <typename Function>
Number divided(ArrayRef<int64_t> in, Function &&divide) {
  return in[1] ? Number(divide(in[0], in[1])) : std::nullopt;
}

Evaluate evaluationOf(Operation *op) {
  using In = ArrayRef<int64_t>;
  Evaluate same = [](Operation *, In x) -> Number { return x[0]; };
  Evaluate quotient = [](Operation *, In x) {
    return divided(x, [](int64_t a, int64_t b) { return a / b; });
  };
  Evaluate remainder = [](Operation *, In x) {
    return divided(x, [](int64_t a, int64_t b) { return a % b; });
  };
  Evaluate ceiling = [](Operation *, In x) {
    return divided(x, llvm::divideCeilSigned<int64_t, int64_t>);
  };
  Evaluate floor = [](Operation *, In x) {
    return divided(x, llvm::divideFloorSigned<int64_t, int64_t>);
  };
  Evaluate least = [](Operation *, In x) -> Number {
    return std::min(x[0], x[1]);
  };
  Evaluate most = [](Operation *, In x) -> Number {
    return std::max(x[0], x[1]);
  };
  Evaluate compared = [](Operation *op, In x) -> Number {
    // Numbers are held in 64 bits, whatever the width of their type.
    unsigned bits = 64; // positions are never negative where it matters
    return int64_t(arith::applyCmpPredicate(
        cast<arith::CmpIOp>(op).getPredicate(), APInt(bits, uint64_t(x[0])),
        APInt(bits, uint64_t(x[1]))));
  };
  return llvm::StringSwitch<Evaluate>(op->getName().getStringRef())
      .Case("arith.addi",
            [](Operation *, In x) -> Number { return x[0] + x[1]; })
      .Case("arith.subi",
            [](Operation *, In x) -> Number { return x[0] - x[1]; })
      .Case("arith.muli",
            [](Operation *, In x) -> Number { return x[0] * x[1]; })
      .Case("arith.andi",
            [](Operation *, In x) -> Number { return x[0] & x[1]; })
      .Case("arith.ori",
            [](Operation *, In x) -> Number { return x[0] | x[1]; })
      .Case("arith.xori",
            [](Operation *, In x) -> Number { return x[0] ^ x[1]; })
      .Case("arith.select",
            [](Operation *, In x) -> Number { return x[0] ? x[1] : x[2]; })
      .Cases({"arith.divui", "arith.divsi"}, quotient)
      .Cases({"arith.remui", "arith.remsi"}, remainder)
      .Cases({"arith.ceildivui", "arith.ceildivsi"}, ceiling)
      .Case("arith.floordivsi", floor)
      .Cases({"arith.minui", "arith.minsi"}, least)
      .Cases({"arith.maxui", "arith.maxsi"}, most)
      .Cases({"arith.index_cast", "arith.index_castui", "arith.extsi",
              "arith.extui", "arith.trunci"},
             same)
      .Case("arith.cmpi", compared)
      .Default(nullptr);
}

/// Runs the programs one after the other. Fails as soon as a number that
/// matters is unknown.
class Programs {
public:
  explicit Programs(gpu::GPUFuncOp kernel) : kernel(kernel) {}
  std::optional<BlockBytes> count();

private:
  struct Dimension {
    bool isGather; // an index of each row
    int64_t extent, size, stride;
  };
  enum class Kind {
    Access,
    Loop,
    Branch,
    ProgramId,
    NumPrograms,
    Ticket,
    Scalar
  };
  /// An op to execute, with its values numbered once.
  struct Step {
    Operation *op = nullptr;
    Kind kind = Kind::Scalar;
    Evaluate evaluate =
        nullptr; // evaluates a scalar op; null: its result is unknown
    SmallVector<unsigned> in, out;
    std::vector<Step> body, otherwise; // of loops and branches
    bool isStraight = false;           // of a loop: only positions change
    unsigned counter = 0;
    SmallVector<Dimension> dimensions; // of an access
    SmallVector<unsigned> indices;
    int64_t memory = 0, elementBytes = 0;
    bool isStore = false;
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
  Number evaluated(const Step &scalar);
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
  // The same memory may have views of several shapes.
  step.memory =
      memories.try_emplace(memoryOf(view), memories.size()).first->second;
  step.elementBytes =
      std::max<int64_t>(1, type.getElementType().getIntOrFloatBitWidth() / 8);
  step.isStore = isa<StoreOp>(step.op);
  for (auto [index, extent, size, stride] :
       llvm::zip_equal(access.getIndices(), access.getExtents(),
                       type.getShape(), strides)) {
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      return failure();
    step.dimensions.push_back(
        {isa<ShapedType>(index.getType()), extent, size, stride});
    step.indices.push_back(slot(index));
  }
  return success();
}

/// Whether positions in `loop` are affine in its counter, with loop-invariant
/// terms. runLoop() then derives all iterations from the first and the last.
bool Programs::isStraight(const Step &loop) const {
  llvm::DenseSet<unsigned> changes{loop.counter};
  for (const Step &s : loop.body) {
    if (!s.body.empty() || !s.otherwise.empty())
      return false;
    auto isChanging = [&](unsigned i) { return changes.contains(i); };
    if (s.out.empty() || llvm::none_of(s.in, isChanging))
      continue;
    // A product of two numbers that change is not affine.
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

/// Translates a block to steps. Ops that neither compute a number nor reach
/// memory are left out; control flow that is not understood fails only if it
/// reaches memory.
LogicalResult Programs::prepare(Block &block, std::vector<Step> &steps) {
  for (Operation &op : block.without_terminator()) {
    Step step;
    step.op = &op;
    if (auto access = dyn_cast<BlockAccessOpInterface>(op)) {
      step.kind = Kind::Access;
      if (failed(prepareAccess(access, step)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      step.kind = Kind::Loop;
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
      // Its results are unknown then, as if they came from memory.
      if (!reachesMemory(branch))
        continue;
      step.kind = Kind::Branch;
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
      step.kind = isa<ProgramIdOp>(op)     ? Kind::ProgramId
                  : isa<NumProgramsOp>(op) ? Kind::NumPrograms
                  : isa<TicketOp>(op)      ? Kind::Ticket
                                           : Kind::Scalar;
      step.evaluate = evaluationOf(&op);
    } else {
      continue;
    }
    steps.push_back(std::move(step));
  }
  return success();
}

/// The block that an access reads or writes in the current program. Dimensions
/// with one element inside have no span, so views of one memory in different
/// shapes give equal keys for equal blocks.
Access Programs::made(const Step &step) {
  Access a;
  a.whole = true;
  int64_t first = 0, elements = 1;
  bool known = true;
  SmallVector<std::pair<int64_t, int64_t>, 6> spans; // stride, numbers
  for (auto [d, at] : llvm::zip_equal(step.dimensions, step.indices)) {
    int64_t n = d.extent < 0 ? 1 : d.extent;
    if (d.isGather || !numbers[at]) {
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
  a.bytes = elements * step.elementBytes;
  llvm::sort(spans);
  // A block at an unknown place equals no other, so it is always counted.
  a.where = {step.memory, step.isStore, first, known ? 0 : ++unknownPlaces};
  for (auto [stride, n] : spans)
    a.where.append({stride, n});
  return a;
}

/// The value of a scalar op; nothing if an operand is unknown, as are numbers
/// from memory, or the op is not evaluated.
Number Programs::evaluated(const Step &s) {
  if (!s.evaluate)
    return std::nullopt;
  std::array<int64_t, 3> in; // a select's
  for (auto [i, at] : llvm::enumerate(s.in)) {
    if (!numbers[at])
      return std::nullopt;
    in[i] = *numbers[at];
  }
  return s.evaluate(s.op, ArrayRef(in).take_front(s.in.size()));
}

LogicalResult Programs::run(const std::vector<Step> &steps, Sink sink) {
  for (const Step &s : steps)
    switch (s.kind) {
    case Kind::Access:
      sink(made(s));
      break;
    case Kind::Loop:
      if (failed(runLoop(s, sink)))
        return failure();
      break;
    case Kind::Branch: {
      Number condition = numbers[s.in[0]];
      if (!condition || failed(run(*condition ? s.body : s.otherwise, sink)))
        return failure();
      break;
    }
    case Kind::ProgramId: {
      const int axis = int(cast<ProgramIdOp>(s.op).getAxis());
      if (s.in.empty()) {
        numbers[s.out[0]] = program[axis];
        break;
      }
      Number number = numbers[s.in[0]];
      for (int a = 0; number && a < axis; ++a)
        number = *number / grid[a];
      numbers[s.out[0]] = number ? Number(*number % grid[axis]) : number;
      break;
    }
    case Kind::NumPrograms:
      numbers[s.out[0]] = grid[int(cast<NumProgramsOp>(s.op).getAxis())];
      break;
    case Kind::Ticket:
      numbers[s.out[0]] = tickets++; // each program has one, in some order
      break;
    case Kind::Scalar:
      // An unknown number fails only where an access or a loop needs it.
      numbers[s.out[0]] = evaluated(s);
      break;
    }
  return success();
}

/// All iterations, or for a straight loop three of them that stand for all. So
/// a long loop costs no more than a short one.
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
  // How much of a block is inside is concave in its position: if both ends are
  // whole, so is everything between them. The iteration before the last stands
  // for that end, because the last block is often cut by the view's edge.
  SmallVector<Access, 4> ends[3];
  for (auto [k, i] : llvm::enumerate(ArrayRef<int64_t>{0, n - 2, n - 1})) {
    SmallVector<Access, 4> &end = ends[k];
    if (failed(iteration(i, [&](const Access &a) { end.push_back(a); })))
      return failure();
  }
  auto &[first, beforeLast, last] = ends;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].where == last[i].where) {
      sink(first[i]);
      continue;
    }
    // The block enters or leaves its view somewhere in the middle: only a walk
    // over all iterations tells how much of each is inside.
    if (!first[i].whole || !beforeLast[i].whole) { // count each
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
    // Names the whole series: a second loop over the same blocks has an equal
    // key and is not counted again.
    all.where.push_back(n);
    all.where.append(last[i].where);
    sink(all);
  }
  return success();
}

/// Goes through the grid. `seen` is cleared for each program, since programs
/// share nothing: an operand that two of them read is counted twice.
std::optional<BlockBytes> Programs::count() {
  auto given = kernel->getAttrOfType<DenseI64ArrayAttr>(gridName);
  std::vector<Step> steps;
  if (!given || !kernel.getBody().hasOneBlock() ||
      failed(prepare(kernel.getBody().front(), steps)))
    return std::nullopt;
  llvm::copy(given.asArrayRef(), grid.begin());
  BlockBytes bytes;
  bool isFirst = true;
  llvm::DenseSet<size_t> seen;
  for (program[2] = 0; program[2] < grid[2]; ++program[2])
    for (program[1] = 0; program[1] < grid[1]; ++program[1])
      for (program[0] = 0; program[0] < grid[0]; ++program[0]) {
        seen.clear();
        int64_t own = 0;
        auto add = [&](const Access &a) {
          // DenseSet reserves two keys.
          size_t key = llvm::hash_combine_range(a.where.begin(), a.where.end());
          if (seen.insert(key >> 2).second)
            own += a.bytes;
        };
        if (failed(run(steps, add)))
          return std::nullopt;
        bytes.all += own;
        if (std::exchange(isFirst, false))
          bytes.first = own;
        bytes.last = own;
      }
  return bytes;
}

struct CountBlockBytes
    : act::tile::impl::CountBlockBytesPassBase<CountBlockBytes> {
  void runOnOperation() override {
    Builder b(&getContext());
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel())
        if (auto bytes = blockBytes(kernel)) {
          kernel->setAttr(blockBytesName, b.getI64IntegerAttr(bytes->all));
          if (2 * bytes->last >= 3 * bytes->first && bytes->first > 0)
            kernel->setAttr(growingBytesName, b.getUnitAttr());
        }
  }
};

} // namespace

std::optional<BlockBytes> act::tile::blockBytes(gpu::GPUFuncOp kernel) {
  return Programs(kernel).count();
}
