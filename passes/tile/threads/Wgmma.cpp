// SPDX-License-Identifier: Apache-2.0
//
// Products of warp groups (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions"). A group's part of the sum is 64 rows at a time, which its
// threads hold as mma.sync's accumulators. Operands in shared memory are found
// by descriptors:
//
//   [13:0]   address / 16
//   [29:16]  bytes / 16 from one panel to the next, where an instruction reads
//            several
//   [45:32]  bytes / 16 from eight rows of a panel to the next eight
//   [63:62]  the panels' swizzle: 1, 2, 3 for 128, 64, 32 bytes; 0 for none
//
// A dot is one piece of inline PTX, so that nothing stands between its
// instructions. The registers that it changes are results, tied to operands;
// they are defined once a wait has taken and returned them.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/SharedAddress.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Shared;

namespace {

constexpr int64_t unit = 16; // bytes that descriptors count

/// An operand in shared memory. Its rows are those of m or n, or those of k.
class Operand {
public:
  Operand(Value memory, bool isByK, ThreadBuilder &t);
  Value descriptor;
  const bool isByK;
  /// What to add to the descriptor for the instruction that begins at this
  /// position along m or n, and along k.
  int64_t offset(int64_t side, int64_t k) const;
  /// Adds `offset(side, 0)` as often as `count` says.
  void move(Value count, int64_t side, ThreadBuilder &t);

private:
  const Shared form;
  const Shared::Panel &first;
};

Operand::Operand(Value memory, bool isByK, ThreadBuilder &t)
    : isByK(isByK), form(sharedForm(cast<SharedType>(memory.getType()))),
      first(form.panels().front()) {
  uint64_t mode = first.bytes == 128  ? 1
                  : first.bytes == 64 ? 2
                  : first.bytes == 32 ? 3
                                      : 0;
  uint64_t panel = form.rows() * first.bytes / unit;
  uint64_t high = (panel & 0x3fff) << 16 |
                  uint64_t(8 * first.bytes / unit) << 32 | mode << 62;
  OpBuilder &b = t.b;
  Value address = t.sharedUnits(memory, unit);
  descriptor = arith::ExtUIOp::create(b, t.loc, b.getI64Type(), address);
  descriptor = arith::OrIOp::create(
      b, t.loc, descriptor,
      arith::ConstantOp::create(b, t.loc, b.getI64IntegerAttr(int64_t(high))));
}

int64_t Operand::offset(int64_t side, int64_t k) const {
  int64_t row = isByK ? k : side,
          byte = (isByK ? side : k) * form.elementBytes();
  const Shared::Panel &panel = form.panelOf(byte);
  return (panel.start + row * panel.bytes + byte - panel.firstByte) / unit;
}

void Operand::move(Value count, int64_t side, ThreadBuilder &t) {
  int64_t step = offset(side, 0);
  Value by =
      arith::ExtUIOp::create(t.b, t.loc, t.b.getI64Type(), t.mul(count, step));
  descriptor = arith::AddIOp::create(t.b, t.loc, descriptor, by);
}

/// PTX that names its operands by number, results first.
class Ptx {
public:
  explicit Ptx(ThreadBuilder &t) : t(t) {}
  std::string text;
  /// All results come first. Each is tied to an operand.
  void addChanged(ValueRange values) {
    for (Value v : values) {
      constraints += constraints.empty() ? "" : ",";
      constraints += "=" + kind(v);
    }
    for (size_t i = 0; i < values.size(); ++i)
      constraints += "," + std::to_string(i);
    llvm::append_range(operands, values);
    results = values.size();
  }
  /// The operand's name.
  std::string add(Value v) {
    constraints += (constraints.empty() ? "" : ",") + kind(v);
    operands.push_back(v);
    return "$" + std::to_string(results + operands.size() - 1);
  }
  /// The results.
  Registers emit();

private:
  static std::string kind(Value v) {
    Type type = v.getType();
    return type.isF32()         ? "f"
           : type.isF64()       ? "d"
           : type.isInteger(64) ? "l"
                                : "r";
  }
  ThreadBuilder &t;
  std::string constraints;
  SmallVector<Value> operands;
  size_t results = 0;
};

Registers Ptx::emit() {
  constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  SmallVector<Type> types;
  for (Value v : ArrayRef(operands).take_front(results))
    types.push_back(v.getType());
  Type made = types.empty() ? Type()
              : types.size() == 1
                  ? types[0]
                  : LLVM::LLVMStructType::getLiteral(t.b.getContext(), types);
  Value all = t.inlinePtx(made, text, constraints, operands);
  Registers out;
  for (size_t i = 0; i < results; ++i)
    out.push_back(
        results == 1 ? all
                     : Value(LLVM::ExtractValueOp::create(t.b, t.loc, all, i)));
  return out;
}

/// Whether nothing was added to the accumulator yet and it is zero.
bool isZero(Value pending) {
  auto begin = pending.getDefiningOp<BeginDotOp>();
  return begin && matchPattern(begin.getBlock(), m_AnyZeroFloat());
}

void lowerProduct(DotAsyncOp op, ThreadBuilder &t) {
  InstructionAttr chosen = op.getInstruction();
  const int64_t m = chosen.getM(), n = chosen.getN(), k = chosen.getK();
  ArrayRef<int64_t> acc = op.getAcc().getType().getBlock().getShape();
  // The groups are side by side where there are too few rows.
  const auto [below, beside] =
      groupsOf(acc, t.warps / ScheduleAttr::groupWarps);
  const int64_t rows = acc[0] / below, columns = acc[1] / beside,
                depth = op.getB().getType().getShape()[0];

  Ptx ptx(t);
  Value down, across;
  auto groupBy = [&, below = below](auto op) -> Value {
    return decltype(op)::create(t.b, t.loc, t.group(), t.i32(below));
  };
  if (below > 1)
    down = beside > 1 ? groupBy(arith::RemUIOp()) : t.group();
  if (beside > 1)
    across = below > 1 ? groupBy(arith::DivUIOp()) : t.group();
  auto memory = dyn_cast<SharedType>(op.getA().getType());
  // Words of A are results too: nothing else then uses their registers before
  // the wait, which takes them.
  Registers changed = t.of(op.getAcc());
  const size_t sums = changed.size();
  if (!memory)
    llvm::append_range(changed, t.wordsOf(op.getA()));
  ptx.addChanged(changed);
  std::optional<Operand> a;
  std::string aName;
  if (memory) {
    a.emplace(op.getA(), memory.isTransposed(), t);
    if (down)
      a->move(down, m, t);
    aName = ptx.add(a->descriptor);
  }
  Operand b(op.getB(), !op.getB().getType().isTransposed(), t);
  if (across)
    b.move(across, columns, t);
  std::string bName = ptx.add(b.descriptor);

  llvm::raw_string_ostream os(ptx.text);
  StringRef type = chosen.getElement().isBF16() ? "bf16" : "f16";
  os << "{\n.reg .pred yes, no;\n.reg .b64 a, b;\nsetp.eq.u32 yes, 0, 0;\n"
        "setp.ne.u32 no, 0, 0;\nwgmma.fence.sync.aligned;\n";
  const bool fromZero = isZero(op.getAcc());
  for (int64_t at = 0; at < depth; at += k)
    for (int64_t row = 0; row < rows; row += m)
      for (int64_t column = 0; column < columns; column += n) {
        // A part of 64 rows has two numbers in each thread for each column pair
        // of eight, twice.
        int64_t first = row / m * columns / 2 + column / 2;
        if (a)
          os << "add.s64 a, " << aName << ", " << a->offset(row * below, at)
             << ";\n";
        os << "add.s64 b, " << bName << ", " << b.offset(column, at) << ";\n"
           << "wgmma.mma_async.sync.aligned.m" << m << 'n' << n << 'k' << k
           << ".f32." << type << '.' << type << " {";
        llvm::interleaveComma(llvm::seq(n / 2), os,
                              [&](int64_t i) { os << '$' << first + i; });
        os << "}, ";
        if (a) {
          os << 'a';
        } else {
          int64_t word = (row / m * (depth / k) + at / k) * 4;
          os << '{';
          llvm::interleaveComma(llvm::seq(word, word + 4), os, [&](int64_t w) {
            os << '$' << int64_t(sums) + w;
          });
          os << '}';
        }
        os << ", b, " << (fromZero && at == 0 ? "no" : "yes") << ", 1, 1";
        if (a)
          os << ", " << a->isByK;
        os << ", " << b.isByK << ";\n";
      }
  os << "wgmma.commit_group.sync.aligned;\n}";
  Registers made = ptx.emit();
  t.readByProduct[op] = Registers(ArrayRef(made).drop_front(sums));
  made.truncate(sums);
  t.set(op.getResult(), std::move(made));
}

/// How many groups of products begin after `pending`'s and may run when `at` is
/// reached: the least over all ways from there to here. A product that nobody
/// began is complete.
class Younger {
public:
  int64_t count(Value pending, Operation *at);

private:
  static int64_t between(Operation *after, Operation *before);
  llvm::SmallPtrSet<void *, 4> visited;
};

/// Products that begin between two ops of a block, on every way.
int64_t Younger::between(Operation *after, Operation *before) {
  int64_t n = 0;
  for (Operation *op = after; op != before; op = op->getNextNode())
    n += isa<DotAsyncOp>(op); // a loop or a branch may have none
  return n;
}

int64_t Younger::count(Value pending, Operation *at) {
  constexpr int64_t any = INT64_MAX;
  if (!visited.insert(pending.getAsOpaquePointer()).second)
    return any;
  if (auto argument = dyn_cast<BlockArgument>(pending)) {
    Block *body = argument.getOwner();
    auto loop = dyn_cast<scf::ForOp>(body->getParentOp());
    if (!loop || body != at->getBlock())
      return 0;
    unsigned i = argument.getArgNumber() - 1;
    int64_t here = between(&body->front(), at);
    Operation *end = body->getTerminator();
    int64_t last = Younger(*this).count(end->getOperand(i), end),
            first = Younger(*this).count(loop.getInitArgs()[i], loop);
    int64_t least = std::min(last, first);
    return least == any ? any : here + least;
  }
  Operation *op = pending.getDefiningOp();
  if (isa<BeginDotOp>(op))
    return any;
  if (op->getBlock() != at->getBlock())
    return 0;
  int64_t since = between(op->getNextNode(), at);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned i = cast<OpResult>(pending).getResultNumber();
    Operation *end = loop.getBody()->getTerminator();
    int64_t last = Younger(*this).count(end->getOperand(i), end),
            first = Younger(*this).count(loop.getInitArgs()[i], loop);
    int64_t least = std::min(last, first);
    return least == any ? any : since + least;
  }
  return isa<DotAsyncOp>(op) ? since : 0;
}

/// Whether an earlier wait in the block covers `pending`. ptxas takes a second
/// wait that lets more run for leave to let them run.
bool isComplete(Value pending, Operation *at) {
  for (Operation *op = at->getPrevNode(); op && op != pending.getDefiningOp();
       op = op->getPrevNode()) {
    if (!isa<DotResultOp, AwaitDotOp>(op))
      continue;
    if (Younger().count(op->getOperand(0), op) <= Younger().count(pending, op))
      return true;
  }
  return false;
}

/// Waits for the product and those before it. Registers that it reads are kept
/// up to here, and its sum comes from here.
Registers wait(Operation *op, Value pending, bool takesSum, ThreadBuilder &t) {
  int64_t younger = Younger().count(pending, op);
  if (younger == INT64_MAX) // no product
    return t.of(pending);
  Ptx ptx(t);
  SmallVector<Value> changed;
  if (takesSum)
    changed = t.of(pending);
  size_t sums = changed.size();
  for (Value v = pending; auto dot = v.getDefiningOp<DotAsyncOp>();
       v = dot.getAcc())
    llvm::append_range(changed, t.readByProduct[dot]);
  ptx.addChanged(changed);
  if (!isComplete(pending, op))
    ptx.text = "wgmma.wait_group.sync.aligned " + std::to_string(younger) + ";";
  Registers out = ptx.emit();
  out.truncate(sums);
  return out;
}

} // namespace

/// Whether another product begins before the one that adds to `begin`.
static bool isEarly(BeginDotOp begin) {
  for (Operation *op = begin->getNextNode(); op; op = op->getNextNode())
    if (isa<DotAsyncOp>(op))
      return !llvm::is_contained(begin->getUsers(), op);
  return false;
}

void act::tile::lowerAsyncDot(Operation *op, ThreadBuilder &t) {
  if (auto begin = dyn_cast<BeginDotOp>(op)) {
    Registers start(t.of(begin.getBlock()));
    // Their registers are written here, and not while the other product runs.
    if (isEarly(begin) && begin.getBlock().getDefiningOp() &&
        !isZero(begin.getResult())) {
      Ptx ptx(t);
      ptx.addChanged(start);
      start = ptx.emit();
    }
    t.set(begin.getResult(), std::move(start));
  } else if (auto dot = dyn_cast<DotAsyncOp>(op)) {
    lowerProduct(dot, t);
  } else if (auto result = dyn_cast<DotResultOp>(op)) {
    t.set(result.getResult(), wait(op, result.getPending(), true, t));
  } else {
    wait(op, cast<AwaitDotOp>(op).getPending(), false, t);
  }
}
