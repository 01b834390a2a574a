// SPDX-License-Identifier: Apache-2.0
//
// Shared memory: its allocation, asynchronous copies into it, blocks from it (by
// ldmatrix where the layout is that of a fragment), and the conversion of layouts
// through it.
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/SharedAddress.h"
#include "passes/tile/Layouts.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Digit;
using act::layout::Distributed;

namespace {

/// The thread's parts of row and column of a block of rank 1 or 2.
struct ThreadPlace {
  Value row, column;
  int64_t columnEnd; // one past the largest column that lanes and warps add
};

int64_t reach(const Distributed &l, unsigned dim) {
  int64_t most = 0;
  for (const act::layout::Digits *digits : {&l.lanes(), &l.warps()})
    for (const Digit &d : *digits)
      most += d.strides[dim] * (d.extent - 1);
  return most;
}

ThreadPlace placeOf(Type block, int64_t vector, ThreadBuilder &t) {
  const Distributed &l = t.layoutOf(block);
  unsigned columns = l.rank() - 1;
  ThreadPlace p;
  p.column = t.base(block, columns);
  p.row = l.rank() > 1 ? t.base(block, columns - 1) : t.i32(0);
  p.columnEnd = reach(l, columns) + vector;
  return p;
}

std::pair<int64_t, int64_t> rowAndColumn(const Coordinates &c) {
  return {c.size() > 1 ? c[c.size() - 2] : 0, c.back()};
}

/// Registers from each multiple of the number on that lie side by side in a row,
/// in every thread aligned, up to 16 bytes.
int64_t sideBySide(Type block, ThreadBuilder &t) {
  const Distributed &l = t.layoutOf(block);
  int64_t v = std::min<int64_t>(l.contiguous(l.rank() - 1), 16 / bytesOf(t.element(block)));
  while (v & (v - 1))
    v &= v - 1;
  return std::max<int64_t>(1, v);
}

void storeShared(Value value, SharedType type, Value pointer, ValueRange slot, ThreadBuilder &t) {
  Type element = t.element(value.getType());
  int64_t v = sideBySide(value.getType(), t);
  ThreadPlace place = placeOf(value.getType(), v, t);
  SharedAddress address(type, pointer, slot, place.row, place.column, place.columnEnd, t);
  const Distributed &l = t.layoutOf(value.getType());
  ArrayRef<Value> registers = t.of(value);
  for (int64_t r = 0; r < l.registerCount(); r += v) {
    auto [row, column] = rowAndColumn(l.coordinates(r, 0, 0));
    SmallVector<Value> parts;
    for (Value x : registers.slice(r, v))
      parts.push_back(t.toMemory(x));
    Value all = parts[0];
    if (v > 1)
      all = t.vectorOf(parts);
    LLVM::StoreOp::create(t.b, t.loc, all, address.at(row, column), v * bytesOf(element));
  }
}

/// A group of one, two or four 8×8 matrices that one ldmatrix loads: the first
/// one's place, and how far the second and the third are from it.
struct Matrices {
  int64_t count;
  std::pair<int64_t, int64_t> first, second, third;
};

class LoadShared {
public:
  LoadShared(SharedType type, Value pointer, ValueRange slot, Value result, ThreadBuilder &t)
      : type(type), base(pointer), slot(slot), result(result), t(t), l(t.layoutOf(result.getType())) {}

  void run() {
    if (!byMatrices())
      byElements();
  }

private:
  bool byMatrices();
  void byElements();
  bool isFragment(bool transposed) const;

  SharedType type;
  Value base;
  ValueRange slot;
  Value result;
  ThreadBuilder &t;
  const Distributed &l;
};

/// Whether pairs of registers and the lanes are those of an 8×8 matrix of 16-bit
/// elements: two elements of each of four lanes along a row, eight rows; or the
/// same with rows and columns swapped.
bool LoadShared::isFragment(bool transposed) const {
  if (l.rank() != 2)
    return false;
  unsigned along = transposed ? 0 : 1, across = 1 - along;
  if (l.registers().empty() || l.lanes().size() < 2)
    return false;
  const Digit &pair = l.registers()[0];
  const Digit &four = l.lanes()[0], &eight = l.lanes()[1];
  return pair.strides[along] == 1 && pair.extent % 2 == 0 && four.extent == 4 && four.strides[along] == 2 &&
         eight.extent == 8 && eight.strides[across] == 1;
}

bool LoadShared::byMatrices() {
  Type element = t.element(result.getType());
  if (bytesOf(element) != 2)
    return false;
  bool transposed = isFragment(true);
  if (!transposed && !isFragment(false))
    return false;
  if (l.registers()[0].extent != 2)
    return false;
  int64_t matrices = l.registerCount() / 2;
  std::vector<std::pair<int64_t, int64_t>> places;
  for (int64_t m = 0; m < matrices; ++m)
    places.push_back(rowAndColumn(l.coordinates(2 * m, 0, 0)));
  // What warps add. (Lanes are in the address in another way.)
  Value warpRow, warpColumn;
  int64_t divisor = 1, warpReach = 0;
  for (const Digit &d : l.warps()) {
    if (d.strides[0])
      warpRow = t.add(warpRow, t.mul(t.digit(t.warp, divisor, d.extent), d.strides[0]));
    if (d.strides[1]) {
      warpColumn = t.add(warpColumn, t.mul(t.digit(t.warp, divisor, d.extent), d.strides[1]));
      warpReach += d.strides[1] * (d.extent - 1);
    }
    divisor *= d.extent;
  }
  Value rowInMatrix = t.digit(t.lane, 1, 8);
  Registers out(l.registerCount());
  // By how far the second and third matrix are away: one thread address each.
  std::map<std::tuple<int64_t, std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>>, SharedAddress> addresses;
  for (int64_t m = 0; m < matrices;) {
    Matrices group{1, places[m], {0, 0}, {0, 0}};
    auto away = [&](int64_t i) {
      return std::pair(places[m + i].first - places[m].first, places[m + i].second - places[m].second);
    };
    auto positive = [](std::pair<int64_t, int64_t> p) { return p.first >= 0 && p.second >= 0; };
    if (m + 1 < matrices && positive(away(1))) {
      group.count = 2;
      group.second = away(1);
      if (m + 3 < matrices && positive(away(2)) && away(3).first == away(1).first + away(2).first &&
          away(3).second == away(1).second + away(2).second) {
        group.count = 4;
        group.third = away(2);
      }
    }
    auto key = std::tuple(group.count, group.second, group.third);
    auto it = addresses.find(key);
    if (it == addresses.end()) {
      Value row = t.add(warpRow, rowInMatrix), column = warpColumn;
      int64_t end = warpReach + 8;
      auto step = [&](int64_t bit, std::pair<int64_t, int64_t> by) {
        Value d = t.digit(t.lane, bit, 2);
        if (by.first)
          row = t.add(row, t.mul(d, by.first));
        if (by.second)
          column = t.add(column, t.mul(d, by.second));
        end += by.second;
      };
      if (group.count > 1)
        step(8, group.second);
      if (group.count > 2)
        step(16, group.third);
      if (!column)
        column = t.i32(0);
      it = addresses.emplace(key, SharedAddress(type, base, slot, row, column, end, t)).first;
    }
    Value pointer = it->second.at(group.first.first, group.first.second);
    Type word = t.b.getI32Type();
    Type loadedType = group.count == 1 ? word
                                       : LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(group.count, word));
    auto shape = NVVM::LdStMatrixShapeAttr::get(t.b.getContext(), 8, 8);
    Value loaded = NVVM::LdMatrixOp::create(t.b, t.loc, loadedType, pointer, group.count,
                                            transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
                                            NVVM::LdStMatrixEltType::B16);
    for (int64_t i = 0; i < group.count; ++i) {
      Value w = group.count == 1 ? loaded : Value(LLVM::ExtractValueOp::create(t.b, t.loc, loaded, i));
      Value two = LLVM::BitcastOp::create(t.b, t.loc, VectorType::get(2, element), w);
      for (int64_t j = 0; j < 2; ++j)
        out[2 * (m + i) + j] = t.elementOf(two, j);
    }
    m += group.count;
  }
  t.set(result, std::move(out));
  return true;
}

void LoadShared::byElements() {
  Type element = t.element(result.getType());
  int64_t v = sideBySide(result.getType(), t);
  ThreadPlace place = placeOf(result.getType(), v, t);
  SharedAddress address(type, base, slot, place.row, place.column, place.columnEnd, t);
  Type memory = t.memoryType(element);
  Registers out;
  for (int64_t r = 0; r < l.registerCount(); r += v) {
    auto [row, column] = rowAndColumn(l.coordinates(r, 0, 0));
    Type type = v > 1 ? Type(VectorType::get(v, memory)) : memory;
    Value all = LLVM::LoadOp::create(t.b, t.loc, type, address.at(row, column), v * bytesOf(element));
    for (int64_t i = 0; i < v; ++i)
      out.push_back(t.fromMemory(v > 1 ? Value(t.elementOf(all, i)) : all, element));
  }
  t.set(result, std::move(out));
}

LogicalResult lowerConversion(ConvertLayoutOp op, ThreadBuilder &t) {
  Value in = op.getInput();
  const Distributed from = t.layoutOf(in.getType()), to = t.layoutOf(op.getType());
  if (from.lanes() == to.lanes() && from.warps() == to.warps()) {
    std::map<Coordinates, int64_t> at;
    for (int64_t r = from.registerCount() - 1; r >= 0; --r)
      at[from.coordinates(r, 0, 0)] = r;
    Registers out;
    for (int64_t r = 0; r < to.registerCount(); ++r)
      out.push_back(t.of(in)[at.at(to.coordinates(r, 0, 0))]);
    t.set(op, std::move(out));
    return success();
  }
  if (from.rank() > 2)
    return op.emitOpError() << "moves a block of rank " << from.rank() << " between threads; only rank 1 and 2 can be";
  auto type = cast<RankedTensorType>(in.getType());
  auto sharedType = SharedType::get(type.getShape(), type.getElementType(),
                                    SharedLayoutAttr::get(op.getContext(), 128));
  SharedShape s = shapeOf(sharedType);
  Value scratch = t.scratch(s.rows * s.columns * s.elementBytes);
  storeShared(in, sharedType, scratch, {}, t);
  t.barrier();
  LoadShared(sharedType, scratch, {}, op, t).run();
  return success();
}

/// Chunks of 16 bytes over the lanes along a row first, then rows over lanes,
/// warps and registers.
act::Result<Distributed> copyLayout(int64_t rows, int64_t columns, int64_t perChunk, int64_t warps) {
  act::layout::Tower tower({rows, columns});
  tower.registers(1, perChunk);
  auto part = [](int64_t left, int64_t most) { // the largest power of two that divides
    int64_t p = 1;
    while (p * 2 <= most && left % (p * 2) == 0)
      p *= 2;
    return p;
  };
  int64_t lanes = part(tower.rest(1), 32);
  tower.lanes(1, lanes);
  int64_t laneRows = part(tower.rest(0), 32 / lanes);
  tower.lanes(0, laneRows).copiesInLanes(32 / lanes / laneRows);
  int64_t warpRows = part(tower.rest(0), warps);
  tower.warps(0, warpRows).copiesInWarps(warps / warpRows);
  tower.registers(1, tower.rest(1)).registers(0, tower.rest(0));
  return tower.get();
}

/// Copies of 16 bytes, panel by panel: a panel's chunks over the lanes first,
/// then rows.
LogicalResult lowerCopy(CopyAsyncOp op, ThreadBuilder &t) {
  auto type = cast<SharedType>(op.getShared().getType());
  SharedShape s = shapeOf(type);
  MLIRContext *context = op.getContext();
  int64_t perChunk = 16 / s.elementBytes, rowBytes = s.columns * s.elementBytes;
  if (rowBytes % 16)
    return op.emitOpError() << "copies rows of " << rowBytes << " bytes; expected a multiple of 16";
  // The block dimensions of the view.
  SmallVector<size_t> dims;
  for (auto [d, e] : llvm::enumerate(op.getExtents()))
    if (e >= 0)
      dims.push_back(d);
  int64_t start = 0, width = s.swizzle ? s.swizzle : rowBytes;
  for (; start < rowBytes; width /= 2)
    for (; start + width <= rowBytes; start += width) {
      int64_t columns = width / s.elementBytes;
      auto layout = copyLayout(s.rows, columns, perChunk, t.warps);
      if (!layout)
        return op.emitOpError() << layout.error().message;
      auto block = RankedTensorType::get({s.rows, columns}, type.getElementType(), attribute(context, *layout));
      SmallVector<int64_t> extents(op.getExtents()), shifts(extents.size(), 0);
      if (dims.size() == 1) // a row of its own
        block = RankedTensorType::get({columns}, type.getElementType(), attribute(context, layout->dropped(0)));
      extents[dims.back()] = columns;
      shifts[dims.back()] = start / s.elementBytes;
      BlockAccess access(op.getView(), op.getIndices(), extents, block, t, shifts);
      if (access.vector != perChunk)
        return op.emitOpError() << "copies 16 bytes at a time, but the view's are not aligned so";
      ThreadPlace place = placeOf(block, perChunk, t);
      SharedAddress address(type, t.scalar(op.getShared()), op.getSlot(), place.row, place.column, place.columnEnd, t);
      Value once = t.holdsFirstCopy(block);
      const Distributed &l = t.layoutOf(block);
      for (int64_t r = 0; r < l.registerCount(); r += perChunk) {
        auto [row, column] = rowAndColumn(l.coordinates(r, 0, 0));
        Value to = address.at(row, column + start / s.elementBytes);
        Value from = access.pointer(r);
        int64_t offset = access.offset(r);
        if (offset)
          from = LLVM::GEPOp::create(t.b, t.loc, from.getType(), t.b.getI8Type(), from,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
        Value inside = access.inside(r), bytes;
        if (inside)
          bytes = arith::SelectOp::create(t.b, t.loc, inside, t.i32(16), t.i32(0));
        OpBuilder::InsertionGuard guard(t.b);
        if (once) {
          auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), once, false);
          t.b.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        NVVM::CpAsyncOp::create(t.b, t.loc, to, from, 16, NVVM::LoadCacheModifierKind::CG, bytes);
      }
    }
  return success();
}

} // namespace

LogicalResult act::tile::lowerShared(Operation *op, ThreadBuilder &t) {
  if (auto alloc = dyn_cast<AllocSharedOp>(op)) {
    t.scalars.map(alloc.getResult(), t.sharedAddress(*alloc.getOffset()));
    return success();
  }
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return lowerCopy(copy, t);
  if (isa<CommitCopiesOp>(op)) {
    NVVM::CpAsyncCommitGroupOp::create(t.b, t.loc);
    return success();
  }
  if (auto wait = dyn_cast<WaitCopiesOp>(op)) {
    NVVM::CpAsyncWaitGroupOp::create(t.b, t.loc, wait.getPending());
    return success();
  }
  if (isa<BarrierOp>(op)) {
    t.barrier();
    return success();
  }
  if (auto load = dyn_cast<LoadSharedOp>(op))
  {
    LoadShared(load.getShared().getType(), t.scalar(load.getShared()), load.getSlot(), load, t).run();
    return success();
  }
  if (auto store = dyn_cast<StoreSharedOp>(op)) {
    storeShared(store.getValue(), store.getShared().getType(), t.scalar(store.getShared()), store.getSlot(), t);
    return success();
  }
  return lowerConversion(cast<ConvertLayoutOp>(op), t);
}
