// SPDX-License-Identifier: Apache-2.0
//
// Copies by tensor maps (PTX ISA, "cp.async.bulk.tensor"). A block is one box
// for each panel of shared memory, and for each 256 rows of it.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/SharedAddress.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Shared;

/// Maps have their dimensions from the innermost one on: the block's last
/// dimension, then the others from the last one on.
static SmallVector<int64_t> dimensionsOf(BlockAccessOpInterface op) {
  int64_t last = -1;
  for (auto [d, extent] : llvm::enumerate(op.getExtents()))
    if (extent >= 0)
      last = d;
  SmallVector<int64_t> dims{last};
  for (int64_t d = op.getExtents().size(); d-- > 0;)
    if (d != last)
      dims.push_back(d);
  return dims;
}

namespace {

/// The tensor that an access takes boxes of: a map's fields, the dimensions of
/// the view that they are, and where the block begins.
class Tensor {
public:
  Tensor(BlockAccessOpInterface op, ThreadBuilder &t);
  /// The box of `rows` x `columns` that begins so far from the block's start:
  /// its map and its place.
  Value map(int64_t rows, int64_t columns, int64_t swizzle);
  SmallVector<Value> at(Value row, Value column);
  size_t rank() const { return dims.size(); }

private:
  BlockAccessOpInterface op;
  ThreadBuilder &t;
  SmallVector<int64_t> dims, sizes, strides;
  SmallVector<Value> start;
  size_t rowDim = 0; // 0: the block is one row
};

Tensor::Tensor(BlockAccessOpInterface op, ThreadBuilder &t)
    : op(op), t(t), dims(dimensionsOf(op)) {
  ViewType view = op.getViewType();
  SmallVector<int64_t> full = view.getFullStrides();
  int64_t bytes = bytesOf(view.getElementType());
  for (auto [i, d] : llvm::enumerate(dims)) {
    sizes.push_back(view.getShape()[d]);
    strides.push_back(full[d] * bytes);
    if (i > 0 && op.getExtents()[d] >= 0)
      rowDim = i;
    Value index = t.scalar(op.getIndices()[d]);
    Type i32 = t.b.getI32Type();
    if (index.getType().isIndex())
      index = arith::IndexCastOp::create(t.b, t.loc, i32, index);
    else if (index.getType() != i32)
      index = arith::TruncIOp::create(t.b, t.loc, i32, index);
    start.push_back(index);
  }
}

Value Tensor::map(int64_t rows, int64_t columns, int64_t swizzle) {
  ViewType view = op.getViewType();
  SmallVector<int64_t> box(dims.size(), 1);
  box[0] = columns;
  if (rowDim)
    box[rowDim] = rows;
  auto argument = cast<BlockArgument>(memoryOf(op.getView()));
  return t.tensorMap(TensorMapAttr::get(
      op->getContext(), argument.getArgNumber(), view.getElementType(), sizes,
      strides, box, swizzle > 16 ? swizzle : 0));
}

SmallVector<Value> Tensor::at(Value row, Value column) {
  SmallVector<Value> place(start);
  place[0] = t.add(place[0], column);
  if (rowDim)
    place[rowDim] = t.add(place[rowDim], row);
  return place;
}

/// `{$2, $3}` for as many numbers as the rank, and their constraints.
std::string placeText(size_t rank, size_t first) {
  std::string text = "{";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}
std::string withPlace(std::string constraints, size_t rank) {
  for (size_t i = 0; i < rank; ++i)
    constraints += ",r";
  return constraints + ",~{memory}";
}

} // namespace

LogicalResult act::tile::lowerTensorCopy(CopyTensorOp op, ThreadBuilder &t) {
  constexpr int64_t mostRows = 256; // of a box
  auto shared = cast<SharedType>(op.getShared().getType());
  Shared form = sharedForm(shared);
  if (form.panels().front().swizzle == act::layout::Swizzle::pairs)
    return op.emitOpError() << "copies to " << shared
                            << ", whose swizzle the copy engine does not have";
  const int64_t bytes = form.elementBytes();
  Tensor tensor(op, t);
  Value slot = slotPointer(shared, t.scalar(op.getShared()), op.getSlot(), t);
  Value signal = t.mbarrier(op.getMbarriers(), op.getMbarrier());
  // This program's rows, and the first of them.
  const int64_t cluster = op.getMulticast() ? clusterOf(op) : 1,
                own = form.rows() / cluster;
  const std::string all = std::to_string((1 << cluster) - 1);
  t.once([&] {
    Value first;
    if (op.getMulticast())
      first = t.mul(NVVM::ClusterId::create(t.b, t.loc, t.b.getI32Type()), own);
    for (const Shared::Panel &panel : form.panels())
      for (int64_t row = 0; row < own; row += mostRows) {
        const int64_t rows = std::min(mostRows, own - row);
        Value to = slot;
        if (first)
          to = LLVM::GEPOp::create(t.b, t.loc, to.getType(), t.b.getI8Type(),
                                   to, ValueRange{t.mul(first, panel.bytes)});
        to = t.sharedByte(to, panel.start + row * panel.bytes);
        SmallVector<Value> operands{
            to,
            tensor.map(
                rows, panel.bytes / bytes,
                panel.swizzle == act::layout::Swizzle::none ? 0 : panel.bytes),
            signal};
        llvm::append_range(operands, tensor.at(t.add(first, t.i32(row)),
                                               t.i32(panel.firstByte / bytes)));
        t.inlinePtx(
            Type(),
            "cp.async.bulk.tensor." + std::to_string(tensor.rank()) +
                "d.shared::cluster.global.mbarrier::complete_tx::bytes" +
                (first ? ".multicast::cluster" : "") + " [$0], [$1, " +
                placeText(tensor.rank(), 3) + "], [$2]" +
                (first ? ", " + all : "") + ";",
            withPlace("l,l,l", tensor.rank()), operands);
      }
  });
  return success();
}

// A warp's registers are the accumulators of mma, 16 rows by 8 columns: in a
// word of two, one 8 x 8 matrix of stmatrix. Four of these are 16 rows by 16
// columns.
LogicalResult act::tile::lowerTensorStore(StoreTensorOp op, ThreadBuilder &t) {
  OpBuilder &b = t.b;
  auto shared = cast<SharedType>(op.getShared().getType());
  auto block = cast<RankedTensorType>(op.getValue().getType());
  constexpr int64_t rows = 16, matrix = 8;
  const int64_t columns = shared.getShape().back(), pieces = 2;
  Shared piece = sharedForm(SharedType::get(
      {rows, columns}, shared.getElementType(), shared.getLayout()));
  const int64_t width = piece.panels().front().bytes;
  Tensor tensor(op, t);
  // This warp's memory, and the place in a piece that this lane points at: its
  // row of the matrix that its lane's eighth stands for.
  Value own =
      LLVM::GEPOp::create(b, t.loc, t.scalar(op.getShared()).getType(),
                          b.getI8Type(), t.scalar(op.getShared()),
                          ValueRange{t.mul(t.warp, pieces * piece.size())});
  Value row =
            t.add(t.digit(t.lane, 1, 8), t.mul(t.digit(t.lane, 8, 2), matrix)),
        right = t.mul(t.digit(t.lane, 16, 2), matrix);
  Accesses accesses;
  accesses.row = row;
  accesses.column = right;
  for (int64_t lane = 0; lane < 32; ++lane)
    accesses.threads.push_back({lane % 16, lane / 16 * matrix});
  for (int64_t p = 0; p < pieces; ++p)
    for (int64_t c = 0; c < columns; c += 2 * matrix)
      accesses.constants.push_back({0, c});
  const size_t perPiece = columns / (2 * matrix);
  SharedAddress address(piece, own, accesses, t);
  Value isFirst = t.isZero(t.lane);
  const Registers &registers = t.of(op.getValue());
  Value firstRow = t.mul(t.warp, rows);
  int64_t number = 0;
  // Of an odd number of pieces, the last one is in the first one's place, when
  // the next store by this memory begins.
  const bool isOdd =
      llvm::any_of(op.getShared().getUsers(), [&](Operation *user) {
        auto other = dyn_cast<StoreTensorOp>(user);
        if (!other)
          return false;
        auto stored = cast<RankedTensorType>(other.getValue().getType());
        return stored.getDimSize(0) / (rows * t.warps) *
                   (stored.getDimSize(1) / columns) % pieces !=
               0;
      });
  for (int64_t r = 0; r < block.getDimSize(0); r += rows * t.warps)
    for (int64_t c = 0; c < block.getDimSize(1); c += columns, ++number) {
      // The piece was stored before the last one.
      t.when(isFirst, [&] {
        t.inlinePtx(Type(),
                    isOdd && number == 0 ? "cp.async.bulk.wait_group.read 0;"
                                         : "cp.async.bulk.wait_group.read 1;",
                    "~{memory}", {});
      });
      NVVM::SyncWarpOp::create(b, t.loc, t.i32(-1));
      const int64_t which = number % pieces;
      for (size_t i = 0; i < perPiece; ++i) {
        SmallVector<Value> operands{
            t.sharedByte(address.at(i), which * piece.size())};
        // Of 8 columns a thread has four numbers: two in each half of the rows.
        int64_t first = r / (rows * t.warps) * (block.getDimSize(1) / 2) +
                        (c + int64_t(i) * 2 * matrix) / 2;
        for (int64_t m = 0; m < 4; ++m)
          operands.push_back(t.bitsAs(
              b.getI32Type(), t.vectorOf({registers[first + 2 * m],
                                          registers[first + 2 * m + 1]})));
        t.inlinePtx(Type(),
                    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, "
                    "$3, $4};",
                    "l,r,r,r,r,~{memory}", operands);
      }
      t.inlinePtx(Type(), "fence.proxy.async.shared::cta;", "~{memory}", {});
      NVVM::SyncWarpOp::create(b, t.loc, t.i32(-1));
      Value map = tensor.map(rows, columns, width);
      SmallVector<Value> place = tensor.at(t.add(firstRow, t.i32(r)), t.i32(c));
      t.when(isFirst, [&] {
        SmallVector<Value> operands{t.sharedByte(own, which * piece.size()),
                                    map};
        llvm::append_range(operands, place);
        t.inlinePtx(Type(),
                    "cp.async.bulk.tensor." + std::to_string(tensor.rank()) +
                        "d.global.shared::cta.bulk_group [$1, " +
                        placeText(tensor.rank(), 2) +
                        "], [$0];\ncp.async.bulk.commit_group;",
                    withPlace("l,l", tensor.rank()), operands);
      });
    }
  return success();
}

// One thread adds each run (PTX ISA, "cp.reduce.async.bulk"). Runs that follow
// each other in memory are one, as long as they are inside the view.
LogicalResult act::tile::lowerReduceBulk(ReduceBulkOp op, ThreadBuilder &t) {
  MemoryRuns runs;
  if (!memoryRuns(op, runs).empty())
    return op.emitOpError("has no runs of memory");
  const auto shared = cast<SharedType>(op.getShared().getType());
  Value slot = slotPointer(shared, t.scalar(op.getShared()), op.getSlot(), t);
  // The first element of each run: a block of one dimension.
  SmallVector<int64_t> extents(op.getExtents().size(), -1);
  int64_t count = 1;
  if (runs.dimension >= 0) {
    count = runs.count;
    extents[runs.dimension] = count;
  }
  auto everywhere = act::layout::Tower({count})
                        .registers(0, count)
                        .copiesInLanes(32)
                        .copiesInWarps(t.warps)
                        .get();
  if (!everywhere)
    return op.emitOpError() << everywhere.error().message;
  auto block = with(RankedTensorType::get({count}, shared.getElementType()),
                    *everywhere);
  BlockAccess access(op.getView(), op.getIndices(), extents, block, t);
  int64_t bytes = 4 * runs.length;
  if (count > 1 && !access.inside(0) && !access.inside(count - 1) &&
      access.offset(1) - access.offset(0) == bytes &&
      access.pointer(1) == access.pointer(0)) {
    bytes *= count;
    count = 1;
  }
  for (int64_t r = 0; r < count; ++r) {
    auto add = [&] {
      t.inlinePtx(Type(),
                  "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                  "[$0 + " +
                      std::to_string(access.offset(r)) + "], [$1], " +
                      std::to_string(bytes) + ";",
                  "l,l,~{memory}",
                  {access.pointer(r), t.sharedByte(slot, r * bytes)});
    };
    if (Value inside = access.inside(r))
      t.when(inside, add);
    else
      add();
  }
  t.inlinePtx(Type(), "cp.async.bulk.commit_group;", "~{memory}", {});
  return success();
}

void act::tile::lowerWaitStores(WaitStoresOp op, ThreadBuilder &t) {
  auto wait = [&] {
    t.inlinePtx(Type(),
                op.getComplete() ? "cp.async.bulk.wait_group 0;"
                                 : "cp.async.bulk.wait_group.read 0;",
                "~{memory}", {});
  };
  if (t.isOneThread)
    return wait();
  t.when(t.isZero(t.lane), wait);
  NVVM::SyncWarpOp::create(t.b, t.loc, t.i32(-1));
}
