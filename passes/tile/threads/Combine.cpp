// SPDX-License-Identifier: Apache-2.0
//
// Combining is the same for reductions and scans; they differ in which parts
// they combine. Elements are tuples, since a region may combine several
// operands at once, such as a value and its position.
#include "passes/tile/threads/Combine.h"
#include "dialects/tile/Combine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace act::tile;

// A region is cloned for each combination.
Tuple act::tile::combine(std::optional<CombineKind> kind, Region &combiner,
                         const Tuple &a, const Tuple &c, ThreadBuilder &t) {
  // A kind such as max combines one operand; a region has two arguments for
  // each.
  if (kind)
    return {createCombine(t.b, t.loc, *kind, a[0], c[0])};
  Block &body = combiner.front();
  IRMapping map;
  for (size_t i = 0; i < a.size(); ++i) {
    map.map(body.getArgument(i), a[i]);
    map.map(body.getArgument(a.size() + i), c[i]);
  }
  // Values captured from the kernel around it.
  SetVector<Value> around;
  getUsedValuesDefinedAbove(combiner, around);
  for (Value v : around)
    map.map(v, t.scalar(v));
  for (Operation &inner : body.without_terminator())
    t.b.clone(inner, map);
  Tuple out;
  for (Value v : body.getTerminator()->getOperands())
    out.push_back(map.lookupOrDefault(v));
  return out;
}

// shfl.sync moves 32 bits: narrower values are extended, wider ones moved in
// two halves.
Value act::tile::shuffle(Value v, NVVM::ShflKind kind, Value by,
                         ThreadBuilder &t) {
  OpBuilder &b = t.b;
  Type type = v.getType();
  Value clamp = t.i32(kind == NVVM::ShflKind::up ? 0 : 31);
  auto once = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, t.loc, b.getI32Type(), t.i32(-1), word, by,
                                clamp, kind, UnitAttr());
  };
  int64_t bits = type.getIntOrFloatBitWidth();
  auto integer = b.getIntegerType(bits);
  Value word = type == integer
                   ? v
                   : Value(arith::BitcastOp::create(b, t.loc, integer, v));
  if (bits < 32) {
    word = arith::ExtUIOp::create(b, t.loc, b.getI32Type(), word);
    word = arith::TruncIOp::create(b, t.loc, integer, once(word));
  } else if (bits == 32) {
    word = once(word);
  } else {
    Value low = arith::TruncIOp::create(b, t.loc, b.getI32Type(), word);
    Value half = arith::ConstantIntOp::create(b, t.loc, integer, 32);
    Value high = arith::TruncIOp::create(
        b, t.loc, b.getI32Type(), arith::ShRUIOp::create(b, t.loc, word, half));
    low = arith::ExtUIOp::create(b, t.loc, integer, once(low));
    high = arith::ExtUIOp::create(b, t.loc, integer, once(high));
    word = arith::OrIOp::create(b, t.loc, low,
                                arith::ShLIOp::create(b, t.loc, high, half));
  }
  return type == integer
             ? word
             : Value(arith::BitcastOp::create(b, t.loc, type, word));
}

// Each digit of lanes and warps goes into the number of the part, into the
// place in a part, or into the condition of writing: of several threads with
// the same value, the first writes it.
WarpParts::WarpParts(
    const layout::Distributed &layout,
    llvm::function_ref<Role(const layout::Digit &, bool ofWarps)> role,
    ThreadBuilder &t)
    : t(t) {
  for (auto [list, id, ofWarps] : {std::tuple(&layout.lanes(), t.lane, false),
                                   std::tuple(&layout.warps(), t.warp, true)}) {
    int64_t divisor = 1;
    for (const layout::Digit &d : *list) {
      Value digit = t.digit(id, divisor, d.extent);
      divisor *= d.extent;
      switch (role(d, ofWarps)) {
      case Role::Part:
        part = t.add(part, t.mul(digit, parts));
        parts *= d.extent;
        break;
      case Role::Place:
        where = t.add(where, t.mul(digit, places));
        places *= d.extent;
        break;
      case Role::Same: {
        Value first = arith::CmpIOp::create(
            t.b, t.loc, arith::CmpIPredicate::eq, digit, t.i32(0));
        writes = writes
                     ? Value(arith::AndIOp::create(t.b, t.loc, writes, first))
                     : first;
        break;
      }
      }
    }
  }
  if (!where)
    where = t.i32(0);
}

Value WarpParts::address(size_t operand, Value partNumber, int64_t constantPart,
                         int64_t i, Type type) {
  Value element =
      t.add(where, t.i32(i * places + constantPart * values * places));
  element = t.add(element, t.mul(partNumber, values * places));
  Value p = base;
  if (offsets[operand])
    p = LLVM::GEPOp::create(
        t.b, t.loc, base.getType(), t.b.getI8Type(), p,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offsets[operand])});
  return LLVM::GEPOp::create(t.b, t.loc, base.getType(), type, p,
                             ValueRange{element});
}

// [operand][part][value][place]: lanes write adjacent places, and all parts of
// a value are at constant distances for the reader.
void WarpParts::write(ArrayRef<Tuple> all) {
  values = all.size();
  int64_t bytes = 0;
  SmallVector<int64_t> tails;
  for (Value v : all.front()) {
    types.push_back(v.getType());
    int64_t size =
        std::max<int64_t>(1, v.getType().getIntOrFloatBitWidth() / 8);
    offsets.push_back(bytes);
    bytes += size * parts * values * places;
    // LLVM reads 12 bytes as 16, so the padding must be initialised.
    if (!llvm::isPowerOf2_64(bytes % 16) && bytes % 16)
      tails.push_back(bytes);
    bytes = llvm::alignTo(bytes, 16);
  }
  base = t.scratch(bytes);
  if (!tails.empty()) {
    Value first = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq,
                                        t.thread, t.i32(0));
    auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), first, false);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&branch.getThenRegion().front());
    for (int64_t at : tails)
      for (int64_t size; at % 16; at += size) {
        size = at & -at; // largest aligned size
        Type type = t.b.getIntegerType(8 * size);
        Value p = LLVM::GEPOp::create(
            t.b, t.loc, base.getType(), t.b.getI8Type(), base,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(at)});
        LLVM::StoreOp::create(
            t.b, t.loc, arith::ConstantIntOp::create(t.b, t.loc, type, 0), p);
      }
  }
  auto storeAll = [&] {
    for (auto [i, value] : llvm::enumerate(all))
      for (auto [operand, v] : llvm::enumerate(value)) {
        Value stored = t.toMemory(v);
        LLVM::StoreOp::create(t.b, t.loc, stored,
                              address(operand, part, 0, i, stored.getType()));
      }
  };
  if (writes) {
    auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), writes, false);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&branch.getThenRegion().front());
    storeAll();
  } else {
    storeAll();
  }
  t.barrier();
}

Tuple WarpParts::read(int64_t p, size_t i) {
  Tuple out;
  for (auto [operand, type] : llvm::enumerate(types)) {
    Type memory = t.memoryType(type);
    Value loaded = LLVM::LoadOp::create(
        t.b, t.loc, memory, address(operand, Value(), p, i, memory));
    out.push_back(t.fromMemory(loaded, type));
  }
  return out;
}
