// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/FoldTransposes.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act-to-tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_CONVERTLINALGTOTILEPASS
#include "passes/act-to-tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

struct ConvertLinalgToTile
    : act::tile::impl::ConvertLinalgToTilePassBase<ConvertLinalgToTile> {
  using ConvertLinalgToTilePassBase::ConvertLinalgToTilePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto named = symbolizeDotPrecision(f32Products);
    if (!named) {
      module.emitError() << "unknown f32-products '" << f32Products
                         << "': expected ieee, bf16x3 or tf32";
      return signalPassFailure();
    }
    precision = *named;
    if (tightness < 0 || tightness > tightest) {
      module.emitError() << "tightness is " << tightness << ", expected 0 to "
                         << tightest;
      return signalPassFailure();
    }
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    for (func::FuncOp f : functions) {
      b.setInsertionPointToEnd(kernels.getBody());
      if (failed(convert(f, b)))
        return signalPassFailure();
      f.erase();
    }
  }

  LogicalResult convert(func::FuncOp f, OpBuilder &b);
  DotPrecision precision = DotPrecision::IEEE;
};

/// Where a result is, seen from the places along the grid.
struct ResultPlace {
  Place at;               // in the value
  RankedTensorType type;  // of its memory
  Place stored;           // in that
  std::vector<bool> used; // the grid's dimensions that it has
  bool repeated = false;  // programs that differ in others make the same
};

FailureOr<ResultPlace> placeOf(Value u, const KernelGrid &grid,
                               const Place &place, BlockEvaluator &blocks) {
  ResultPlace out;
  auto type = cast<RankedTensorType>(u.getType());
  auto root = cast<RankedTensorType>(grid.root.getType());
  size_t rank = place.size();
  // The root's dimensions, some of them as one: stored as the root is.
  if (type.getRank() < int64_t(rank))
    if (auto groups = getReassociationIndicesForReshape(root, type))
      if (auto at = blocks.collapsed(place, *groups, root.getShape());
          succeeded(at)) {
        out.at = *at;
        out.type =
            RankedTensorType::get(root.getShape(), type.getElementType());
        out.stored = place;
        return out;
      }
  auto dims = dimensionsOf(u, grid);
  if (failed(dims))
    return failure();
  out.used.resize(rank);
  for (auto [d, size] : llvm::zip(*dims, type.getShape())) {
    if (d >= 0) {
      out.at.push_back(place[d]);
      out.used[d] = true;
      continue;
    }
    out.at.push_back({});
    if (size > 1)
      out.at.back().axis = blocks.wholeAxis(
          hasProduct(u) ? llvm::alignTo(size, 16) : size, out.at);
  }
  for (size_t d = 0; d < rank; ++d)
    out.repeated |= !out.used[d] && grid.countOf(d) > 1;
  out.type = type;
  out.stored = out.at;
  return out;
}

/// Adds to `memory` what a program's block along the grid gives of a sum that
/// goes over the grid. The programs that add to one place differ in dimensions
/// that the sum has not; their number, counted along these, is whose turn it
/// is.
LogicalResult addUp(Value result, Value memory, Value turns,
                    const KernelGrid &grid, const Place &place,
                    ArrayRef<Value> numbers, BlockEvaluator &blocks) {
  Value u = unshaped(result);
  auto sum = u.getDefiningOp<linalg::GenericOp>();
  SmallVector<unsigned> over;
  if (sum)
    sum.getReductionDims(over);
  if (!sum || over.size() != 1 || !factorsOf(sum))
    return emitError(result.getLoc(), "is added to, and is no sum of products");
  SmallVector<int> along = loopsAlong(sum, grid);
  int d = along[over[0]];
  if (d < 0 || place[d].axis < 0)
    return sum.emitOpError("is no sum over blocks of the grid");
  SmallVector<int64_t> ranges = sum.getStaticLoopRanges();
  Place loops(ranges.size());
  SmallVector<bool> used(numbers.size());
  for (auto [loop, to] : llvm::enumerate(along))
    if (to >= 0) {
      loops[loop] = place[to];
      used[to] = loop != over[0];
    }
  // Rows of the first factor are gone through, those of the second are whole.
  AffineMap first = sum.getIndexingMapsArray()[0];
  SmallVector<unsigned> swept;
  int64_t rows = 16;
  for (unsigned loop = 0; loop < ranges.size(); ++loop)
    if (along[loop] < 0 && first.isFunctionOfDim(loop)) {
      swept.push_back(loop);
      rows = std::max(
          rows, int64_t(llvm::alignTo(std::min(ranges[loop], grid.step), 16)));
    }
  for (unsigned loop = 0; loop < ranges.size(); ++loop)
    if (along[loop] < 0 && !first.isFunctionOfDim(loop))
      loops[loop].axis =
          blocks.wholeAxis(grid.columnsOfProduct(rows, ranges[loop]), loops);
  Value turn;
  for (size_t g = 0; g < numbers.size(); ++g)
    if (!used[g] && numbers[g])
      turn =
          turn ? blocks.counted(turn, grid.countOf(g), numbers[g]) : numbers[g];
  return blocks.addInTurns(sum, loops, swept, memory,
                           {turn ? turns : Value(), turn});
}

LogicalResult ConvertLinalgToTile::convert(func::FuncOp f, OpBuilder &b) {
  if (failed(foldTransposes(f)))
    return failure();
  Location loc = f.getLoc();
  auto results = f.getBody().front().getTerminator()->getOperands();
  // Pointers for tensors, results behind arguments; what is replaced in place
  // is an argument already.
  SmallVector<Type> types;
  llvm::DenseMap<unsigned, unsigned> inPlace;
  struct Summed { // arguments
    unsigned sum, turns, ticket;
  };
  std::map<unsigned, Summed> summed;
  for (unsigned i = 0; i < f.getNumArguments(); ++i) {
    Type t = f.getArgumentTypes()[i];
    auto tensor = dyn_cast<RankedTensorType>(t);
    types.push_back(
        tensor ? Type(PtrType::get(&getContext(), tensor.getElementType()))
               : t);
    if (auto r = f.getArgAttrOfType<IntegerAttr>(i, "act.inplace"))
      inPlace[r.getInt()] = i;
    if (auto r = f.getArgAttrOfType<IntegerAttr>(i, "act.summed"))
      summed[r.getInt()].sum = i;
    if (auto r = f.getArgAttrOfType<IntegerAttr>(i, "act.turns"))
      summed[r.getInt()].turns = i;
    if (auto r = f.getArgAttrOfType<IntegerAttr>(i, "act.ticket"))
      summed[r.getInt()].ticket = i;
  }
  SmallVector<unsigned> where;
  // Those that a program has blocks of, and those that it adds to.
  SmallVector<Value> stored, added;
  for (auto [r, v] : llvm::enumerate(results)) {
    if (auto it = summed.find(r); it != summed.end()) {
      where.push_back(it->second.sum);
      added.push_back(v);
      continue;
    }
    stored.push_back(v);
    if (auto it = inPlace.find(r); it != inPlace.end()) {
      where.push_back(it->second);
      continue;
    }
    where.push_back(types.size());
    types.push_back(PtrType::get(
        &getContext(), cast<RankedTensorType>(v.getType()).getElementType()));
  }
  auto kernel = gpu::GPUFuncOp::create(
      b, loc, f.getName(), FunctionType::get(&getContext(), types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  Block &entry = kernel.getBody().front();
  b.setInsertionPointToStart(&entry);

  KernelGrid grid = planGrid(stored, added, tightness);
  BlockEvaluator blocks(b, loc, entry, precision, grid.step);
  for (auto [from, to] : llvm::zip(f.getArguments(), entry.getArguments()))
    if (isa<RankedTensorType>(from.getType()))
      blocks.bind(from, to);
    else
      from.replaceAllUsesWith(to);

  // One number counts all programs; the last dimension fastest.
  auto constant = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  size_t rank = grid.blocks.size();
  Place place(rank);
  SmallVector<Value> numbers(rank); // of the block along each dimension
  // Programs that wait for others count themselves as they begin.
  Value rest;
  if (summed.empty()) {
    rest = ProgramIdOp::create(b, loc, GridAxis::X);
  } else {
    Value memory = entry.getArgument(summed.begin()->second.ticket);
    auto one = ViewType::get({1}, b.getI32Type());
    Value counter =
        ViewOp::create(b, loc, one, memory, OpFoldResult(b.getIndexAttr(1)));
    rest = TicketOp::create(b, loc, b.getIndexType(), counter, constant(0));
  }
  bool outermost = true;
  for (size_t d = rank; d-- > 0;) {
    int64_t count = grid.countOf(d);
    if (count > 1) {
      outermost = llvm::all_of(llvm::seq<size_t>(0, d), [&](size_t before) {
        return grid.countOf(before) == 1;
      });
      numbers[d] =
          outermost
              ? rest
              : Value(arith::RemUIOp::create(b, loc, rest, constant(count)));
      if (!outermost)
        rest = arith::DivUIOp::create(b, loc, rest, constant(count));
    }
    if (grid.blocks[d] == 1) {
      place[d].scalar = numbers[d];
      continue;
    }
    Value base = numbers[d] ? Value(arith::MulIOp::create(
                                  b, loc, numbers[d], constant(grid.blocks[d])))
                            : constant(0);
    place[d].axis = blocks.addAxis(base, grid.blocks[d]);
  }
  // What is replaced in place is read before: first all values, then stores.
  // Those that one program makes for all are stored where they are made.
  struct Store {
    BlockValue block;
    RankedTensorType type; // of the memory, as `at` counts it
    Value pointer;
    Place at;
  };
  SmallVector<Store> stores;
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, where.size()));
  SmallVector<ResultPlace> places;
  for (auto [r, v] : llvm::enumerate(results)) {
    if (summed.count(r)) {
      places.emplace_back();
      continue;
    }
    auto at = placeOf(unshaped(v), grid, place, blocks);
    if (failed(at))
      return f.emitError() << "has results of unlike shapes: " << v.getType()
                           << " beside " << grid.root.getType();
    places.push_back(*at);
  }
  llvm::stable_sort(order, [&](unsigned x, unsigned y) {
    return places[x].repeated > places[y].repeated;
  });
  for (unsigned r : order) {
    if (summed.count(r))
      continue;
    const ResultPlace &p = places[r];
    Value u = unshaped(results[r]), pointer = entry.getArgument(where[r]),
          first;
    if (p.repeated)
      for (size_t d = 0; d < rank; ++d)
        if (!p.used[d] && numbers[d]) {
          Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                           numbers[d], constant(0));
          first = first ? Value(arith::AndIOp::create(b, loc, first, is)) : is;
        }
    if (first && inPlace.contains(r))
      return f.emitError("replaces in place what only one program makes");
    OpBuilder::InsertionGuard guard(b);
    if (first)
      b.setInsertionPointToStart(
          &scf::IfOp::create(b, loc, first).getThenRegion().front());
    auto block = blocks.evaluate(u, p.at);
    if (failed(block))
      return failure();
    Store store{*block, p.type, pointer, p.stored};
    if (!first)
      stores.push_back(store);
    else if (failed(blocks.store(*block, p.type, pointer, p.stored)))
      return failure();
  }
  for (auto [r, at] : summed)
    if (failed(addUp(results[r], entry.getArgument(at.sum),
                     entry.getArgument(at.turns), grid, place, numbers,
                     blocks)))
      return failure();
  for (auto [r, at] : summed)
    for (unsigned i : {at.sum, at.turns, at.ticket})
      kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
  // Threads that hold copies of an element read it, one writes it.
  if (!inPlace.empty())
    BarrierOp::create(b, loc);
  for (const Store &s : stores)
    if (failed(blocks.store(s.block, s.type, s.pointer, s.at)))
      return failure();
  gpu::ReturnOp::create(b, loc);
  kernel->setAttr(scheduleName,
                  ScheduleAttr::get(&getContext(), grid.warps, grid.stages));
  kernel->setAttr(gridName, b.getDenseI64ArrayAttr({grid.programs(), 1, 1}));
  return success();
}

} // namespace
