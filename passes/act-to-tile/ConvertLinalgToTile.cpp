// SPDX-License-Identifier: Apache-2.0
//
// The pass --convert-linalg-to-tile: the frame of a kernel. It plans the grid,
// numbers the programs, asks BlockEvaluator for each result's block and stores
// it. It does not know what the function computes.
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/FoldTransposes.h"
#include "passes/act-to-tile/Passes.h"
#include "passes/act-to-tile/PlanGrid.h"

namespace act::tile {
#define GEN_PASS_DEF_CONVERTLINALGTOTILEPASS
#include "passes/act-to-tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Where a result's block is, derived from the place along the grid.
struct ResultPlace {
  Place at;               // in the value
  RankedTensorType type;  // of its memory
  Place stored;           // the same place in memory
  std::vector<bool> used; // the grid's dimensions that it depends on
  bool repeated = false; // programs that differ only in others compute the same
};

// The root's own block is the place along the grid. Another result has some of
// these dimensions, and what it has besides, each program has whole: a norm's
// statistics [b, s] are along the rows of the root [b, s, h].
FailureOr<ResultPlace> placeOf(Value u, const KernelGrid &grid,
                               const Place &place, BlockEvaluator &blocks) {
  ResultPlace out;
  auto type = cast<RankedTensorType>(u.getType());
  auto root = cast<RankedTensorType>(grid.root.getType());
  size_t rank = place.size();
  // The root's dimensions with some collapsed: stored as the root is.
  if (type.getRank() < int64_t(rank))
    if (auto groups = getReassociationIndicesForReshape(root, type))
      if (auto at = blocks.collapsed(place, *groups, root.getShape());
          succeeded(at) && axesOf(*at) == axesOf(place)) {
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
  int64_t rows = 16; // of a product next to the root's, with other columns
  for (int d : *dims)
    if (d >= 0)
      rows = std::max(rows, grid.blocks[d]);
  for (auto [d, size] : llvm::zip(*dims, type.getShape())) {
    if (d >= 0) {
      out.at.push_back(place[d]);
      out.used[d] = true;
      continue;
    }
    out.at.push_back({});
    if (size > 1)
      out.at.back().axis = blocks.wholeAxis(
          hasProduct(u) ? grid.columnsOfProduct(rows, size) : size, out.at);
  }
  for (size_t d = 0; d < rank; ++d)
    out.repeated |= !out.used[d] && (grid.countOf(d) > 1 ||
                                     (grid.goesOverColumns && d + 1 == rank));
  out.type = type;
  out.stored = out.at;
  return out;
}

/// Converts one function to one kernel. Kinds of results:
///
/// - stored: each program writes its block, or one of those that compute the
///   same does;
/// - summed: every program adds its part to memory, in turns (addUp);
/// - parts: every program keeps a partial sum over its rows and writes it at
///   the end (goOverRows).
class KernelOfFunction {
public:
  KernelOfFunction(func::FuncOp f, DotPrecision precision,
                   const PlanOptions &options, OpBuilder &b)
      : f(f), precision(precision), options(options), b(b), loc(f.getLoc()) {}

  LogicalResult convert() {
    if (failed(foldTransposes(f)))
      return failure();
    results =
        llvm::to_vector(f.getBody().front().getTerminator()->getOperands());
    readArguments();
    if (resultsOf(f).stored.empty())
      return emitError(loc, "no result of this function is stored by blocks");
    makeKernel();
    if (!parts.empty()) {
      if (failed(goOverRows()))
        return failure();
    } else {
      numberPrograms(countPrograms());
      if (grid.goesOverColumns
              ? failed(goOverColumns())
              : failed(placeResults()) || failed(storeResults()))
        return failure();
    }
    gpu::ReturnOp::create(b, loc);
    approximateInLoops();
    return success();
  }

private:
  func::FuncOp f;
  DotPrecision precision;
  const PlanOptions &options;
  OpBuilder &b;
  Location loc;

  SmallVector<Value> results;
  // Kernel arguments: pointers for tensors, results after arguments. A result
  // that replaces an argument in place uses that argument.
  SmallVector<Type> types;
  SmallVector<unsigned> where; // the argument of each result
  llvm::DenseMap<unsigned, unsigned> inPlace;
  struct Summed { // arguments
    unsigned sum, turns, ticket;
  };
  std::map<unsigned, Summed> summed;
  std::map<unsigned, unsigned> parts; // partial row sums, their arguments
  Operation *overColumns = nullptr;   // the loop of goOverColumns

  gpu::GPUFuncOp kernel;
  KernelGrid grid;
  std::optional<BlockEvaluator> blocks;
  Value zero;
  Place place;                // along the grid's dimensions
  SmallVector<Value> numbers; // of the block along each; null: one block
  std::vector<ResultPlace> places;

  struct Store {
    BlockValue block;
    RankedTensorType type; // of the memory, as `at` counts it
    Value pointer;
    Place at;
  };

  Value argument(unsigned i) { return kernel.getBody().front().getArgument(i); }
  Value constant(int64_t n) {
    return arith::ConstantIndexOp::create(b, loc, n);
  }
  void readArguments();
  void makeKernel();
  void numberPrograms(Value rest);
  Value countPrograms();
  LogicalResult placeResults();
  LogicalResult storeResults();
  Value isFirst(const ResultPlace &p);
  LogicalResult addUp(Value result, const Summed &to);
  LogicalResult goOverRows();
  LogicalResult goOverColumns();
  void approximateInLoops();
  FailureOr<BlockValue> addendOf(Value sum);
  bool isStored(unsigned result) const {
    return !summed.count(result) && !parts.count(result);
  }
};

/// Whether the indices of the op's body fit in 32 bits. Blocks and prefetched
/// loads reach beyond the end of a loop, so a loop counts twice its length.
static bool hasSmallIndices(linalg::LinalgOp op) {
  llvm::DenseMap<Value, ConstantIntRanges> ranges;
  auto rangeOf = [&](Value v) {
    APInt number;
    if (matchPattern(v, m_ConstantInt(&number)))
      return ConstantIntRanges::constant(number);
    if (auto it = ranges.find(v); it != ranges.end())
      return it->second;
    return ConstantIntRanges::maxRange(
        ConstantIntRanges::getStorageBitwidth(v.getType()));
  };
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  for (Operation &inner : *op.getBlock()) {
    if (inner.getNumRegions())
      return false;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      int64_t n = loops[index.getDim()];
      if (n < 0 || n >= int64_t(1) << 30)
        return false;
      ranges.insert({index, ConstantIntRanges::fromSigned(APInt(64, 0),
                                                          APInt(64, 2 * n))});
    } else if (auto infers = dyn_cast<InferIntRangeInterface>(inner)) {
      infers.inferResultRanges(
          llvm::map_to_vector(inner.getOperands(), rangeOf),
          [&](Value v, const ConstantIntRanges &range) {
            ranges.insert({v, range});
          });
    }
    for (Value v : inner.getResults())
      if (v.getType().isIndex()) {
        ConstantIntRanges range = rangeOf(v);
        if (!range.smin().isSignedIntN(32) || !range.smax().isSignedIntN(32))
          return false;
      }
  }
  return true;
}

/// Whether all indices in the kernel of `f` fit in 32 bits: those that count
/// elements in memory, and those in bodies (see above).
static bool hasSmallIndices(func::FuncOp f) {
  auto isSmall = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.hasStaticShape() &&
                        tensor.getNumElements() < int64_t(1) << 30
                  : !type.isIndex();
  };
  return llvm::all_of(f.getArgumentTypes(), isSmall) &&
         llvm::all_of(f.getResultTypes(), isSmall) &&
         !f.walk([](linalg::LinalgOp op) {
             return hasSmallIndices(op) ? WalkResult::advance()
                                        : WalkResult::interrupt();
           }).wasInterrupted();
}

// The kernel has the function's arguments as pointers, and then a pointer for
// each result that has no memory among them.
void KernelOfFunction::readArguments() {
  for (unsigned i = 0; i < f.getNumArguments(); ++i) {
    Type t = f.getArgumentTypes()[i];
    auto tensor = dyn_cast<RankedTensorType>(t);
    types.push_back(
        tensor ? Type(PtrType::get(b.getContext(), tensor.getElementType()))
               : t);
    act::ArgumentRoleAttr role = act::roleOf(f, i);
    if (!role)
      continue;
    int64_t result = role.getResult();
    switch (role.getKind()) {
    case act::ArgumentRoleKind::InPlace:
      inPlace[result] = i;
      break;
    case act::ArgumentRoleKind::Summed:
      summed[result].sum = i;
      break;
    case act::ArgumentRoleKind::Turns:
      summed[result].turns = i;
      break;
    case act::ArgumentRoleKind::Ticket:
      summed[result].ticket = i;
      break;
    case act::ArgumentRoleKind::Parts:
      parts[result] = i;
      break;
    case act::ArgumentRoleKind::Read:
      break;
    }
  }
  for (auto [r, v] : llvm::enumerate(results)) {
    if (auto it = parts.find(r); it != parts.end()) {
      where.push_back(it->second);
      continue;
    }
    if (auto it = summed.find(r); it != summed.end()) {
      where.push_back(it->second.sum);
      continue;
    }
    if (auto it = inPlace.find(r); it != inPlace.end()) {
      where.push_back(it->second);
      continue;
    }
    where.push_back(types.size());
    types.push_back(PtrType::get(
        b.getContext(), cast<RankedTensorType>(v.getType()).getElementType()));
  }
}

// Creates the kernel with its schedule and grid, and tells the evaluator which
// pointer is which tensor.
void KernelOfFunction::makeKernel() {
  int64_t programs = resultsOf(f).parts;
  grid = planGrid(f, options);
  kernel = gpu::GPUFuncOp::create(b, loc, f.getName(),
                                  FunctionType::get(b.getContext(), types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  SmallVector<int64_t> raster;
  if (grid.rowsTogether > 1)
    if (int64_t columns = grid.countOf(grid.blocks.size() - 1);
        columns > 1 && columns < grid.programs())
      raster = {grid.rowsTogether, columns};
  const int64_t all = programs ? programs : grid.programs();
  const int64_t cluster =
      grid.inGroups && all % grid.cluster == 0 ? grid.cluster : 1;
  const GroupRegisters registers(grid.warps / ScheduleAttr::groupWarps,
                                 grid.stores);
  kernel->setAttr(
      scheduleName,
      ScheduleAttr::get(b.getContext(), grid.warps, grid.stages, raster,
                        grid.inGroups ? registers.copyWarps : 0, grid.inGroups,
                        grid.inGroups ? registers.copy : 0,
                        grid.inGroups ? registers.compute : 0, grid.rotated,
                        grid.persistent, grid.turns, grid.stores ? 1 : 0,
                        cluster, grid.a, grid.early, grid.ahead));
  kernel->setAttr(gridName, b.getDenseI64ArrayAttr({all, 1, 1}));
  if (grid.sharedBytes)
    kernel->setAttr(plannedBytesName, b.getI64IntegerAttr(grid.sharedBytes));
  if (hasSmallIndices(f))
    kernel->setAttr(indexBitsName, b.getI32IntegerAttr(32));
  if (!summed.empty())
    kernel->setAttr(shiftTurnsName, b.getUnitAttr());
  // Programs change this memory while others read it, but only through these
  // pointers. Loads of other arguments may then be moved across the additions.
  for (auto [r, at] : summed)
    for (unsigned i : {at.sum, at.turns, at.ticket})
      kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
  Block &entry = kernel.getBody().front();
  b.setInsertionPointToStart(&entry);
  zero = constant(0);
  blocks.emplace(b, loc, entry, precision, grid.step, grid.unit);
  for (auto [from, to] : llvm::zip(f.getArguments(), entry.getArguments()))
    if (isa<RankedTensorType>(from.getType()))
      blocks->bind(from, to);
    else
      from.replaceAllUsesWith(to);
  for (unsigned i = 0; i < f.getNumArguments(); ++i)
    if (act::ArgumentRoleAttr role = act::roleOf(f, i); role && role.getTiles())
      blocks->bindTiles(entry.getArgument(i), role.getTiles(),
                        options.target->features.vectorAdditions);
}

// This program's number. Programs that wait for others draw tickets as they
// start: a waiting program occupies its place on the card, so it may only wait
// for programs that have started, and hardware does not promise an order.
//
// The first to draw has the last number. Of causal attention, later keys have
// fewer rows, and these come last in every program's loop. So the first in turn
// begins with the rows that the others reach later, and nobody waits:
//
//     keys 3                 |0    |     rows are programs, columns the rows of
//     keys 2            |0   |1    |     dq that they add to, from left to
//     keys 1       |0   |1   |2    |     right; the numbers are turns
//     keys 0  |0   |1   |2   |3    |
Value KernelOfFunction::countPrograms() {
  if (summed.empty())
    return ProgramIdOp::create(b, loc, GridAxis::X);
  Value memory = argument(summed.begin()->second.ticket);
  auto one = ViewType::get({1}, b.getI32Type());
  Value counter =
      ViewOp::create(b, loc, one, memory, OpFoldResult(b.getIndexAttr(1)));
  Value drawn =
      TicketOp::create(b, loc, b.getIndexType(), counter, constant(0));
  return arith::SubIOp::create(b, loc, constant(grid.programs() - 1), drawn);
}

// `rest` counts all blocks; the last dimension is fastest. A single block is
// numbered too, so that its loads stay inside the loop, in the program that
// needs them.
void KernelOfFunction::numberPrograms(Value rest) {
  size_t rank = grid.blocks.size();
  place.assign(rank, {});
  numbers.assign(rank, {});
  for (size_t d = rank; d-- > 0;) {
    int64_t count = grid.countOf(d);
    bool isOnly = d == 0 && !parts.empty() && grid.programs() == 1;
    if (count > 1 || isOnly) {
      // Nothing is left to divide off for the outermost dimension.
      bool outermost =
          llvm::all_of(llvm::seq<size_t>(0, d), [&](size_t before) {
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
                            : zero;
    place[d].axis = blocks->addAxis(base, grid.blocks[d]);
  }
}

// Called again whenever `place` changes: in loops over blocks and in turns.
LogicalResult KernelOfFunction::placeResults() {
  places.clear();
  for (auto [r, v] : llvm::enumerate(results)) {
    if (!isStored(r)) {
      places.emplace_back();
      continue;
    }
    auto at = placeOf(unshaped(v), grid, place, *blocks);
    if (failed(at))
      return emitError(f.getLoc())
             << "has results of different shapes: " << v.getType() << " and "
             << grid.root.getType();
    places.push_back(*at);
  }
  return success();
}

// Whether this program is the one that stores a value computed by several; null
// if each stores its own.
Value KernelOfFunction::isFirst(const ResultPlace &p) {
  Value first;
  for (size_t d = 0; p.repeated && d < place.size(); ++d)
    if (!p.used[d] && numbers[d]) {
      Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       numbers[d], constant(0));
      first = first ? Value(arith::AndIOp::create(b, loc, first, is)) : is;
    }
  return first;
}

// In-place results are still read, so compute all values before storing. Values
// that one program stores for all are stored at once.
LogicalResult KernelOfFunction::storeResults() {
  SmallVector<unsigned> order;
  for (bool repeated : {true, false})
    for (unsigned r = 0; r < results.size(); ++r)
      if (isStored(r) && places[r].repeated == repeated)
        order.push_back(r);
  SmallVector<Store> stores;
  // One turn per part of the root (planParts), unrolled. The evaluator computes
  // once what the parts share.
  int64_t turns =
      grid.inTurn < 0
          ? 1
          : cast<RankedTensorType>(grid.root.getType()).getDimSize(grid.inTurn);
  for (int64_t turn = 0; turn < turns; ++turn) {
    if (grid.inTurn >= 0)
      place[grid.inTurn].constant = turn;
    if (failed(placeResults()))
      return failure();
    for (unsigned r : order) {
      const ResultPlace &p = places[r];
      if (turn > 0 && !p.used.empty() && !p.used[grid.inTurn])
        continue;
      Value first = isFirst(p);
      if (first && inPlace.contains(r))
        return emitError(
            f.getLoc(),
            "updates in place a value that only one program computes");
      OpBuilder::InsertionGuard guard(b);
      if (first)
        b.setInsertionPointToStart(
            &scf::IfOp::create(b, loc, first).getThenRegion().front());
      auto block = blocks->evaluate(unshaped(results[r]), p.at);
      if (failed(block))
        return failure();
      Store store{*block, p.type, argument(where[r]), p.stored};
      if (!first)
        stores.push_back(store);
      else if (failed(blocks->store(store.block, store.type, store.pointer,
                                    store.at)))
        return failure();
    }
  }
  for (auto [r, at] : summed)
    if (failed(addUp(results[r], at)))
      return failure();
  // Threads with copies of an element all read it, but only one writes it. The
  // others must have read it by then.
  if (!inPlace.empty())
    BarrierOp::create(b, loc);
  for (const Store &s : stores)
    if (failed(blocks->store(s.block, s.type, s.pointer, s.at)))
      return failure();
  return success();
}

/// Adds this program's contribution to a sum over the grid. Programs that add
/// to the same place differ in dimensions that the sum lacks; their number
/// along these determines the order of turns.
LogicalResult KernelOfFunction::addUp(Value result, const Summed &to) {
  Value u = unshaped(result);
  auto sum = u.getDefiningOp<linalg::GenericOp>();
  SmallVector<unsigned> over;
  if (sum)
    sum.getReductionDims(over);
  if (!sum || over.size() != 1 || !factorsOf(sum))
    return emitError(
        result.getLoc(),
        "this result is added to memory, but is not a sum of products");
  SmallVector<int> along = loopsAlong(sum, grid);
  int d = along[over[0]];
  if (d < 0 || place[d].axis < 0)
    return sum.emitOpError("is not a sum over blocks of the grid");
  SmallVector<int64_t> ranges = sum.getStaticLoopRanges();
  Place loops(ranges.size());
  SmallVector<bool> used(numbers.size());
  for (auto [loop, to] : llvm::enumerate(along))
    if (to >= 0) {
      loops[loop] = place[to];
      used[to] = loop != over[0];
    }
  // Loop over rows of the first factor; those of the second are whole.
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
          blocks->wholeAxis(grid.columnsOfProduct(rows, ranges[loop]), loops);
  // Which one this program is of those that add to the same place: the last
  // number is the first in turn. A single one has no turn and does not wait.
  Value number, turn;
  int64_t count = 1;
  for (size_t g = 0; g < numbers.size(); ++g)
    if (!used[g] && numbers[g]) {
      count *= grid.countOf(g);
      number = number ? blocks->counted(number, grid.countOf(g), numbers[g])
                      : numbers[g];
    }
  if (number)
    turn = arith::SubIOp::create(b, loc, constant(count - 1), number);
  return blocks->addInTurns(sum, loops, swept, argument(to.sum),
                            {turn ? argument(to.turns) : Value(), turn});
}

/// This program's rows' contribution to a sum over rows.
FailureOr<BlockValue> KernelOfFunction::addendOf(Value sum) {
  auto op = sum.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return emitError(sum.getLoc(),
                     "this result is summed from parts, but is not a sum");
  Place loops;
  for (int d : loopsAlong(op, grid)) {
    if (d < 0)
      return op.emitOpError("is not a sum over rows of the grid");
    loops.push_back(place[d]);
  }
  return blocks->addend(op, loops);
}

/// Approximates exponentials in loops, where they dominate the cost. Loops over
/// a result's blocks are excluded: a block must equal what a program of its own
/// would compute.
void KernelOfFunction::approximateInLoops() {
  if (!parts.empty())
    return;
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), approximate);
  kernel.walk([&](Operation *op) {
    if (isa<math::ExpOp, math::Exp2Op>(op) &&
        op->getParentOfType<scf::ForOp>() &&
        !(overColumns && overColumns->isAncestor(op)))
      op->setAttr("fastmath", flags);
  });
}

/// A row that is too long to hold. What depends on the whole row, such as its
/// sums, is computed before the loop, which then reads all inputs again block
/// by block. The evaluator places it there by itself, as it does not depend on
/// the loop's number.
LogicalResult KernelOfFunction::goOverColumns() {
  size_t last = grid.blocks.size() - 1;
  auto block = [&](Value number, ValueRange) -> FailureOr<SmallVector<Value>> {
    numbers[last] = number;
    place[last].axis = blocks->addAxis(
        arith::MulIOp::create(b, loc, number, constant(grid.blocks[last])),
        grid.blocks[last]);
    if (failed(placeResults()) || failed(storeResults()))
      return failure();
    overColumns = number.getParentBlock()->getParentOp();
    return SmallVector<Value>();
  };
  return blocks->loop(zero, constant(grid.blocksOf(last)), {}, block);
}

/// One program per part of the sums. Each loops over its blocks of rows, stores
/// their results, and keeps its partial sums until the end.
LogicalResult KernelOfFunction::goOverRows() {
  if (grid.blocks.size() < 2 || grid.blocks.back() == 1 ||
      grid.countOf(grid.blocks.size() - 1) > 1)
    return emitError(
        f.getLoc(),
        "this function sums up rows, but no program has a whole row");
  int64_t all = grid.programs(),
          programs = kernel->getAttrOfType<DenseI64ArrayAttr>(gridName)
                         .asArrayRef()[0],
          each = llvm::divideCeil(all, programs);
  Value program = ProgramIdOp::create(b, loc, GridAxis::X);
  Value from = arith::MulIOp::create(b, loc, program, constant(each));
  Value to = arith::MinSIOp::create(
      b, loc, arith::AddIOp::create(b, loc, from, constant(each)),
      constant(all));
  SmallVector<int64_t> extents;
  for (int64_t n : grid.blocks)
    if (n > 1)
      extents.push_back(n);
  SmallVector<Value> nothing;
  for (auto [r, argument] : parts) {
    auto type = RankedTensorType::get(
        extents, getElementTypeOrSelf(results[r].getType()));
    nothing.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  }
  auto block = [&](Value number,
                   ValueRange sums) -> FailureOr<SmallVector<Value>> {
    numberPrograms(number);
    if (failed(placeResults()) || failed(storeResults()))
      return failure();
    SmallVector<Value> next;
    for (auto [part, sum] : llvm::zip_equal(parts, sums)) {
      auto own = addendOf(results[part.first]);
      if (failed(own))
        return failure();
      next.push_back(arith::AddFOp::create(b, loc, sum, own->value));
    }
    return next;
  };
  // The sums are carried as blocks and reduced once, after the loop.
  auto sums = blocks->loop(from, to, nothing, block);
  if (failed(sums))
    return failure();
  // Columns are whole, so any block has their axis.
  Place at{Coordinate{program, 0, -1, nullptr, {}}, place.back()};
  for (auto [part, sum] : llvm::zip_equal(parts, *sums)) {
    Value total = sum;
    for (size_t rows = extents.size() - 1; rows-- > 0;)
      total = ReduceOp::create(b, loc, CombineKind::Add, total, 0).getResult(0);
    auto type = cast<RankedTensorType>(f.getArgumentTypes()[part.second]);
    if (failed(blocks->store({total, {place.back().axis}}, type,
                             argument(part.second), at)))
      return failure();
  }
  return success();
}

struct ConvertLinalgToTile
    : act::tile::impl::ConvertLinalgToTilePassBase<ConvertLinalgToTile> {
  using ConvertLinalgToTilePassBase::ConvertLinalgToTilePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto precision = symbolizeDotPrecision(f32Products);
    if (!precision) {
      emitError(module.getLoc()) << "unknown f32-products '" << f32Products
                                 << "': expected ieee, bf16x3 or tf32";
      return signalPassFailure();
    }
    auto known = act::targetNamed(target);
    if (!known) {
      emitError(UnknownLoc::get(&getContext())) << known.error().message;
      return signalPassFailure();
    }
    if (sharedBytes < 0) {
      emitError(UnknownLoc::get(&getContext()))
          << "shared-bytes is " << sharedBytes.getValue()
          << ", expected 0 or more";
      return signalPassFailure();
    }
    auto table = schedulesFor(**known, schedules);
    if (!table) {
      emitError(UnknownLoc::get(&getContext()))
          << "schedules: " << llvm::toString(table.takeError());
      return signalPassFailure();
    }
    PlanOptions options{*known, (*known)->limits.sharedBytesPerBlock, seed,
                        *table};
    if (sharedBytes > 0)
      options.sharedBytes = std::min<int64_t>(options.sharedBytes, sharedBytes);
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    for (func::FuncOp f : functions) {
      if (f.isExternal() || f.getNumResults() == 0) {
        f.emitOpError("is no kernel: expected a body and results to store");
        return signalPassFailure();
      }
      b.setInsertionPointToEnd(kernels.getBody());
      if (failed(KernelOfFunction(f, *precision, options, b).convert()))
        return signalPassFailure();
      f.erase();
    }
  }
};

} // namespace
