// SPDX-License-Identifier: Apache-2.0
//
// An address is
//
//     pointer + sum of (index + constant(r) + base(thread)) * stride
//
// The sum over indices and bases is one pointer per thread. Constants times
// constant strides are offsets of the instructions; what is left, such as
// gathered rows, makes a pointer per register.
#include "passes/tile/threads/BlockAccess.h"
#include "dialects/tile/Divisor.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/Layouts.h"

using namespace mlir;
using namespace act::tile;

int64_t act::tile::plainBytes(ViewType view) {
  return view.isPlain() ? ShapedType::getNumElements(view.getShape()) *
                              bytesOf(view.getElementType())
                        : 0;
}

// A view is never a value of threads. Its readers ask for pointer, sizes and
// strides, as constants where its type has them.
ViewParts act::tile::viewParts(Value view, ThreadBuilder &t) {
  if (auto turned = view.getDefiningOp<TransposedViewOp>()) {
    ViewParts from = viewParts(turned.getView(), t), parts;
    parts.pointer = from.pointer;
    for (int64_t d : turned.getPermutation()) {
      parts.sizes.push_back(from.sizes[d]);
      parts.strides.push_back(from.strides[d]);
    }
    return parts;
  }
  auto type = cast<ViewType>(view.getType());
  ViewParts parts;
  parts.pointer = t.scalar(view);
  for (int64_t s : type.getShape())
    parts.sizes.push_back(t.b.getIndexAttr(s));
  SmallVector<OpFoldResult> strides;
  if (auto made = view.getDefiningOp<ViewOp>()) {
    parts.pointer = t.scalar(made.getPointer());
    parts.sizes = made.getMixedSizes();
    strides = made.getMixedStrides();
    for (auto *list : {&parts.sizes, &strides})
      for (OpFoldResult &o : *list)
        if (auto v = dyn_cast<Value>(o))
          o = t.scalar(v);
  }
  // A dense view: each stride is the product of the later sizes. Constants stay
  // constants, so that the last dimensions have immediate offsets.
  OpFoldResult product = t.b.getIndexAttr(1);
  for (size_t d = parts.sizes.size(); strides.size() != parts.sizes.size();) {
    parts.strides.insert(parts.strides.begin(), product);
    if (--d == 0)
      return parts;
    auto known = getConstantIntValue(product),
         size = getConstantIntValue(parts.sizes[d]);
    if (known && size)
      product = t.b.getIndexAttr(*known * *size);
    else
      product =
          arith::MulIOp::create(
              t.b, t.loc, getValueOrCreateConstantIndexOp(t.b, t.loc, product),
              getValueOrCreateConstantIndexOp(t.b, t.loc, parts.sizes[d]))
              .getResult();
  }
  parts.strides = strides;
  return parts;
}

BlockAccess::BlockAccess(Value view, ValueRange indices,
                         ArrayRef<int64_t> extents, RankedTensorType block,
                         ThreadBuilder &t, ArrayRef<int64_t> shifts)
    : t(t), block(block), elementBytes(bytesOf(block.getElementType())) {
  ViewParts parts = viewParts(view, t);
  int64_t at = 0;
  for (auto [d, index] : llvm::enumerate(indices)) {
    Dimension dim{};
    dim.extent = extents[d];
    dim.shift = shifts.empty() ? 0 : shifts[d];
    dim.block = extents[d] >= 0 ? at++ : -1;
    dim.size = parts.sizes[d];
    dim.stride = parts.strides[d];
    (t.isBlock(index) ? dim.gathered : dim.index) = index;
    if (dim.index) {
      auto size = getConstantIntValue(dim.size);
      // The shift is on the other side: the index may be arbitrarily large, and
      // adding to it would overflow.
      auto [least, most] = t.sums.rangeOf(index);
      if (most > 0) // the largest multiple of what divides it
        most -= most % divisorOf(index);
      dim.atLeastZero = least >= -dim.shift;
      dim.belowSize =
          size && most <= *size - dim.shift - std::max<int64_t>(1, dim.extent);
      dim.index = t.scalar(index);
    }
    dimensions.push_back(dim);
  }
  const layout::Distributed &l = t.layoutOf(block);
  for (int64_t r = 0; r < l.registerCount(); ++r)
    constants.push_back(l.coordinates(r, 0, 0));
  chooseVector(elementBytes, cast<ViewType>(view.getType()));
  for (auto [d, index] : llvm::enumerate(indices))
    if (dimensions[d].index && vector > 1)
      while (vector > 1 && dimensions[d].block >= 0 &&
             getConstantIntValue(dimensions[d].stride) == 1 &&
             divisorOf(index) % vector)
        vector /= 2;
  prepareBounds();

  // The thread's first address: first what all threads add, in 64 bits, then
  // the thread's own part, in 32 bits where that is enough.
  Value uniform;
  for (Dimension &d : dimensions) {
    if (!d.index)
      continue;
    Value stride = getValueOrCreateConstantIndexOp(t.b, t.loc, d.stride);
    Value index = d.index;
    if (!index.getType().isIndex())
      index = arith::IndexCastOp::create(t.b, t.loc, t.b.getIndexType(), index);
    uniform = t.add(uniform, arith::MulIOp::create(t.b, t.loc, index, stride));
  }
  auto i64 = t.b.getI64Type();
  auto pointerType = LLVM::LLVMPointerType::get(t.b.getContext(), 1);
  auto advance = [&](Value pointer, Value elements) -> Value {
    if (!elements)
      return pointer;
    if (elements.getType().isIndex())
      elements = arith::IndexCastOp::create(t.b, t.loc, i64, elements);
    return LLVM::GEPOp::create(t.b, t.loc, pointerType,
                               t.memoryType(this->block.getElementType()),
                               pointer, ValueRange{elements});
  };
  threadPointer = advance(parts.pointer, uniform);
  Value own; // i32 elements
  for (Dimension &d : dimensions) {
    if (d.block < 0 || d.gathered)
      continue;
    Value base = t.base(block, d.block);
    if (auto stride = getConstantIntValue(d.stride);
        stride && *stride * d.extent < (int64_t(1) << 31)) {
      own = t.add(own, t.mul(base, *stride));
    } else {
      Value wide =
          arith::IndexCastOp::create(t.b, t.loc, t.b.getIndexType(), base);
      threadPointer =
          advance(threadPointer,
                  arith::MulIOp::create(
                      t.b, t.loc, wide,
                      getValueOrCreateConstantIndexOp(t.b, t.loc, d.stride)));
    }
  }
  threadPointer = advance(threadPointer, own);
}

int64_t BlockAccess::constant(int64_t r, const Dimension &d) const {
  return constants[r][d.block] + d.shift;
}

/// Chooses the largest v such that registers r … r + v − 1 hold consecutive,
/// aligned elements. Whatever an address consists of must be a multiple of v:
/// strides, what lanes and warps add, the register's constant; the index is
/// tested by the caller. If the view may end in the block, its size must be a
/// multiple too, so that an access is entirely inside or outside.
void BlockAccess::chooseVector(int64_t bytes, ViewType view) {
  const Dimension *fast = nullptr;
  for (const Dimension &d : dimensions)
    if (d.block >= 0 && !d.gathered && getConstantIntValue(d.stride) == 1)
      fast = &d;
  if (!fast)
    return;
  const layout::Distributed &l = t.layoutOf(block);
  int64_t n = l.registerCount();
  auto possible = [&](int64_t v) {
    if (n % v || v * bytes > 16)
      return false;
    // Arguments are aligned to 16 bytes, but a dense tensor may be one of
    // several in a row: then its size must keep the alignment.
    if (plainBytes(view) % (v * bytes))
      return false;
    for (const Dimension &d : dimensions)
      if (&d != fast) {
        auto stride = getConstantIntValue(d.stride);
        if (!stride || *stride % v)
          return false;
      }
    for (const layout::Digits *digits : {&l.lanes(), &l.warps()})
      for (const layout::Digit &digit : *digits)
        if (digit.strides[fast->block] % v)
          return false;
    auto size = getConstantIntValue(fast->size);
    if (!fast->belowSize && (!size || *size % v))
      return false;
    for (int64_t r = 0; r < n; ++r)
      for (size_t c = 0; c < constants[r].size(); ++c) {
        bool isFast = static_cast<int64_t>(c) == fast->block;
        if (constants[r][c] != constants[r - r % v][c] + (isFast ? r % v : 0))
          return false;
        if (isFast && r % v == 0 && (constants[r][c] + fast->shift) % v)
          return false;
      }
    return true;
  };
  for (int64_t v = 16 / bytes; v > 1; v /= 2)
    if (possible(v)) {
      vector = v;
      return;
    }
}

/// The bound that an unsigned index is compared with. A dynamic size may be
/// negative, and then nothing is inside.
Value BlockAccess::bound(const Dimension &d) {
  if (auto size = getConstantIntValue(d.size))
    return t.index(std::max<int64_t>(*size, 0));
  return arith::MaxSIOp::create(t.b, t.loc, cast<Value>(d.size), t.index(0));
}

/// The comparisons with 0 and the size that are not proven. They are made of
/// the thread's coordinate, in 32 bits: low and high count from the index and
/// are clamped to the block, so a 64-bit index cannot overflow them.
void BlockAccess::prepareBounds() {
  for (Dimension &d : dimensions) {
    if (d.gathered)
      continue;
    if (d.atLeastZero && d.belowSize)
      continue;
    Value index = d.index;
    if (!index.getType().isIndex())
      index = arith::IndexCastOp::create(t.b, t.loc, t.b.getIndexType(), index);
    if (d.block < 0) {
      // 0 <= index < size, as one unsigned comparison.
      Value in = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult,
                                       index, bound(d));
      uniformInside =
          uniformInside
              ? Value(arith::AndIOp::create(t.b, t.loc, uniformInside, in))
              : in;
      continue;
    }
    auto clamped = [&](Value v) -> Value {
      v = arith::MaxSIOp::create(t.b, t.loc, v, t.index(0));
      v = arith::MinSIOp::create(t.b, t.loc, v, t.index(d.extent + d.shift));
      return arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(), v);
    };
    if (!d.belowSize) {
      Value size = getValueOrCreateConstantIndexOp(t.b, t.loc, d.size);
      d.high = clamped(arith::SubIOp::create(t.b, t.loc, size, index));
    }
    if (!d.atLeastZero)
      d.low = clamped(arith::SubIOp::create(t.b, t.loc, t.index(0), index));
  }
}

Value BlockAccess::gatheredIndex(int64_t r, const Dimension &d) {
  // The indices' layout is the block's without its other dimensions.
  const layout::Distributed &l = t.layoutOf(d.gathered.getType());
  for (int64_t i = 0; i < l.registerCount(); ++i)
    if (l.coordinates(i, 0, 0)[0] == constant(r, d))
      return t.of(d.gathered)[i];
  llvm_unreachable("layouts of indices follow from that of the block");
}

// One pointer for all registers that differ only by constant offsets.
Value BlockAccess::pointer(int64_t r) {
  Coordinates key;
  for (const Dimension &d : dimensions)
    if (d.block >= 0 && (d.gathered || !getConstantIntValue(d.stride)))
      key.push_back(constant(r, d));
  Value &p = pointers[key];
  if (p)
    return p;
  p = threadPointer;
  auto pointerType = LLVM::LLVMPointerType::get(t.b.getContext(), 1);
  for (const Dimension &d : dimensions) {
    if (d.block < 0 || (!d.gathered && getConstantIntValue(d.stride)))
      continue;
    Value stride = getValueOrCreateConstantIndexOp(t.b, t.loc, d.stride);
    Value elements;
    if (d.gathered) {
      elements = arith::IndexCastOp::create(t.b, t.loc, t.b.getIndexType(),
                                            gatheredIndex(r, d));
    } else {
      if (constant(r, d) == 0)
        continue;
      elements = t.index(constant(r, d));
    }
    elements = arith::MulIOp::create(t.b, t.loc, elements, stride);
    elements =
        arith::IndexCastOp::create(t.b, t.loc, t.b.getI64Type(), elements);
    p = LLVM::GEPOp::create(t.b, t.loc, pointerType,
                            t.memoryType(block.getElementType()), p,
                            ValueRange{elements});
  }
  return p;
}

int64_t BlockAccess::offset(int64_t r) {
  int64_t elements = 0;
  for (const Dimension &d : dimensions)
    if (d.block >= 0 && !d.gathered)
      if (auto stride = getConstantIntValue(d.stride))
        elements += constant(r, d) * *stride;
  return elements * elementBytes;
}

// Registers with equal constants in the dimensions that are checked share one
// condition. A dimension that is proven to be inside has no part in it.
Value BlockAccess::inside(int64_t r) {
  Coordinates key;
  for (const Dimension &d : dimensions)
    key.push_back(
        d.block >= 0 && (d.gathered || d.low || d.high) ? constant(r, d) : -1);
  auto it = insides.find(key);
  if (it != insides.end())
    return it->second;
  Value all = uniformInside;
  auto also = [&](Value c) {
    all = all ? Value(arith::AndIOp::create(t.b, t.loc, all, c)) : c;
  };
  for (const Dimension &d : dimensions) {
    if (d.block < 0)
      continue;
    if (d.gathered) {
      Value index = gatheredIndex(r, d);
      Value wide = index.getType().isIndex()
                       ? index
                       : Value(arith::IndexCastOp::create(
                             t.b, t.loc, t.b.getIndexType(), index));
      also(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult, wide,
                                 bound(d)));
      continue;
    }
    if (!d.low && !d.high)
      continue;
    Value base = t.base(block, d.block);
    int64_t c = constant(r, d);
    // base + c < high  ⇔  base < high − c; the right side is the same in all
    // threads.
    if (d.high)
      also(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::slt, base,
                                 t.add(d.high, t.i32(-c))));
    if (d.low)
      also(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sge, base,
                                 t.add(d.low, t.i32(-c))));
  }
  return insides[key] = all;
}
