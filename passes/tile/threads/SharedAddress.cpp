// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/threads/SharedAddress.h"
#include "passes/tile/threads/BlockAccess.h"

using namespace mlir;
using namespace act::tile;

SharedShape act::tile::shapeOf(SharedType type) {
  SharedShape s;
  ArrayRef<int64_t> shape = type.getShape();
  s.columns = shape.back();
  s.rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  s.blocks = type.getNumElements() / (s.rows * s.columns);
  s.elementBytes = bytesOf(type.getElementType());
  s.swizzle = type.getLayout() ? type.getLayout().getSwizzle() : 0;
  return s;
}

SharedAddress::SharedAddress(SharedType type, Value pointer, ValueRange slot, Value row, Value column, int64_t columnEnd,
                             ThreadBuilder &t)
    : t(t), row(row), column(column), columnEnd(columnEnd) {
  SharedShape s = shapeOf(type);
  elementBytes = s.elementBytes;
  rowBytes = s.columns * s.elementBytes;
  int64_t start = 0;
  if (s.swizzle == 0)
    panels.push_back({0, rowBytes, 0, 0, 0});
  for (int64_t bytes = s.swizzle; s.swizzle && start < rowBytes; bytes /= 2)
    for (; start + bytes <= rowBytes; start += bytes)
      panels.push_back({start, bytes, start * s.rows, bytes == 128 ? 0 : bytes == 64 ? 1 : 2,
                        std::max<int64_t>(0, bytes / 16 - 1)});
  Value offset; // bytes, of the slot
  int64_t blockBytes = s.rows * rowBytes, count = 1;
  ArrayRef<int64_t> shape = type.getShape();
  for (size_t d = slot.size(); d-- > 0; count *= shape[d])
    offset = t.add(offset, t.mul(arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(), t.scalar(slot[d])),
                                 count * blockBytes));
  base = pointer;
  if (offset)
    base = LLVM::GEPOp::create(t.b, t.loc, base.getType(), t.b.getI8Type(), base, ValueRange{offset});
}

Value SharedAddress::offsetIn(const Panel &panel, Value r, Value byte) {
  OpBuilder &b = t.b;
  auto binary = [&](auto make, Value x, int64_t c) -> Value { return make(x, t.i32(c)); };
  auto shr = [&](Value x, Value c) -> Value { return arith::ShRUIOp::create(b, t.loc, x, c); };
  auto band = [&](Value x, Value c) -> Value { return arith::AndIOp::create(b, t.loc, x, c); };
  auto shl = [&](Value x, Value c) -> Value { return arith::ShLIOp::create(b, t.loc, x, c); };
  Value offset = t.mul(r, panel.bytes);
  if (panel.phaseMask) {
    Value phase = panel.phaseShift ? binary(shr, r, panel.phaseShift) : r;
    phase = binary(shl, binary(band, phase, panel.phaseMask), 4);
    byte = arith::XOrIOp::create(b, t.loc, byte, phase);
  }
  return arith::AddIOp::create(b, t.loc, offset, byte);
}

Value SharedAddress::at(int64_t r, int64_t c) {
  OpBuilder &b = t.b;
  auto pointer = [&](Value offset, int64_t constant) -> Value {
    Value p = base;
    if (offset)
      p = LLVM::GEPOp::create(b, t.loc, p.getType(), b.getI8Type(), p, ValueRange{offset});
    if (constant)
      p = LLVM::GEPOp::create(b, t.loc, p.getType(), b.getI8Type(), p,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constant)});
    return p;
  };
  int64_t first = c * elementBytes, last = (c + columnEnd) * elementBytes - 1;
  Value threadByte = t.mul(column, elementBytes);
  for (const Panel &panel : panels) {
    if (first < panel.start || last >= panel.start + panel.bytes)
      continue;
    int64_t in = first - panel.start;
    // No bit of the constant may be one of the thread's.
    int64_t threadEnd = columnEnd * elementBytes;
    bool disjoint = (in & (in - 1)) == 0 ? in == 0 || threadEnd <= in : threadEnd <= (in & -in);
    bool sameChunk = panel.phaseMask == 0;
    if ((disjoint && r % 8 == 0) || sameChunk) {
      Value &own = threadOffsets[{panel.bytes, panel.phaseMask}];
      if (!own)
        own = offsetIn(panel, row, threadByte);
      if (sameChunk)
        return pointer(own, panel.base + r * panel.bytes + in);
      Value offset = in ? Value(arith::XOrIOp::create(b, t.loc, own, t.i32(in))) : own;
      return pointer(offset, panel.base + r * panel.bytes);
    }
    Value offset = offsetIn(panel, t.add(row, t.i32(r)), t.add(threadByte, t.i32(in)));
    return pointer(offset, panel.base);
  }
  // The thread's own column decides in which panel.
  Value rowHere = t.add(row, t.i32(r)), byteHere = t.add(threadByte, t.i32(first));
  Value chosen;
  for (const Panel &panel : panels) {
    Value in = arith::SubIOp::create(b, t.loc, byteHere, t.i32(panel.start));
    Value offset = t.add(offsetIn(panel, rowHere, in), t.i32(panel.base));
    if (!chosen) {
      chosen = offset;
      continue;
    }
    Value here = arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::sge, byteHere, t.i32(panel.start));
    chosen = arith::SelectOp::create(b, t.loc, here, offset, chosen);
  }
  return pointer(chosen, 0);
}
