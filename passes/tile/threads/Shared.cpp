// SPDX-License-Identifier: Apache-2.0
//
// Shared memory: its allocation, asynchronous copies into it, blocks from it
// (by ldmatrix where the layout is that of a fragment), and the conversion of
// layouts, through it where shuffles would not do or cost more.
#include "act/Layout/Blocked.h"
#include "act/Layout/Ldmatrix.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/threads/BlockAccess.h"
#include "passes/tile/threads/Exchange.h"
#include "passes/tile/threads/SharedAddress.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Conversion;
using act::layout::Digit;
using act::layout::Distributed;
using act::layout::Ldmatrix;
using act::layout::Shared;

namespace {

/// How many registers are adjacent in a row, aligned in every thread, from each
/// multiple of that number on; up to 16 bytes.
int64_t sideBySide(Type block, const Shared &form, ThreadBuilder &t) {
  int64_t v = form.vectorFor(t.layoutOf(block));
  while (v & (v - 1))
    v &= v - 1;
  return std::max<int64_t>(1, v);
}

/// Temporarily registers values as a block of the type, so that code for blocks
/// can work on registers that no op has computed.
class Named {
public:
  Named(RankedTensorType type, Registers registers, ThreadBuilder &t)
      : t(t), value(stand.addArgument(type, t.loc)) {
    t.set(value, std::move(registers));
  }
  ~Named() { t.forget(value); }

private:
  ThreadBuilder &t;
  Block stand;

public:
  Value value;
};

/// For each register of a block, the one with the same element in `of`, a
/// layout that differs only in copies. So loads and stores handle layouts
/// without register copies only.
SmallVector<int64_t> sameRegisters(const Distributed &block,
                                   const Distributed &of) {
  SmallVector<int64_t> same;
  for (int64_t r = 0; r < block.registerCount(); ++r)
    same.push_back(of.holder(block.coordinates(r, 0, 0)).reg);
  return same;
}

Registers selected(const Registers &from, ArrayRef<int64_t> which) {
  Registers out;
  for (int64_t r : which)
    out.push_back(from[r]);
  return out;
}

/// The positions that an instruction's lanes address: bits of the lane, and the
/// warp.
Accesses accessesOf(const Ldmatrix &plan, const Distributed &l,
                    ThreadBuilder &t) {
  Accesses a;
  std::array<Value, 2> place;
  for (int d = 0; d < 2; ++d) {
    for (int bit = 0; bit < 5;) {
      // Bits whose strides double form one number.
      int64_t stride = plan.laneStrides[bit][d];
      int end = bit + 1;
      while (end < 5 && stride &&
             plan.laneStrides[end][d] == stride << (end - bit))
        ++end;
      if (stride)
        place[d] = t.add(place[d], t.mul(t.digit(t.lane, int64_t(1) << bit,
                                                 int64_t(1) << (end - bit)),
                                         stride));
      bit = end;
    }
    int64_t divisor = 1;
    for (const Digit &digit : l.warps()) {
      if (digit.strides[d])
        place[d] = t.add(place[d], t.mul(t.digit(t.warp, divisor, digit.extent),
                                         digit.strides[d]));
      divisor *= digit.extent;
    }
    if (!place[d])
      place[d] = t.i32(0);
  }
  a.row = place[0];
  a.column = place[1];
  for (int64_t warp = 0; warp < t.warps; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      a.threads.push_back(plan.pointer(l, 0, lane, warp));
  for (size_t i = 0; i < plan.firstRegisters.size(); ++i)
    a.constants.push_back(plan.pointer(l, i, 0, 0));
  return a;
}

/// The opposite of loadByMatrices, by stmatrix.
void storeByMatrices(const Ldmatrix &plan, Value value, const Shared &form,
                     Value pointer, ThreadBuilder &t) {
  OpBuilder &b = t.b;
  const Distributed &l = t.layoutOf(value.getType());
  SharedAddress address(form, pointer, accessesOf(plan, l, t), t);
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  ArrayRef<Value> registers = t.of(value);
  for (size_t i = 0; i < plan.firstRegisters.size(); ++i) {
    SmallVector<Value> words;
    for (int64_t m = 0; m < plan.matrices; ++m) {
      SmallVector<Value> parts;
      for (Value x : registers.slice(plan.registerOf(i, m), plan.packed))
        parts.push_back(t.toMemory(x));
      words.push_back(t.bitsAs(b.getI32Type(), t.vectorOf(parts)));
    }
    NVVM::StMatrixOp::create(b, t.loc, address.at(i), words,
                             plan.trans ? NVVM::MMALayout::col
                                        : NVVM::MMALayout::row,
                             shape, NVVM::LdStMatrixEltType::B16);
  }
}

/// Stores a block by stmatrix where it takes the layout, else in as wide pieces
/// as the layout allows. Registers with copies
/// of others are left out; copies of other threads are stored again, with equal
/// values.
void storeShared(Value value, const Shared &form, Value pointer,
                 ThreadBuilder &t) {
  auto type = cast<RankedTensorType>(value.getType());
  const Distributed &l = t.layoutOf(type);
  const Distributed once = l.withoutRegisterCopies();
  if (once.registerCount() != l.registerCount()) {
    Named block(with(type, once), selected(t.of(value), sameRegisters(once, l)),
                t);
    return storeShared(block.value, form, pointer, t);
  }
  auto isCopy = [](const Digit &digit) { return digit.isCopy(); };
  if (t.storesMatrices && l.rank() == 2 && form.elementBytes() == 2 &&
      form.hasMatrixRows() && llvm::none_of(l.lanes(), isCopy) &&
      llvm::none_of(l.warps(), isCopy))
    if (auto plan = Ldmatrix::get(l, form.elementBytes());
        plan && plan->packed == 2) {
      storeByMatrices(*plan, value, form, pointer, t);
      return;
    }
  int64_t v = sideBySide(value.getType(), form, t);
  SharedAddress address(form, pointer, accessesOf(value.getType(), v, t), t);
  ArrayRef<Value> registers = t.of(value);
  for (size_t i = 0; i * v < registers.size(); ++i) {
    SmallVector<Value> parts;
    for (Value x : registers.slice(i * v, v))
      parts.push_back(t.toMemory(x));
    Value all = v > 1 ? t.vectorOf(parts) : parts[0];
    LLVM::StoreOp::create(t.b, t.loc, all, address.at(i),
                          v * form.elementBytes());
  }
}

/// Stores a block with its dimensions in another order, as rows. Threads keep
/// their registers, in an order in which neighbours in a row are adjacent.
LogicalResult storeInOrder(StoreSharedOp op, Value pointer, ThreadBuilder &t) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  const SharedType shared = op.getShared().getType();
  auto permuted = t.layoutOf(type).transposed(
      std::vector<unsigned>(op.getOrder()->begin(), op.getOrder()->end()));
  auto rows = permuted.reshaped(shared.getShape().take_back(2).vec());
  if (!rows)
    return op.emitOpError() << rows.error().message;
  const Distributed sorted = inOrderOf({rows->shape()[1], 1}, *rows);
  auto rowsType = RankedTensorType::get(rows->shape(), type.getElementType());
  Named block(with(rowsType, sorted),
              selected(t.of(op.getValue()), sameRegisters(sorted, *rows)), t);
  storeShared(block.value, sharedForm(shared), pointer, t);
  return success();
}

/// Reads a fragment by ldmatrix, which distributes 8 x 8 matrices of 16 bits to
/// the lanes as mma wants them: one instruction for up to four registers. Each
/// 32-bit register holds `packed` elements.
void loadByMatrices(const Ldmatrix &plan, Value result, const Shared &form,
                    Value pointer, ThreadBuilder &t) {
  OpBuilder &b = t.b;
  const Distributed &l = t.layoutOf(result.getType());
  Type element = t.element(result.getType()), word = b.getI32Type();
  SharedAddress address(form, pointer, accessesOf(plan, l, t), t);
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Type loadedType = word;
  if (plan.matrices > 1)
    loadedType = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(plan.matrices, word));
  Registers out(l.registerCount());
  for (size_t i = 0; i < plan.firstRegisters.size(); ++i) {
    Value loaded = NVVM::LdMatrixOp::create(
        b, t.loc, loadedType, address.at(i), plan.matrices,
        plan.trans ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
        NVVM::LdStMatrixEltType::B16);
    for (int64_t m = 0; m < plan.matrices; ++m) {
      Value w = plan.matrices == 1
                    ? loaded
                    : Value(LLVM::ExtractValueOp::create(b, t.loc, loaded, m));
      int64_t first = plan.registerOf(i, m);
      if (plan.packed == 1) {
        out[first] = arith::BitcastOp::create(b, t.loc, element, w);
        continue;
      }
      Value parts =
          t.bitsAs(VectorType::get(plan.packed, t.memoryType(element)), w);
      for (int64_t j = 0; j < plan.packed; ++j)
        out[first + j] = t.fromMemory(t.elementOf(parts, j), element);
    }
  }
  t.set(result, std::move(out));
}

/// Plain loads, for layouts that are no fragment or elements that ldmatrix does
/// not move.
void loadByElements(Value result, const Shared &form, Value pointer,
                    ThreadBuilder &t) {
  Type element = t.element(result.getType()), memory = t.memoryType(element);
  int64_t v = sideBySide(result.getType(), form, t);
  Accesses accesses = accessesOf(result.getType(), v, t);
  size_t count = accesses.constants.size();
  SharedAddress address(form, pointer, std::move(accesses), t);
  Registers out;
  for (size_t i = 0; i < count; ++i) {
    Type type = v > 1 ? Type(VectorType::get(v, memory)) : memory;
    Value all = LLVM::LoadOp::create(t.b, t.loc, type, address.at(i),
                                     v * form.elementBytes());
    for (int64_t j = 0; j < v; ++j)
      out.push_back(t.fromMemory(v > 1 ? t.elementOf(all, j) : all, element));
  }
  t.set(result, std::move(out));
}

/// Reads a block, by ldmatrix where it makes the layout, else in as wide pieces
/// as the layout allows.
void loadShared(Value result, const Shared &form, Value pointer,
                ThreadBuilder &t) {
  auto type = cast<RankedTensorType>(result.getType());
  const Distributed &l = t.layoutOf(type);
  const Distributed once = l.withoutRegisterCopies();
  if (once.registerCount() != l.registerCount()) {
    Named block(with(type, once), {}, t);
    loadShared(block.value, form, pointer, t);
    t.set(result, selected(t.of(block.value), sameRegisters(l, once)));
    return;
  }
  if (l.rank() == 2 && form.elementBytes() <= 4 && form.hasMatrixRows())
    if (auto plan = Ldmatrix::get(l, form.elementBytes())) {
      loadByMatrices(*plan, result, form, pointer, t);
      return;
    }
  loadByElements(result, form, pointer, t);
}

/// Asynchronous 16-byte copies, panel by panel: lanes cover a panel's chunks
/// first, then rows. A copy outside of the view has a source of 0 bytes, so
/// cp.async fills it with zeros; no other padding is possible.
LogicalResult lowerCopy(CopyAsyncOp op, ThreadBuilder &t) {
  auto type = cast<SharedType>(op.getShared().getType());
  Shared form = sharedForm(type);
  MLIRContext *context = op.getContext();
  int64_t elementBytes = form.elementBytes(), perChunk = 16 / elementBytes;
  int64_t rowBytes = form.columns() * elementBytes;
  Value pointer = slotPointer(type, t.scalar(op.getShared()), op.getSlot(), t);
  // These errors are for IR that is written by hand: StagedLoads.cpp checks all
  // of it before it makes a copy.
  if (rowBytes % 16)
    return op.emitOpError() << "copies rows of " << rowBytes
                            << " bytes; expected a multiple of 16";
  // The block dimensions of the view.
  SmallVector<size_t> dims;
  for (auto [d, e] : llvm::enumerate(op.getExtents()))
    if (e >= 0)
      dims.push_back(d);
  for (const Shared::Panel &panel : form.panels()) {
    int64_t columns = panel.bytes / elementBytes,
            start = panel.firstByte / elementBytes;
    auto layout = copyLayout(form, panel, t.warps);
    if (!layout)
      return op.emitOpError() << layout.error().message;
    for (Value index : op.getIndices())
      if (auto rows = dyn_cast<RankedTensorType>(index.getType()))
        if (Attribute wanted = attribute(context, layout->dropped(1));
            rows.getEncoding() != wanted)
          return op.emitOpError() << "gathers rows by an index of type " << rows
                                  << "; this copy's has the layout " << wanted;
    auto block =
        RankedTensorType::get({form.rows(), columns}, type.getElementType(),
                              attribute(context, *layout));
    SmallVector<int64_t> extents(op.getExtents()), shifts(extents.size(), 0);
    if (dims.size() == 1) // a one-dimensional block is one row
      block = RankedTensorType::get({columns}, type.getElementType(),
                                    attribute(context, layout->dropped(0)));
    extents[dims.back()] = columns;
    shifts[dims.back()] = start;
    BlockAccess access(op.getView(), op.getIndices(), extents, block, t,
                       shifts);
    if (access.vector != perChunk)
      return op.emitOpError() << "copies 16 bytes at a time, but the view's "
                                 "rows are not aligned to that";
    Accesses places = accessesOf(block, perChunk, t);
    for (act::layout::Place &c : places.constants)
      c[1] += start;
    SharedAddress address(form, pointer, std::move(places), t);
    // With more threads than chunks, some would copy the same one again.
    Value once = t.holdsFirstCopy(block);
    for (int64_t r = 0, n = t.registersOf(block); r < n; r += perChunk) {
      Value to = address.at(r / perChunk);
      Value from = access.pointer(r);
      int64_t offset = access.offset(r);
      if (offset)
        from = LLVM::GEPOp::create(
            t.b, t.loc, from.getType(), t.b.getI8Type(), from,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
      Value inside = access.inside(r), bytes;
      if (inside)
        bytes =
            arith::SelectOp::create(t.b, t.loc, inside, t.i32(16), t.i32(0));
      OpBuilder::InsertionGuard guard(t.b);
      if (once) {
        auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(), once, false);
        t.b.setInsertionPointToStart(&branch.getThenRegion().front());
      }
      // .cg: 16 bytes at a time, past L1.
      NVVM::CpAsyncOp::create(t.b, t.loc, to, from, 16,
                              NVVM::LoadCacheModifierKind::CG, bytes);
    }
  }
  return success();
}

/// All threads store their registers, wait, and load those of the wanted
/// layout. The form in shared memory is the one with the fewest bank conflicts
/// for both layouts, perhaps of the transposed block.
FailureOr<Registers> throughShared(Operation *op, const Registers &in,
                                   RankedTensorType type,
                                   RankedTensorType wanted, ThreadBuilder &t) {
  if (type.getRank() > 2)
    return throughShared(op, in, collapsed(type, 2), collapsed(wanted, 2), t);
  auto passage = act::layout::choose(t.layoutOf(type), t.layoutOf(wanted),
                                     bytesOf(type.getElementType()));
  if (!passage)
    return op->emitOpError() << passage.error().message;
  // Stored by columns, where that takes fewer wavefronts.
  if (passage->transposed)
    // A block and its transpose have the same registers at swapped coordinates.
    for (RankedTensorType *block : {&type, &wanted})
      *block = with(
          RankedTensorType::get({block->getDimSize(1), block->getDimSize(0)},
                                block->getElementType()),
          TransOp::swapped(t.layoutOf(*block)));
  Named written(type, in, t), read(wanted, {}, t);
  Value scratch = t.scratch(passage->shared.size());
  storeShared(written.value, passage->shared, scratch, t);
  t.barrier();
  loadShared(read.value, passage->shared, scratch, t);
  return t.of(read.value);
}

} // namespace

FailureOr<Registers> act::tile::converted(Operation *op, const Registers &in,
                                          RankedTensorType type,
                                          RankedTensorType wanted,
                                          ThreadBuilder &t) {
  Type element = type.getElementType();
  const Distributed from = t.layoutOf(type), to = t.layoutOf(wanted);
  auto conversion = Conversion::get(from, to, bytesOf(element));
  if (!conversion)
    return op->emitOpError() << conversion.error().message;
  // The cheapest way that works: no instruction, shuffles, shared memory.
  if (conversion->keepsLanes())
    return selected(in, conversion->table);
  if (conversion->shuffleIsCheaper())
    return exchanged(*conversion, in, element, t);
  return throughShared(op, in, type, wanted, t);
}

LogicalResult act::tile::lowerShared(Operation *op, ThreadBuilder &t) {
  if (auto alloc = dyn_cast<AllocSharedOp>(op)) {
    t.scalars.map(alloc.getResult(), t.sharedAddress(*alloc.getOffset()));
    return success();
  }
  if (auto view = dyn_cast<SharedViewOp>(op)) {
    t.scalars.map(view.getResult(),
                  slotPointer(view.getShared().getType(),
                              t.scalar(view.getShared()), view.getSlot(), t));
    return success();
  }
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return lowerCopy(copy, t);
  if (auto copy = dyn_cast<CopyTensorOp>(op))
    return lowerTensorCopy(copy, t);
  if (auto store = dyn_cast<StoreTensorOp>(op))
    return lowerTensorStore(store, t);
  if (auto reduce = dyn_cast<ReduceBulkOp>(op))
    return lowerReduceBulk(reduce, t);
  if (auto wait = dyn_cast<WaitStoresOp>(op)) {
    lowerWaitStores(wait, t);
    return success();
  }
  if (isa<FenceSharedOp>(op)) {
    t.inlinePtx(Type(), "fence.proxy.async.shared::cta;", "~{memory}", {});
    return success();
  }
  if (isa<ToSharedOp>(op))
    return op->emitOpError("is a load that no pass has staged: "
                           "--tile-stage-loads does");
  if (isa<CommitCopiesOp>(op)) {
    NVVM::CpAsyncCommitGroupOp::create(t.b, t.loc);
    return success();
  }
  if (auto wait = dyn_cast<WaitCopiesOp>(op)) {
    NVVM::CpAsyncWaitGroupOp::create(t.b, t.loc, wait.getPending());
    return success();
  }
  if (auto barrier = dyn_cast<BarrierOp>(op)) {
    barrier.isWhole() ? t.barrier() : t.barrierOfPart(barrier.getParts());
    return success();
  }
  if (auto load = dyn_cast<LoadSharedOp>(op)) {
    SharedType type = load.getShared().getType();
    loadShared(load, sharedForm(type),
               slotPointer(type, t.scalar(load.getShared()), load.getSlot(), t),
               t);
    return success();
  }
  if (auto store = dyn_cast<StoreSharedOp>(op)) {
    SharedType type = store.getShared().getType();
    Value slot =
        slotPointer(type, t.scalar(store.getShared()), store.getSlot(), t);
    if (store.getOrder())
      return storeInOrder(store, slot, t);
    storeShared(store.getValue(), sharedForm(type), slot, t);
    return success();
  }
  auto convert = cast<ConvertLayoutOp>(op);
  auto registers =
      converted(op, t.of(convert.getInput()),
                cast<RankedTensorType>(convert.getInput().getType()),
                cast<RankedTensorType>(convert.getType()), t);
  if (failed(registers))
    return failure();
  t.set(convert, std::move(*registers));
  return success();
}
