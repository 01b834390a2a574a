// SPDX-License-Identifier: Apache-2.0
//
// What the families have in common: the thread's coordinates, constants, shared
// memory, and packing of registers. Values that hold for the whole kernel are
// made at its entry, after `entryEnd`, whatever loop asks for them first.
#include "passes/tile/threads/ThreadBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Layouts.h"

using namespace mlir;
using namespace act::tile;

static constexpr StringLiteral sharedName = "tile_shared";

ThreadBuilder::ThreadBuilder(gpu::GPUFuncOp kernel, OpBuilder &builder,
                             int64_t warps, DataFlowSolver &ranges)
    : b(builder), warps(warps), sums(ranges), shared(kernel),
      loc(kernel.getLoc()), kernel(kernel) {
  thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
  lane = arith::AndIOp::create(b, loc, thread, i32(31));
  warp = arith::ShRUIOp::create(b, loc, thread, i32(5));
  entryEnd = warp.getDefiningOp();
}

OpBuilder ThreadBuilder::atEntry() const {
  OpBuilder e(entryEnd->getContext());
  // Insert before the ops that follow; consecutive insertions stay in order.
  e.setInsertionPoint(entryEnd->getBlock(),
                      std::next(Block::iterator(entryEnd)));
  return e;
}

// Kept by type: building a layout from its attribute checks it each time.
const act::layout::Distributed &ThreadBuilder::layoutOf(Type block) {
  RankedTensorType type = blockOf(block);
  auto it = layouts.find(type.getAsOpaquePointer());
  if (it == layouts.end())
    it = layouts.emplace(type.getAsOpaquePointer(), distributed(type)).first;
  return it->second;
}

Value ThreadBuilder::i32(int64_t v) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(v)));
}
Value ThreadBuilder::index(int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}
Value ThreadBuilder::add(Value a, Value c) {
  if (!a || !c)
    return a ? a : c;
  return arith::AddIOp::create(b, loc, a, c);
}
Value ThreadBuilder::mul(Value a, int64_t c) {
  if (!a || c == 1)
    return a;
  Value by = a.getType().isIndex()
                 ? index(c)
                 : Value(arith::ConstantOp::create(
                       b, loc, b.getIntegerAttr(a.getType(), c)));
  return arith::MulIOp::create(b, loc, a, by);
}

// Digits are shared by all blocks of a kernel, as few layouts have few distinct
// ones.
Value ThreadBuilder::digit(Value value, int64_t divisor, int64_t extent) {
  Value &d = digits[{value.getAsOpaquePointer(), divisor, extent}];
  if (d)
    return d;
  OpBuilder::InsertionGuard guard(b);
  OpBuilder entry = atEntry();
  b.setInsertionPoint(entry.getInsertionBlock(), entry.getInsertionPoint());
  d = value;
  if (divisor > 1)
    d = arith::DivUIOp::create(b, loc, d, i32(divisor));
  // The last digit has nothing above it to remove.
  int64_t total = value == lane ? 32 : warps;
  if (divisor * extent < total)
    d = arith::RemUIOp::create(b, loc, d, i32(extent));
  if (d != value)
    entryEnd = d.getDefiningOp();
  return d;
}

// The sum over digits of lane and warp that move along `dim`; registers add
// constants to it.
Value ThreadBuilder::base(Type block, unsigned dim) {
  auto key = std::pair(block.getAsOpaquePointer(), dim);
  auto it = bases.find(key);
  if (it != bases.end())
    return it->second;
  const layout::Distributed &l = layoutOf(block);
  Value sum;
  for (auto [list, id] :
       {std::pair(&l.lanes(), lane), std::pair(&l.warps(), warp)}) {
    int64_t divisor = 1;
    for (const layout::Digit &d : *list) {
      if (d.strides[dim] && d.extent > 1) {
        Value part = digit(id, divisor, d.extent);
        OpBuilder::InsertionGuard guard(b);
        OpBuilder entry = atEntry();
        b.setInsertionPoint(entry.getInsertionBlock(),
                            entry.getInsertionPoint());
        sum = add(sum, mul(part, d.strides[dim]));
        if (sum.getDefiningOp()->getBlock() == entryEnd->getBlock() &&
            entryEnd->isBeforeInBlock(sum.getDefiningOp()))
          entryEnd = sum.getDefiningOp();
      }
      divisor *= d.extent;
    }
  }
  if (!sum) {
    OpBuilder::InsertionGuard guard(b);
    OpBuilder entry = atEntry();
    b.setInsertionPoint(entry.getInsertionBlock(), entry.getInsertionPoint());
    sum = i32(0);
    entryEnd = sum.getDefiningOp();
  }
  return bases[key] = sum;
}

// Copies differ in digits with strides of zero, and the first has zeros there.
Value ThreadBuilder::holdsFirstCopy(Type block) {
  const layout::Distributed &l = layoutOf(block);
  Value all;
  for (auto [list, id] :
       {std::pair(&l.lanes(), lane), std::pair(&l.warps(), warp)}) {
    int64_t divisor = 1;
    for (const layout::Digit &d : *list) {
      if (d.isCopy()) {
        Value first =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                  digit(id, divisor, d.extent), i32(0));
        all = all ? Value(arith::AndIOp::create(b, loc, all, first)) : first;
      }
      divisor *= d.extent;
    }
  }
  return all;
}

Value ThreadBuilder::scratch(int64_t bytes) {
  // LLVM may merge accesses and read a few bytes past the end.
  bytes = llvm::alignTo(bytes, 16);
  // Other threads may still be reading what was there: an earlier op's scratch,
  // or memory that is dead by now.
  int64_t offset = shared.scratch(current, bytes);
  if (scratchUsed || shared.isShared(offset, bytes))
    barrier();
  scratchUsed = true;
  return sharedAddress(offset);
}

// One external variable for all kernels of a module, declared when it is
// needed.
Value ThreadBuilder::sharedAddress(int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  if (!sharedBase) {
    auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
    if (!module.lookupSymbol(sharedName)) {
      OpBuilder m = OpBuilder::atBlockBegin(module.getBody());
      // Dynamic shared memory: the launch decides its size. 1024 is the period
      // of a 128-byte swizzle.
      LLVM::GlobalOp::create(m, loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                             /*isConstant=*/false, LLVM::Linkage::External,
                             sharedName, Attribute(), /*alignment=*/1024,
                             /*addrSpace=*/3);
    }
    OpBuilder entry = atEntry();
    sharedBase = LLVM::AddressOfOp::create(entry, loc, pointer, sharedName);
    entryEnd = sharedBase.getDefiningOp();
  }
  return sharedByte(sharedBase, offset);
}

// Barrier 0 waits for all warps of the program. Roles never meet there, so each
// has a named barrier with the number of its threads.
void ThreadBuilder::barrier() {
  if (isOneThread)
    return;
  if (barrierId == 0)
    gpu::BarrierOp::create(b, loc);
  else
    NVVM::BarrierOp::create(b, loc, TypeRange(), i32(barrierId),
                            i32(32 * warps), NVVM::BarrierReductionAttr(),
                            Value());
}

// Outside of roles, so the numbers from 1 on are free.
void ThreadBuilder::barrierOfPart(int64_t parts) {
  Value part = arith::RemUIOp::create(b, loc, warp, i32(parts));
  NVVM::BarrierOp::create(
      b, loc, TypeRange(), arith::AddIOp::create(b, loc, part, i32(1)),
      i32(32 * warps / parts), NVVM::BarrierReductionAttr(), Value());
}

// Inside a role, warps are counted from the role's first. Bases depend on the
// warp, so each role has its own; lanes and constants are common.
ThreadBuilder::Role::Role(ThreadBuilder &t, int64_t first, int64_t warps,
                          int64_t barrierId)
    : t(t), warp(t.warp), warps(t.warps) {
  if (first) {
    // Computed at the kernel's entry, like digits.
    OpBuilder::InsertionGuard guard(t.b);
    OpBuilder entry = t.atEntry();
    t.b.setInsertionPoint(entry.getInsertionBlock(), entry.getInsertionPoint());
    t.warp = t.add(warp, t.i32(-first));
    t.entryEnd = t.warp.getDefiningOp();
  }
  t.warps = warps;
  t.barrierId = barrierId;
  std::swap(t.bases, bases);
}

ThreadBuilder::Role::~Role() {
  t.warp = warp;
  t.warps = warps;
  t.barrierId = 0;
  std::swap(t.bases, bases);
}

void ThreadBuilder::when(Value condition, function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, TypeRange(), condition, false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

void ThreadBuilder::once(function_ref<void()> body) {
  if (isOneThread)
    return body();
  Value first =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                            arith::OrIOp::create(b, loc, lane, warp), i32(0));
  when(first, body);
}

void ThreadBuilder::onceInWarp(function_ref<void()> body) {
  if (isOneThread)
    return body();
  NVVM::SyncWarpOp::create(b, loc, i32(-1));
  when(isZero(lane), body);
}

Value ThreadBuilder::sharedByte(Value address, int64_t bytes) {
  if (bytes == 0)
    return address;
  return LLVM::GEPOp::create(b, loc, address.getType(), b.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value ThreadBuilder::mbarrier(Value mbarriers, Value slot) {
  Value base = scalar(mbarriers);
  Value number =
      arith::IndexCastOp::create(b, loc, b.getI32Type(), scalar(slot));
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ValueRange{mul(number, 8)});
}

// The assembler learns from the shuffle that all lanes have the same number:
// what is computed from it then is in uniform registers.
Value ThreadBuilder::sameInLanes(Value v) {
  return NVVM::ShflOp::create(b, loc, b.getI32Type(), i32(-1), v, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}

Value ThreadBuilder::group() {
  if (groupNumber)
    return groupNumber;
  constexpr int64_t threads = ScheduleAttr::groupThreads;
  OpBuilder::InsertionGuard guard(b);
  OpBuilder entry = atEntry();
  b.setInsertionPoint(entry.getInsertionBlock(), entry.getInsertionPoint());
  Value own = arith::DivUIOp::create(b, loc, thread, i32(threads));
  groupNumber = sameInLanes(own);
  entryEnd = groupNumber.getDefiningOp();
  return groupNumber;
}

// A parameter of 128 bytes that the kernel only reads, so its address can be
// taken where it is.
Value ThreadBuilder::tensorMap(TensorMapAttr map) {
  auto it = llvm::find(maps, map);
  if (it != maps.end())
    return mapAddresses[it - maps.begin()];
  maps.push_back(map);
  mapAddresses.push_back(entryEnd->getBlock()->addArgument(
      LLVM::LLVMPointerType::get(b.getContext()), loc));
  return mapAddresses.back();
}

Value ThreadBuilder::isZero(Value number) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                               i32(0));
}

Value ThreadBuilder::inlinePtx(Type result, StringRef text,
                               StringRef constraints, ValueRange operands) {
  auto op = LLVM::InlineAsmOp::create(
      b, loc, result ? TypeRange(result) : TypeRange(), operands, text,
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? op->getResult(0) : Value();
}

// i1 has no place of one bit in memory, and LLVM has no 8-bit floats.
Type ThreadBuilder::memoryType(Type element) {
  return element.getIntOrFloatBitWidth() <= 8 ? b.getI8Type() : element;
}

Value ThreadBuilder::toMemory(Value v) {
  if (v.getType().isInteger(1))
    return arith::ExtUIOp::create(b, loc, b.getI8Type(), v);
  Type memory = memoryType(v.getType());
  return v.getType() == memory
             ? v
             : Value(arith::BitcastOp::create(b, loc, memory, v));
}

Value ThreadBuilder::fromMemory(Value v, Type element) {
  if (element.isInteger(1))
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne, v,
        arith::ConstantIntOp::create(b, loc, b.getI8Type(), 0));
  return v.getType() == element
             ? v
             : Value(arith::BitcastOp::create(b, loc, element, v));
}

/// The existing vector with exactly these elements, or null. An 8-bit float may
/// be in it as an integer.
static Value wholeOf(ValueRange elements) {
  Value whole;
  for (auto [i, e] : llvm::enumerate(elements)) {
    while (auto same = e.getDefiningOp<arith::BitcastOp>())
      e = same.getIn();
    auto part = e.getDefiningOp<LLVM::ExtractElementOp>();
    APInt at;
    if (!part || !matchPattern(part.getPosition(), m_ConstantInt(&at)) ||
        at != i || (whole && part.getVector() != whole))
      return Value();
    whole = part.getVector();
  }
  int64_t count = cast<VectorType>(whole.getType()).getNumElements();
  return count == static_cast<int64_t>(elements.size()) ? whole : Value();
}

// A vector that was only taken apart is found again, so no instructions are
// made for it.
Value ThreadBuilder::vectorOf(ValueRange elements) {
  if (Value whole = wholeOf(elements))
    return whole;
  size_t count = elements.size();
  int64_t bits = elements.front().getType().getIntOrFloatBitWidth();
  bool bytes = bits == 8 && (count == 2 || count % 4 == 0),
       halves = bits == 16 && count % 2 == 0 && llvm::all_equal(elements);
  if (bytes || halves) {
    // Pack by arithmetic: LLVM would combine pairs of bytes, and a repeated
    // half, with an undefined half.
    size_t perWord = std::min<size_t>(count, 32 / bits);
    Type type = b.getIntegerType(bits * perWord), part = b.getIntegerType(bits);
    SmallVector<Value> words;
    for (size_t i = 0; i < count; i += perWord) {
      Value word;
      for (auto [j, e] : llvm::enumerate(elements.slice(i, perWord))) {
        Value number = e.getType() == part
                           ? e
                           : Value(arith::BitcastOp::create(b, loc, part, e));
        number = arith::ExtUIOp::create(b, loc, type, number);
        if (!word) {
          word = number;
          continue;
        }
        Value by = arith::ConstantIntOp::create(b, loc, type, bits * j);
        number = arith::ShLIOp::create(b, loc, number, by);
        word = arith::OrIOp::create(b, loc, word, number);
      }
      words.push_back(word);
    }
    return words.size() == 1 ? words[0] : vectorOf(words);
  }
  auto type = VectorType::get(elements.size(), elements.front().getType());
  Value v = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, e] : llvm::enumerate(elements))
    v = LLVM::InsertElementOp::create(b, loc, v, e, i32(i));
  return v;
}

Value ThreadBuilder::elementOf(Value vector, int64_t i) {
  return LLVM::ExtractElementOp::create(b, loc, vector, i32(i));
}

Value ThreadBuilder::roundedPair(Type element, Value first, Value second) {
  // The instruction's first operand is the upper half.
  auto name = b.getStringAttr(element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                               : "llvm.nvvm.ff2f16x2.rn");
  return LLVM::CallIntrinsicOp::create(b, loc, VectorType::get(2, element),
                                       name, ValueRange{second, first})
      .getResult(0);
}

Registers ThreadBuilder::wordsOf(Value block) {
  Registers words;
  const Registers &elements = of(block);
  for (size_t i = 0; i < elements.size(); i += 2)
    words.push_back(
        bitsAs(b.getI32Type(), vectorOf({elements[i], elements[i + 1]})));
  return words;
}

void ThreadBuilder::setWords(Value block, ValueRange words) {
  Registers elements;
  auto pair = VectorType::get({2}, element(block.getType()));
  for (Value word : words)
    for (int64_t i : {0, 1})
      elements.push_back(
          LLVM::ExtractElementOp::create(b, loc, bitsAs(pair, word), i32(i)));
  set(block, std::move(elements));
}

Value ThreadBuilder::bitsAs(Type type, Value v) {
  return v.getType() == type ? v
                             : b.createOrFold<LLVM::BitcastOp>(loc, type, v);
}
