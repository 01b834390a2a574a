// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores and atomic additions of blocks. A plain access is an LLVM load
// or store. One that may be outside of its view is a predicated PTX
// instruction, which avoids a branch.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// How `bytes` are moved: as `words` registers of `type`.
struct Words {
  Type type;
  int64_t count;
  const char *ptx;        // suffix for one word
  const char *constraint; // of inline PTX
};

Words wordsOf(int64_t bytes, OpBuilder &b) {
  if (bytes == 1)
    return {b.getI16Type(), 1, "b8", "h"}; // PTX has no registers of 8 bits
  if (bytes == 2)
    return {b.getI16Type(), 1, "b16", "h"};
  return {b.getI32Type(), bytes / 4, "b32", "r"};
}

std::string vectorSuffix(const Words &w) {
  return (w.count > 1 ? ".v" + std::to_string(w.count) : std::string()) + "." +
         w.ptx;
}

/// "{$0, $1}" with operand numbers from `first` on.
std::string list(int64_t first, int64_t count) {
  std::string s;
  for (int64_t i = 0; i < count; ++i)
    s += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + s + "}" : s;
}

/// Word number `at` of a sequence of `pad` elements.
uint32_t packed(TypedAttr pad, Type element, int64_t wordBits, int64_t at) {
  int64_t bits = std::max<int64_t>(8, element.getIntOrFloatBitWidth());
  uint64_t one = 0;
  if (auto f = dyn_cast_or_null<FloatAttr>(pad))
    one = f.getValue().bitcastToAPInt().getZExtValue();
  else if (auto i = dyn_cast_or_null<IntegerAttr>(pad))
    one = i.getValue().getZExtValue();
  if (bits < 64)
    one &= (uint64_t(1) << bits) - 1;
  if (bits == 64)
    return static_cast<uint32_t>(at % 2 ? one >> 32 : one);
  uint64_t word = 0;
  for (int64_t bit = 0; bit < wordBits; bit += bits)
    word |= one << bit;
  return static_cast<uint32_t>(word);
}

/// Splits the words of one access into elements.
void unpack(ValueRange words, Type element, int64_t vector, ThreadBuilder &t,
            Registers &out) {
  OpBuilder &b = t.b;
  Type memory = t.memoryType(element);
  int64_t bits = memory.getIntOrFloatBitWidth();
  Value all;
  if (vector * bits < 32) { // one 16-bit word, of one or two elements
    Value w = words.front();
    if (vector * bits == 8)
      w = arith::TruncIOp::create(b, t.loc, b.getI8Type(), w);
    all = w;
  } else if (words.size() == 1) {
    all = words.front();
  } else {
    all = t.vectorOf(words);
  }
  if (vector == 1) {
    out.push_back(t.fromMemory(t.bitsAs(memory, all), element));
    return;
  }
  Value elements = t.bitsAs(VectorType::get(vector, memory), all);
  for (int64_t i = 0; i < vector; ++i)
    out.push_back(t.fromMemory(t.elementOf(elements, i), element));
}

/// Packs elements into the words of one access.
SmallVector<Value> pack(ArrayRef<Value> elements, Type element,
                        ThreadBuilder &t) {
  OpBuilder &b = t.b;
  SmallVector<Value> parts;
  for (Value v : elements)
    parts.push_back(t.toMemory(v));
  Type part = parts.front().getType();
  int64_t bits = part.getIntOrFloatBitWidth() * parts.size();
  if (bits == 8)
    return {arith::ExtUIOp::create(b, t.loc, b.getI16Type(), parts.front())};
  Value all = parts.front();
  if (parts.size() > 1)
    all = t.vectorOf(parts);
  if (bits == 16 || bits == 32)
    return {t.bitsAs(b.getIntegerType(bits), all)};
  all = t.bitsAs(VectorType::get(bits / 32, b.getI32Type()), all);
  SmallVector<Value> out;
  for (int64_t i = 0; i < bits / 32; ++i)
    out.push_back(t.elementOf(all, i));
  return out;
}

/// The words of the access that begins at register r. If it may be outside, the
/// padding is moved to the words first and a predicated load replaces it:
///
///     mov.b32 $0, pad;  @inside ld.global.b32 $0, [pointer + offset];
///
/// The words are written before the pointer is read, so they are early clobbers
/// (=&): they must not share its register.
SmallVector<Value> loadWords(BlockAccess &access, int64_t r, const Words &w,
                             int64_t bytes, TypedAttr pad, Type element,
                             ThreadBuilder &t) {
  OpBuilder &b = t.b;
  Value pointer = access.pointer(r);
  int64_t offset = access.offset(r);
  if (Value inside = access.inside(r)) {
    std::string text;
    int64_t wordBits = std::min<int64_t>(32, bytes * 8);
    char literal[16];
    for (int64_t i = 0; i < w.count; ++i) {
      snprintf(literal, sizeof literal, "0x%x",
               packed(pad, element, wordBits, i));
      text += std::string("mov.") + (wordBits < 32 ? "b16" : "b32") + " $" +
              std::to_string(i) + ", " + literal + "; ";
    }
    text += "@$" + std::to_string(w.count) + " ld.global" + vectorSuffix(w) +
            " " + list(0, w.count) + ", [$" + std::to_string(w.count + 1) +
            " + " + std::to_string(offset) + "];";
    std::string constraints;
    for (int64_t i = 0; i < w.count; ++i)
      constraints += std::string("=&") + w.constraint + ",";
    constraints += "b,l";
    Type result = w.type;
    if (w.count > 1)
      result = LLVM::LLVMStructType::getLiteral(
          b.getContext(), SmallVector<Type>(w.count, w.type));
    Value loaded = t.inlinePtx(result, text, constraints, {inside, pointer});
    if (w.count == 1)
      return {loaded};
    SmallVector<Value> out;
    for (int64_t i = 0; i < w.count; ++i)
      out.push_back(LLVM::ExtractValueOp::create(b, t.loc, loaded, i));
    return out;
  }
  if (offset)
    pointer = LLVM::GEPOp::create(
        b, t.loc, pointer.getType(), b.getI8Type(), pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  Type type = w.count > 1  ? Type(VectorType::get(w.count, w.type))
              : bytes == 1 ? Type(b.getI8Type())
                           : w.type;
  Value loaded =
      LLVM::LoadOp::create(b, t.loc, type, pointer, /*alignment=*/bytes);
  if (bytes == 1)
    return {arith::ExtUIOp::create(b, t.loc, b.getI16Type(), loaded)};
  if (w.count == 1)
    return {loaded};
  SmallVector<Value> out;
  for (int64_t i = 0; i < w.count; ++i)
    out.push_back(t.elementOf(loaded, i));
  return out;
}

/// All threads load, also those that hold copies: each needs its own registers.
LogicalResult lowerLoad(LoadOp op, ThreadBuilder &t) {
  RankedTensorType type = accessedBlock(op.getType(), t);
  BlockAccess access(op.getView(), op.getIndices(), op.getExtents(), type, t);
  Type element = type.getElementType();
  int64_t bytes = access.vector * bytesOf(element);
  Words w = wordsOf(bytes, t.b);
  Registers out;
  for (int64_t r = 0, n = t.registersOf(type); r < n; r += access.vector)
    unpack(loadWords(access, r, w, bytes, op.getPadAttr(), element, t), element,
           access.vector, t, out);
  if (t.isBlock(op.getType()))
    t.set(op, std::move(out));
  else
    t.scalars.map(op.getResult(), out.front());
  return success();
}

Registers registersOf(Value v, ThreadBuilder &t) {
  return t.isBlock(v) ? t.of(v) : Registers{t.scalar(v)};
}

Value andAlso(Value a, Value c, ThreadBuilder &t) {
  if (!a || !c)
    return a ? a : c;
  return arith::AndIOp::create(t.b, t.loc, a, c);
}

/// An element with copies is stored once, by the first thread that holds it.
LogicalResult lowerStore(StoreOp op, ThreadBuilder &t) {
  RankedTensorType type = accessedBlock(op.getValue().getType(), t);
  BlockAccess access(op.getView(), op.getIndices(), op.getExtents(), type, t);
  Type element = type.getElementType();
  int64_t bytes = access.vector * bytesOf(element);
  Words w = wordsOf(bytes, t.b);
  Value once = t.holdsFirstCopy(type);
  Registers registers = registersOf(op.getValue(), t);
  for (int64_t r = 0, n = registers.size(); r < n; r += access.vector) {
    SmallVector<Value> words =
        pack(ArrayRef<Value>(registers).slice(r, access.vector), element, t);
    Value pointer = access.pointer(r);
    int64_t offset = access.offset(r);
    if (Value when = andAlso(access.inside(r), once, t)) {
      std::string text = "@$0 st.global" + vectorSuffix(w) + " [$1 + " +
                         std::to_string(offset) + "], " + list(2, w.count) +
                         ";";
      std::string constraints = "b,l";
      for (int64_t i = 0; i < w.count; ++i)
        constraints += std::string(",") + w.constraint;
      SmallVector<Value> operands{when, pointer};
      llvm::append_range(operands, words);
      t.inlinePtx(Type(), text, constraints + ",~{memory}", operands);
      continue;
    }
    if (offset)
      pointer = LLVM::GEPOp::create(
          t.b, t.loc, pointer.getType(), t.b.getI8Type(), pointer,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    Value all = words.front();
    if (bytes == 1)
      all = arith::TruncIOp::create(t.b, t.loc, t.b.getI8Type(), all);
    else if (words.size() > 1)
      all = t.vectorOf(words);
    LLVM::StoreOp::create(t.b, t.loc, all, pointer, /*alignment=*/bytes);
  }
  return success();
}

/// sm_80 cannot add bf16 atomically: compare and swap until no other thread
/// intervenes. The first read is relaxed as well, or it would race with the
/// swaps.
void addByExchange(Value v, Value pointer, int64_t offset, Value when,
                   ThreadBuilder &t) {
  OpBuilder::InsertionGuard guard(t.b);
  if (when) {
    auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), when, false);
    t.b.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  std::string at = "[$0 + " + std::to_string(offset) + "]";
  t.inlinePtx(Type(),
              "{ .reg .pred %again; .reg .b16 %old, %new, %seen, %one; "
              "mov.b16 %one, 0x3f80; ld.relaxed.gpu.global.b16 %old, " +
                  at + "; again_${:uid}: fma.rn.bf16 %new, %old, %one, $1; " +
                  "atom.relaxed.gpu.global.cas.b16 %seen, " + at +
                  ", %old, %new; " +
                  "setp.ne.s16 %again, %seen, %old; mov.b16 %old, %seen; " +
                  "@%again bra again_${:uid}; }",
              "l,h,~{memory}", {pointer, t.bitsAs(t.b.getI16Type(), v)});
}

/// The block's registers in the order of the view's memory, and its type.
RankedTensorType sortedByMemory(AtomicAddOp op, RankedTensorType type,
                                Registers &registers, ThreadBuilder &t) {
  auto view = cast<ViewType>(op.getView().getType());
  const SmallVector<int64_t> full = view.getFullStrides();
  SmallVector<int64_t> strides;
  for (auto [extent, stride] : llvm::zip(op.getExtents(), full))
    if (extent >= 0) {
      if (ShapedType::isDynamic(stride))
        return type;
      strides.push_back(stride);
    }
  const auto &own = t.layoutOf(type);
  if (strides.size() != own.rank())
    return type;
  const auto sorted = inOrderOf(strides, own);
  Registers all;
  for (int64_t r = 0; r < sorted.registerCount(); ++r)
    all.push_back(registers[own.holder(sorted.coordinates(r, 0, 0)).reg]);
  registers = std::move(all);
  return with(type, sorted);
}

/// Adds two or four adjacent numbers.
void addVector(ArrayRef<Value> numbers, Value pointer, int64_t offset,
               Value when, ThreadBuilder &t) {
  std::string list, constraints = "l";
  SmallVector<Value> operands{pointer};
  for (auto [i, x] : llvm::enumerate(numbers)) {
    list += (i ? ", $" : "$") + std::to_string(i + 1);
    constraints += ",f";
    operands.push_back(x);
  }
  std::string guard;
  if (when) {
    guard = "@$" + std::to_string(operands.size()) + " ";
    constraints += ",b";
    operands.push_back(when);
  }
  t.inlinePtx(Type(),
              guard + "red.relaxed.gpu.global.add.v" +
                  std::to_string(numbers.size()) + ".f32 [$0 + " +
                  std::to_string(offset) + "], {" + list + "};",
              constraints + ",~{memory}", operands);
}

/// `red` and not `atom`: the op has no result, so nothing waits for the old
/// value. Relaxed, as the order of additions is not defined anyway.
LogicalResult lowerAtomicAdd(AtomicAddOp op, ThreadBuilder &t) {
  RankedTensorType type = accessedBlock(op.getValue().getType(), t);
  Type element = type.getElementType();
  const char *ptx = element.isF32()         ? "f32"
                    : element.isF64()       ? "f64"
                    : element.isInteger(32) ? "u32"
                    : element.isInteger(64) ? "u64"
                    : element.isF16()       ? "noftz.f16"
                                            : nullptr;
  if (!ptx && !element.isBF16())
    return op.emitOpError() << "adds " << element
                            << ", which the target has no instruction for; "
                               "expected f32, f64, f16, bf16, i32 or i64";
  Registers registers = registersOf(op.getValue(), t);
  if (element.isF32() && t.addsVectors)
    type = sortedByMemory(op, type, registers, t);
  BlockAccess access(op.getView(), op.getIndices(), op.getExtents(), type, t);
  const char *constraint = element.isF32()         ? "f"
                           : element.isF64()       ? "d"
                           : element.isInteger(64) ? "l"
                           : element.isF16()       ? "h"
                                                   : "r";
  Value once = t.holdsFirstCopy(type);
  // A register with a copy of another's element would add it twice.
  std::set<Coordinates> added;
  const act::layout::Distributed &l = t.layoutOf(type);
  const int64_t v =
      element.isF32() && t.addsVectors &&
              l.withoutRegisterCopies().registerCount() == l.registerCount()
          ? access.vector
          : 1;
  for (int64_t r = 0, n = registers.size(); r < n; r += v) {
    if (v > 1) {
      addVector(ArrayRef(registers).slice(r, v), access.pointer(r),
                access.offset(r), andAlso(access.inside(r), once, t), t);
      continue;
    }
    // `once` excludes copies in other threads, this those in the same thread.
    if (!added.insert(l.coordinates(r, 0, 0)).second)
      continue;
    Value when = andAlso(access.inside(r), once, t);
    if (element.isBF16()) {
      addByExchange(registers[r], access.pointer(r), access.offset(r), when, t);
      continue;
    }
    std::string text = std::string(when ? "@$2 " : "") +
                       "red.relaxed.gpu.global.add." + ptx + " [$0 + " +
                       std::to_string(access.offset(r)) + "], $1;";
    SmallVector<Value> operands{access.pointer(r), registers[r]};
    if (element.isF16())
      operands[1] =
          LLVM::BitcastOp::create(t.b, t.loc, t.b.getI16Type(), operands[1]);
    if (when)
      operands.push_back(when);
    t.inlinePtx(Type(), text,
                std::string("l,") + constraint + (when ? ",b" : "") +
                    ",~{memory}",
                operands);
  }
  return success();
}

} // namespace

// So a number is loaded by all threads, and stored by the first.
RankedTensorType act::tile::accessedBlock(Type type, ThreadBuilder &t) {
  if (auto block = dyn_cast<RankedTensorType>(type))
    return block;
  auto everywhere =
      act::layout::Tower({1}).copiesInLanes(32).copiesInWarps(t.warps).get();
  return with(RankedTensorType::get({1}, type), *everywhere);
}

LogicalResult act::tile::lowerMemory(Operation *op, ThreadBuilder &t) {
  if (auto load = dyn_cast<LoadOp>(op))
    return lowerLoad(load, t);
  if (auto store = dyn_cast<StoreOp>(op))
    return lowerStore(store, t);
  return lowerAtomicAdd(cast<AtomicAddOp>(op), t);
}
