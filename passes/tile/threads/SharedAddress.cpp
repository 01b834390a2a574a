// SPDX-License-Identifier: Apache-2.0
//
// layout::Shared computes addresses of numbers. Here row and column are values
// of the thread, and the same formulas become instructions.
#include "passes/tile/threads/SharedAddress.h"
#include "act/Layout/Blocked.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"

using namespace mlir;
using namespace act;
using namespace act::tile;
using layout::Place;
using layout::Shared;

/// Slots are row-major over the leading dimensions, so their strides grow from
/// the last one.
Value act::tile::slotPointer(SharedType type, Value pointer, ValueRange slot,
                             ThreadBuilder &t) {
  int64_t bytes = slotBytes(type, t.shared.byAddress);
  Value offset;
  for (size_t d = slot.size(); d-- > 0; bytes *= type.getShape()[d]) {
    Value s = arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(),
                                         t.scalar(slot[d]));
    offset = t.add(offset, t.mul(s, bytes));
  }
  return offset ? Value(LLVM::GEPOp::create(t.b, t.loc, pointer.getType(),
                                            t.b.getI8Type(), pointer,
                                            ValueRange{offset}))
                : pointer;
}

// The slot is added as a number, so that the rest is computed once.
Value ThreadBuilder::sharedUnits(Value memory, int64_t unit) {
  if (auto view = memory.getDefiningOp<SharedViewOp>()) {
    Value at = sharedUnits(view.getShared(), unit);
    SharedType type = view.getShared().getType();
    int64_t bytes = slotBytes(type, shared.byAddress);
    for (size_t d = view.getSlot().size(); d-- > 0;
         bytes *= type.getShape()[d]) {
      Value s = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                           scalar(view.getSlot()[d]));
      at = add(at, mul(s, bytes / unit));
    }
    return at;
  }
  Value address =
      LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), scalar(memory));
  return arith::DivUIOp::create(b, loc, address, i32(unit));
}

/// A block of one dimension is one row.
static Place placeOf(const Coordinates &c) {
  return {c.size() > 1 ? c[c.size() - 2] : 0, c.back()};
}

Accesses act::tile::accessesOf(Type block, int64_t step, ThreadBuilder &t) {
  const layout::Distributed &l = t.layoutOf(block);
  Accesses a;
  a.column = t.base(block, l.rank() - 1);
  a.row = l.rank() > 1 ? t.base(block, l.rank() - 2) : t.i32(0);
  for (int64_t warp = 0; warp < t.warps; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      a.threads.push_back(placeOf(l.coordinates(0, lane, warp)));
  for (int64_t r = 0; r < l.registerCount(); r += step)
    a.constants.push_back(placeOf(l.coordinates(r, 0, 0)));
  return a;
}

SharedAddress::SharedAddress(const Shared &form, Value pointer,
                             Accesses accesses, ThreadBuilder &t)
    : form(form), base(pointer), accesses(std::move(accesses)), t(t) {
  deltas = form.deltas(this->accesses.threads, this->accesses.constants);
}

/// Shared::Panel::offset() for a row and a byte that are values. The swizzle
/// flips bits of the chunk's number, which begins at bit 4 of the byte, so
/// bytes within a chunk stay together.
Value SharedAddress::offset(const Shared::Panel &panel, Value row, Value byte) {
  OpBuilder &b = t.b;
  auto bits = [&](int64_t shift, int64_t mask) -> Value { // of the row
    Value v = row;
    if (shift > 0)
      v = arith::ShRUIOp::create(b, t.loc, v, t.i32(shift));
    if (shift < 0)
      v = arith::ShLIOp::create(b, t.loc, v, t.i32(-shift));
    return arith::AndIOp::create(b, t.loc, v, t.i32(mask));
  };
  if (panel.mask && panel.swizzle != layout::Swizzle::none) {
    Value flip;
    if (panel.inLines())
      flip =
          arith::XOrIOp::create(b, t.loc, bits(panel.shift - 1, panel.mask & 6),
                                t.mul(bits(2, 1), panel.weightOf4()));
    else
      flip = bits(panel.shift, panel.mask);
    flip = arith::ShLIOp::create(b, t.loc, flip, t.i32(4));
    byte = arith::XOrIOp::create(b, t.loc, byte, flip);
  }
  if (panel.inLines())
    return arith::XOrIOp::create(b, t.loc, t.mul(row, panel.pitch), byte);
  return t.add(t.mul(row, panel.pitch), byte);
}

/// The general case: the thread's own column may decide the panel.
Value SharedAddress::offset(Place constant) {
  OpBuilder &b = t.b;
  Value row = t.add(accesses.row, t.i32(constant[0]));
  Value byte =
      t.mul(t.add(accesses.column, t.i32(constant[1])), form.elementBytes());
  std::set<int64_t> firsts; // of the panels in question
  for (const Place &thread : accesses.threads)
    firsts.insert(form.panelOf((thread[1] + constant[1]) * form.elementBytes())
                      .firstByte);
  Value chosen;
  for (const Shared::Panel &panel : form.panels()) {
    if (!firsts.count(panel.firstByte))
      continue;
    Value in = panel.firstByte ? t.add(byte, t.i32(-panel.firstByte)) : byte;
    Value here = offset(panel, row, in);
    if (panel.start)
      here = t.add(here, t.i32(panel.start));
    if (!chosen) {
      chosen = here;
      continue;
    }
    Value reached = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::sge,
                                          byte, t.i32(panel.firstByte));
    chosen = arith::SelectOp::create(b, t.loc, reached, here, chosen);
  }
  return chosen;
}

Value SharedAddress::pointer(Value offset, int64_t constant) {
  Value p = LLVM::GEPOp::create(t.b, t.loc, base.getType(), t.b.getI8Type(),
                                base, ValueRange{offset});
  if (constant)
    p = LLVM::GEPOp::create(
        t.b, t.loc, base.getType(), t.b.getI8Type(), p,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constant)});
  return p;
}

Value SharedAddress::at(size_t i) {
  if (!deltas)
    return pointer(offset(accesses.constants[i]), 0);
  // One address for each flip; all accesses with that flip differ by constants.
  Shared::Delta d = (*deltas)[i];
  Value &own = flipped[0];
  if (!own)
    own = offset(Place{0, 0});
  Value thread = own;
  Value &v = flipped[d.flip];
  if (!v)
    v = arith::XOrIOp::create(t.b, t.loc, thread, t.i32(d.flip));
  return pointer(v, d.add);
}
