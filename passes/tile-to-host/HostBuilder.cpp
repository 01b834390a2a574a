// SPDX-License-Identifier: Apache-2.0
//
// Buffers and loops for the other files. Code is built as it is written,
// without folding.
#include "passes/tile-to-host/HostBuilder.h"
#include "passes/tile-to-host/HostContext.h"

using namespace mlir;
using namespace act::tile;

Value HostBuilder::index(int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}
Value HostBuilder::i64(int64_t v) {
  return arith::ConstantIntOp::create(b, loc, b.getI64Type(), v);
}

Value HostBuilder::asIndex(Value v) {
  return v.getType().isIndex()
             ? v
             : Value(arith::IndexCastOp::create(b, loc, b.getIndexType(), v));
}

Value HostBuilder::of(Value block) {
  auto it = buffers.find(block);
  assert(it != buffers.end() && "a block is lowered before its uses");
  return it->second;
}

// Buffers of index are i64: an index has no size in memory.
Value HostBuilder::buffer(RankedTensorType type) {
  Type element = type.getElementType();
  if (element.isIndex())
    element = b.getI64Type();
  return memref::AllocOp::create(b, loc,
                                 MemRefType::get(type.getShape(), element));
}

Value HostBuilder::make(Value block) {
  return buffers[block] = buffer(cast<RankedTensorType>(block.getType()));
}

Value HostBuilder::read(Value memory, ValueRange at, Type element) {
  Value v = memref::LoadOp::create(b, loc, memory, at);
  return v.getType() == element
             ? v
             : Value(arith::IndexCastOp::create(b, loc, element, v));
}

void HostBuilder::write(Value v, Value memory, ValueRange at) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  if (v.getType() != element)
    v = arith::IndexCastOp::create(b, loc, element, v);
  memref::StoreOp::create(b, loc, v, memory, at);
}

Value HostBuilder::element(Value value, ValueRange at) {
  return isBlock(value)
             ? read(of(value), at, getElementTypeOrSelf(value.getType()))
             : scalar(value);
}

void HostBuilder::copy(Value from, Value to) {
  if (from != to)
    memref::CopyOp::create(b, loc, from, to);
}

void HostBuilder::forEach(ArrayRef<int64_t> shape,
                          function_ref<void(ValueRange)> body) {
  SmallVector<Value> at;
  OpBuilder::InsertionGuard guard(b);
  Value zero = index(0), one = index(1);
  for (int64_t extent : shape) {
    auto loop = scf::ForOp::create(b, loc, zero, index(extent), one);
    at.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  body(at);
}

SmallVector<Value>
HostBuilder::loop(int64_t from, int64_t to, ValueRange inits,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(b, loc, index(from), index(to), index(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

static Value wordAddress(HostBuilder &h, int number) {
  return LLVM::GEPOp::create(h.b, h.loc, h.context.getType(), h.b.getI64Type(),
                             h.context, ArrayRef<LLVM::GEPArg>{number});
}

Value HostBuilder::word(int number) {
  return LLVM::LoadOp::create(b, loc, b.getI64Type(),
                              wordAddress(*this, number));
}

void HostBuilder::setWord(int number, Value v) {
  LLVM::StoreOp::create(b, loc, v, wordAddress(*this, number));
}

static std::string placeOf(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn() << ": ";
  return text;
}

// The program goes on after a failure: leaving nested loops would need exits
// that scf does not have, and all accesses are checked anyway. Only the first
// failure is recorded.
void HostBuilder::check(Value fails, const Twine &message, int sign) {
  checks.push_back(b.getStringAttr(placeOf(loc) + message));
  auto branch = scf::IfOp::create(b, loc, TypeRange(), fails, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                      word(hostcontext::failure), i64(0));
  auto report = scf::IfOp::create(b, loc, TypeRange(), first, false);
  b.setInsertionPointToStart(&report.getThenRegion().front());
  setWord(hostcontext::failure, i64(sign * int64_t(checks.size())));
  setWord(hostcontext::program, programNumber);
}

/// The steps of one pass through a body (HostContext.h). Loops in it charge
/// their own.
static int64_t stepsOf(Block &body) {
  auto warps = [](int64_t n, int64_t atOnce) {
    return n / atOnce + (n % atOnce != 0);
  };
  int64_t sum = 0;
  for (Operation &op : body) {
    int64_t own = 1;
    if (auto dot = dyn_cast<DotOp>(op)) {
      int64_t depth = dot.getA().getType().getDimSize(1);
      own = warps(dot.getType().getNumElements() * depth, 2048);
    } else {
      for (TypeRange types :
           {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
        for (Type type : types)
          if (auto block = dyn_cast<RankedTensorType>(type))
            own = std::max(own, warps(block.getNumElements(), 32));
    }
    sum += own;
    if (isa<scf::IfOp>(op))
      for (Region &region : op.getRegions())
        for (Block &branch : region)
          sum += stepsOf(branch);
  }
  return sum;
}

// A launch that runs out of steps is a failure like others, with a negative
// number, at the loop that noticed it.
Value HostBuilder::takeSteps(ArrayRef<Block *> bodies) {
  int64_t steps = 0;
  for (Block *body : bodies)
    steps += stepsOf(*body);
  Value left =
      arith::SubIOp::create(b, loc, word(hostcontext::steps), i64(steps));
  setWord(hostcontext::steps, left);
  Value isOut =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, left, i64(0));
  check(isOut, "kernel '" + kernel.getName() + "' was stopped here", -1);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, left, i64(0));
}
