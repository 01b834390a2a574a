// SPDX-License-Identifier: Apache-2.0
//
// Layouts spread from where they matter: first from dots, then from loads and
// stores, then defaults fill the rest. A value keeps the first layout that
// reaches it. Where an op needs an operand in another layout, a conversion is
// inserted.
//
// `spread` only fills in types that are still open. `rewrite` then visits every
// op once, reads the types that its operands got, and repairs each mismatch:
//
//     %d = tile.dot %a, %b, %acc              %d in the fragment's layout
//     tile.store %d, %y[%i : 64, %j : 64]     wants 16 bytes per access
//
//     %r = tile.convert_layout %d
//     tile.store %r, %y[%i : 64, %j : 64]
//
// So the order of the seeds only decides where conversions are, never whether
// the kernel is correct.
#include "act/Layout/Blocked.h"
#include "act/Layout/Mma.h"
#include "dialects/tile/Divisor.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include <deque>
#include <map>
#include <numeric>

namespace act::tile {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;
using namespace act::tile;
using layout::Distributed;

namespace {

bool isBlock(Value v) { return isa<RankedTensorType>(v.getType()); }
RankedTensorType blockType(Value v) {
  return cast<RankedTensorType>(v.getType());
}

/// Rematerialising it is free: each layout gets a clone, so such a value does
/// not pass a layout on from one reader to another.
bool isFree(Operation *op) {
  return op && (isa<arith::ConstantOp, tensor::SplatOp, IotaOp>(op));
}

/// All operand and result blocks share one layout: element i of each result is
/// computed from elements i of the operands (in a scan, also from other
/// elements of its line).
bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<PhiloxOp, ScanOp>(op);
}

/// Values that must have `v`'s layout because control flow passes one to the
/// other.
void aliases(Value v, SmallVectorImpl<Value> &out) {
  auto ofLoop = [&](LoopLikeOpInterface loop, unsigned i) {
    out.push_back(loop.getInits()[i]);
    out.push_back(loop.getRegionIterArgs()[i]);
    out.push_back(loop.getYieldedValues()[i]);
    out.push_back((*loop.getLoopResults())[i]);
  };
  // An init or yielded value of scf.while is an argument of its "before"
  // region; what that region forwards is an argument of the "after" region and
  // a result.
  auto entering = [&](scf::WhileOp loop, unsigned i) {
    out.push_back(loop.getInits()[i]);
    out.push_back(loop.getBeforeArguments()[i]);
    out.push_back(loop.getYieldOp().getOperand(i));
  };
  auto leaving = [&](scf::WhileOp loop, unsigned i) {
    out.push_back(loop.getConditionOp().getArgs()[i]);
    out.push_back(loop.getAfterArguments()[i]);
    out.push_back(loop.getResult(i));
  };
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto loop =
            dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())) {
      if (argument.getOwner() == loop.getBeforeBody())
        entering(loop, argument.getArgNumber());
      else
        leaving(loop, argument.getArgNumber());
    }
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      if (argument.getArgNumber() > 0)
        ofLoop(loop, argument.getArgNumber() - 1);
  if (auto result = dyn_cast<OpResult>(v)) {
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      ofLoop(loop, result.getResultNumber());
    if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
      leaving(loop, result.getResultNumber());
    if (auto branch = dyn_cast<scf::IfOp>(result.getOwner()))
      for (Region *r : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!r->empty())
          out.push_back(
              r->front().getTerminator()->getOperand(result.getResultNumber()));
  }
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(user);
        loop && use.getOperandNumber() >= 3)
      ofLoop(loop, use.getOperandNumber() - 3);
    if (auto loop = dyn_cast<scf::WhileOp>(user))
      entering(loop, use.getOperandNumber());
    if (isa<scf::ConditionOp>(user) && use.getOperandNumber() > 0)
      leaving(cast<scf::WhileOp>(user->getParentOp()),
              use.getOperandNumber() - 1);
    if (isa<scf::YieldOp>(user)) {
      if (auto loop = dyn_cast<scf::WhileOp>(user->getParentOp()))
        entering(loop, use.getOperandNumber());
      if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp()))
        ofLoop(loop, use.getOperandNumber());
      if (auto branch = dyn_cast<scf::IfOp>(user->getParentOp()))
        out.push_back(branch.getResult(use.getOperandNumber()));
    }
  }
}

/// Layout of one number per accumulator row: a thread holds the numbers of the
/// rows that it has accumulators of.
Distributed rowsOf(const Distributed &acc) {
  return acc.dropped(1).withoutRegisterCopies();
}

/// The result's layout if each thread keeps its part of the operand and repeats
/// it. Only for a few repetitions, and only if no other thread holds the same
/// part.
std::optional<Distributed> repeated(const Distributed &l, BroadcastOp op) {
  constexpr int64_t few = 4;
  Distributed out = l;
  int64_t times = 1;
  for (auto [d, from] : llvm::enumerate(blockType(op.getInput()).getShape()))
    if (int64_t to = blockType(op.getResult()).getDimSize(d); from != to) {
      out = out.broadcast(d, to);
      times *= to;
    }
  if (times > few || l.copies().total() > 1)
    return std::nullopt;
  return out;
}

class Assignment {
public:
  Assignment(gpu::GPUFuncOp kernel)
      : kernel(kernel), warps(getSchedule(kernel).getWarps()) {}
  LogicalResult run();

private:
  void give(Value v, const Distributed &l);
  void spread();
  void spreadFrom(Value v);
  bool mayTake(Value v) const;
  LogicalResult seedDots();
  LogicalResult seedMemory();
  LogicalResult seedRest();
  std::pair<int64_t, int64_t> warpsOf(DotOp dot) const;
  bool rowsStayTogether(Value v,
                        llvm::SmallPtrSetImpl<Operation *> &seen) const;
  LogicalResult rewrite();
  LogicalResult rewriteOp(Operation *op);
  Value as(Value v, const Distributed &l, OpBuilder &b);
  void require(OpOperand &operand, const Distributed &l);
  LogicalResult requireIndices(Operation *op, std::optional<Distributed> block);
  void findAccesses();
  Distributed defaultFor(RankedTensorType type) const;

  gpu::GPUFuncOp kernel;
  int64_t warps;
  llvm::DenseMap<Value, Distributed> layouts;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> dotWarps;
  /// What all accesses to blocks of one shape share.
  struct Accesses {
    int64_t bytes = 1;  // of the widest element
    int64_t beside = 0; // adjacent elements that all take at once; 0: any
  };
  std::map<std::vector<int64_t>, Accesses> accesses;
  std::deque<Value> work;
};

/// Whether a value without a layout may take the one that reaches it. A load of
/// rank two or more waits for a layout chosen for memory access: in a
/// fragment's layout a thread reads two adjacent elements at most, so a wide
/// load and a conversion are cheaper.
bool Assignment::mayTake(Value v) const {
  return !isa_and_nonnull<LoadOp>(v.getDefiningOp()) ||
         blockType(v).getRank() < 2;
}

/// Sets `v`'s layout unless it has one: the first to reach a value wins.
void Assignment::give(Value v, const Distributed &l) {
  if (layouts.try_emplace(v, l).second)
    work.push_back(v);
  // All results of an elementwise op get one layout.
  if (Operation *op = v.getDefiningOp();
      op && op->getNumResults() > 1 && isElementwise(op))
    for (Value r : op->getResults())
      if (layouts.try_emplace(r, l).second)
        work.push_back(r);
}

void Assignment::spread() {
  while (!work.empty()) {
    Value v = work.front();
    work.pop_front();
    spreadFrom(v);
  }
}

/// Offers the layout of `v` to the values around it, in both directions: to
/// operands of the op that computes it and to results of its readers. Offers
/// are hints. A value that is reached twice keeps the first layout, and
/// `rewrite` inserts a conversion.
void Assignment::spreadFrom(Value v) {
  Distributed l = layouts.find(v)->second;
  auto offer = [&](Value to, const Distributed &layout) {
    if (isBlock(to) && mayTake(to) &&
        layout.shape() == std::vector<int64_t>(blockType(to).getShape()))
      give(to, layout);
  };
  SmallVector<Value> same;
  aliases(v, same);
  for (Value s : same)
    offer(s, l);
  auto elementwise = [&](Operation *op) {
    for (Value o : op->getOperands())
      if (!isFree(o.getDefiningOp()))
        offer(o, l);
    for (Value r : op->getResults())
      offer(r, l);
  };
  if (Operation *op = v.getDefiningOp()) {
    if (isElementwise(op) && !isFree(op))
      elementwise(op);
    else if (auto trans = dyn_cast<TransOp>(op))
      offer(trans.getInput(), swapped(l));
    else if (auto expand = dyn_cast<ExpandDimsOp>(op))
      offer(expand.getInput(), l.dropped(expand.getAxis()));
    else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      // A thread gets the one element that it repeats.
      Distributed in = l;
      for (auto [d, n] :
           llvm::enumerate(blockType(broadcast.getInput()).getShape()))
        if (n == 1 && blockType(v).getDimSize(d) != 1)
          in = in.projected(d);
      offer(broadcast.getInput(), in.withoutRegisterCopies());
    } else if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
      if (auto in = l.reshaped(blockType(reshape.getInput()).getShape().vec()))
        offer(reshape.getInput(), *in);
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      offer(dot.getAcc(), l);
      for (Value end : dot.getWithin())
        offer(end, rowsOf(l));
    }
  }
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (isElementwise(op))
      elementwise(op);
    else if (auto trans = dyn_cast<TransOp>(op))
      offer(trans.getResult(), swapped(l));
    else if (auto expand = dyn_cast<ExpandDimsOp>(op))
      offer(expand.getResult(), l.expanded(expand.getAxis()));
    else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      if (auto out = repeated(l, broadcast))
        offer(broadcast.getResult(), *out);
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      for (Value o : reduce.getInputs())
        offer(o, l);
      for (Value r : reduce.getResults())
        offer(r, l.dropped(reduce.getAxis()));
    } else if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
      if (auto out =
              l.reshaped(blockType(reshape.getResult()).getShape().vec()))
        offer(reshape.getResult(), *out);
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      // Only the accumulator. Layouts of A and B follow from the warps' tiling,
      // and `rewriteOp` requires them.
      if (use.getOperandNumber() == 2)
        offer(dot.getResult(), l);
    } else if (isa<JoinOp>(op)) {
      offer(op->getOperand(0), l);
      offer(op->getOperand(1), l);
      offer(op->getResult(0), l.joined());
    } else if (isa<tile::SplitOp>(op)) {
      // No offer if the last dimension is spread over lanes: rewriteOp then
      // converts the operand.
      if (auto half = l.split())
        for (Value r : op->getResults())
          offer(r, *half);
    }
  }
}

/// Whether an accumulator's row is reduced or becomes a row of another dot's
/// operand. Then one warp should hold the whole row.
bool Assignment::rowsStayTogether(
    Value v, llvm::SmallPtrSetImpl<Operation *> &seen) const {
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (!seen.insert(op).second)
      continue;
    if (isa<ReduceOp, ScanOp>(op))
      return true;
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (use.getOperandNumber() == 0)
        return true;
      if (use.getOperandNumber() == 1)
        continue;
    }
    // After a transpose the rows are columns.
    if (isa<StoreOp, AtomicAddOp, TransOp>(op))
      continue;
    for (Value r : op->getResults())
      if (isBlock(r) && rowsStayTogether(r, seen))
        return true;
    SmallVector<Value> same;
    if (isa<scf::YieldOp>(op))
      aliases(v, same);
    for (Value s : same)
      if (s != v && rowsStayTogether(s, seen))
        return true;
  }
  return false;
}

/// Warps along the rows and columns of a dot. The parts are as square as
/// possible, which minimises operand reads.
std::pair<int64_t, int64_t> Assignment::warpsOf(DotOp dot) const {
  ArrayRef<int64_t> shape = dot.getType().getShape();
  llvm::SmallPtrSet<Operation *, 32> seen;
  bool rows = rowsStayTogether(dot.getResult(), seen);
  // If A comes from another accumulator, its rows stay in their warps.
  SetVector<Operation *> behind;
  auto follow = [&](Value v) {
    if (Operation *op = v.getDefiningOp(); op && isBlock(v))
      behind.insert(op);
  };
  follow(dot.getA());
  for (size_t i = 0; i < behind.size() && !rows; ++i) {
    if (isa<DotOp>(behind[i]))
      rows = true;
    else if (behind[i]->hasTrait<OpTrait::Elementwise>())
      llvm::for_each(behind[i]->getOperands(), follow);
  }
  std::pair<int64_t, int64_t> best{0, 0};
  int64_t least = INT64_MAX;
  // A warp reads the rows of A and the columns of B that its part meets. Its
  // part is whole instructions of 16 x 8.
  for (int64_t m = warps; m >= 1; m /= 2) {
    int64_t n = warps / m;
    if (shape[0] % (16 * m) || shape[1] % (8 * n))
      continue;
    int64_t read = shape[0] / m + shape[1] / n;
    // Rows that one warp holds are reduced by shuffles, and as the operand of
    // the next dot they stay in registers (Mma.h).
    if (rows)
      read = n; // all along the rows if the block is high enough
    if (read < least) {
      least = read;
      best = {m, n};
    }
  }
  return best;
}

/// Tensor cores leave no choice, so dots come first. All accumulators have
/// their layout before any spreads, so none gets another dot's layout by way of
/// the ops between them.
LogicalResult Assignment::seedDots() {
  WalkResult walked = kernel.walk([&](DotOp dot) -> WalkResult {
    auto [m, n] = dotWarps[dot] = warpsOf(dot);
    if (!m)
      return dot.emitOpError()
             << "has an accumulator of " << dot.getType().getDimSize(0) << "x"
             << dot.getType().getDimSize(1) << ", which " << warps
             << " warps cannot share; expected R x C warps, where 16 R divides "
                "the rows and 8 C the columns";
    auto acc = layout::mmaAccumulator(dot.getType().getShape().vec(), m, n);
    if (!acc)
      return dot.emitOpError() << acc.error().message;
    give(dot.getResult(), *acc);
    return WalkResult::advance();
  });
  spread();
  return failure(walked.wasInterrupted());
}

/// Loads and stores, in layouts for 16 bytes per thread. Values between them
/// that no dot has reached get the same.
LogicalResult Assignment::seedMemory() {
  // Loads first: values computed from them take their layout, and stores
  // follow. Blocks of higher rank come before rows: a row that is added to all
  // rows of a block then takes the block's layout.
  SmallVector<LoadOp> loads;
  kernel.walk([&](LoadOp load) {
    if (isBlock(load.getResult()))
      loads.push_back(load);
  });
  llvm::stable_sort(loads, [](LoadOp x, LoadOp y) {
    return blockType(x).getRank() > blockType(y).getRank();
  });
  for (LoadOp load : loads) {
    give(load.getResult(), defaultFor(blockType(load)));
    spread();
  }
  kernel.walk([&](Operation *op) {
    if (isa<StoreOp, AtomicAddOp>(op) && isBlock(op->getOperand(0))) {
      give(op->getOperand(0), defaultFor(blockType(op->getOperand(0))));
      spread();
    }
  });
  return success();
}

/// How many adjacent elements of a row one access may take: a divisor of every
/// stride between rows and of the row's end. 0: no limit; vectors do not
/// help a block whose last dimension is strided.
int64_t elementsBeside(BlockAccessOpInterface access) {
  ViewType view = access.getViewType();
  SmallVector<int64_t> strides = view.getFullStrides();
  ArrayRef<int64_t> extents = access.getExtents();
  int64_t last = -1;
  for (auto [d, extent] : llvm::enumerate(extents))
    if (extent >= 0)
      last = d;
  if (last < 0 || strides[last] != 1 ||
      isa<RankedTensorType>(access.getIndices()[last].getType()))
    return 0;
  int64_t beside = divisorOf(access.getIndices()[last]);
  for (auto [d, stride] : llvm::enumerate(strides)) {
    int64_t step =
        static_cast<int64_t>(d) == last ? view.getShape()[d] : stride;
    beside = std::gcd(beside, ShapedType::isDynamic(step) ? 1 : step);
  }
  return beside;
}

/// Blocks computed element by element share one layout, chosen by the widest
/// type: with 8 bf16 elements in a row, a thread would need two accesses for 8
/// of f32, each using half of every sector. Operands of dots are loaded
/// differently. Where rows are unaligned and a thread reads its 8 elements one
/// by one, it takes 8 times the sectors; there neighbouring elements go to
/// neighbouring threads.
void Assignment::findAccesses() {
  bool hasDots = kernel.walk([](DotOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
  kernel.walk([&](BlockAccessOpInterface op) {
    Value v = isa<LoadOp>(op)                 ? op->getResult(0)
              : isa<StoreOp, AtomicAddOp>(op) ? op->getOperand(0)
                                              : Value();
    if (!v || !isBlock(v))
      return;
    Accesses &all = accesses[blockType(v).getShape().vec()];
    if (!hasDots)
      all.bytes = std::max<int64_t>(all.bytes,
                                    blockType(v).getElementTypeBitWidth() / 8);
    all.beside = std::gcd(all.beside, elementsBeside(op));
  });
}

/// The layout for access to global memory. All accesses to blocks of one shape
/// agree on it (`accesses`), so no conversion is needed between a load,
/// elementwise ops and a store.
Distributed Assignment::defaultFor(RankedTensorType type) const {
  std::vector<int64_t> shape = type.getShape().vec();
  int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  int64_t beside = 0;
  if (auto it = accesses.find(shape); it != accesses.end()) {
    bytes = std::max(bytes, it->second.bytes);
    beside = it->second.beside;
  }
  // Wide vectors may leave too few elements for all threads; single elements do
  // not (checkBlocks).
  int64_t vector = std::gcd(layout::vectorFor(shape, bytes, warps), beside);
  auto wide = layout::blocked(shape, vector, warps);
  return wide ? *wide : *layout::blocked(shape, 1, warps);
}

/// Values that neither a dot nor an access to memory reaches, such as a block
/// that is made of an iota and only reduced.
LogicalResult Assignment::seedRest() {
  kernel.walk([&](Operation *op) {
    auto fill = [&](Value v) {
      if (isBlock(v)) {
        give(v, defaultFor(blockType(v)));
        spread();
      }
    };
    for (Region &r : op->getRegions())
      for (Block &b : r)
        for (Value a : b.getArguments())
          fill(a);
    for (Value r : op->getResults())
      fill(r);
  });
  return success();
}

/// `v` in layout `l`: unchanged, rematerialised or converted.
Value Assignment::as(Value v, const Distributed &l, OpBuilder &b) {
  if (distributed(blockType(v)) == l)
    return v;
  auto type = with(blockType(v), l);
  if (Operation *op = v.getDefiningOp(); isFree(op)) {
    Operation *again = b.clone(*op);
    again->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(again))
      constant.setValueAttr(cast<TypedAttr>(
          cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type)));
    return again->getResult(0);
  }
  return ConvertLayoutOp::create(b, v.getLoc(), type, v);
}

void Assignment::require(OpOperand &operand, const Distributed &l) {
  OpBuilder b(operand.getOwner());
  operand.set(as(operand.get(), l, b));
}

/// An index block is laid out like the block's elements of its row: the thread
/// that accesses a row then holds the row's index.
LogicalResult Assignment::requireIndices(Operation *op,
                                         std::optional<Distributed> block) {
  auto access = cast<BlockAccessOpInterface>(op);
  if (access.getIndices().empty())
    return success();
  unsigned first = access.getIndices().getBeginOperandIndex(), at = 0;
  for (auto [d, extent] : llvm::enumerate(access.getExtents())) {
    OpOperand &index = op->getOpOperand(first + d);
    if (isBlock(index.get())) {
      Distributed rows = *block;
      for (unsigned other = rows.rank(); other-- > 0;)
        if (other != at)
          rows = rows.dropped(other);
      require(index, rows.withoutRegisterCopies());
    }
    at += extent >= 0;
  }
  return success();
}

/// The layouts that an op needs of its operands, given those of its results.
LogicalResult Assignment::rewriteOp(Operation *op) {
  auto layoutOf = [&](Value v) { return distributed(blockType(v)); };
  auto requireAll = [&](const Distributed &l) {
    for (OpOperand &o : op->getOpOperands())
      if (isBlock(o.get()))
        require(o, l);
  };
  if (auto dot = dyn_cast<DotOp>(op)) {
    Distributed acc = layoutOf(dot.getResult());
    auto [m, n] = dotWarps.at(dot);
    int64_t bits =
        dot.isInParts() ? 16 : blockType(dot.getA()).getElementTypeBitWidth();
    auto a =
        layout::mmaOperandA(blockType(dot.getA()).getShape().vec(), m, n, bits);
    auto b =
        layout::mmaOperandB(blockType(dot.getB()).getShape().vec(), m, n, bits);
    for (auto *l : {&a, &b})
      if (!*l)
        return dot.emitOpError() << l->error().message;
    require(dot.getAMutable(), *a);
    require(dot.getBMutable(), *b);
    require(dot.getAccMutable(), acc);
    for (OpOperand &end : dot.getWithinMutable())
      require(end, rowsOf(acc));
    return success();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    // The operand's layout decides; the result may need another. A conversion
    // of the result is cheaper, because it has fewer elements.
    Distributed in = layoutOf(reduce.getInputs()[0]);
    requireAll(in);
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    for (Value r : reduce.getResults())
      if (isBlock(r)) {
        Distributed wanted = layoutOf(r),
                    made = in.dropped(reduce.getAxis()).withoutRegisterCopies();
        if (wanted == made)
          continue;
        r.setType(with(blockType(r), made));
        auto converted = ConvertLayoutOp::create(b, op->getLoc(),
                                                 with(blockType(r), wanted), r);
        r.replaceAllUsesExcept(converted, converted);
      }
    return success();
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    require(trans.getInputMutable(), swapped(layoutOf(trans.getResult())));
    return success();
  }
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    require(expand.getInputMutable(),
            layoutOf(expand.getResult()).dropped(expand.getAxis()));
    return success();
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Distributed in = layoutOf(broadcast.getResult());
    for (auto [d, n] :
         llvm::enumerate(blockType(broadcast.getInput()).getShape()))
      if (n == 1 && blockType(broadcast.getResult()).getDimSize(d) != 1)
        in = in.projected(d);
    require(broadcast.getInputMutable(), in.withoutRegisterCopies());
    return success();
  }
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    Distributed out = layoutOf(reshape.getResult());
    if (auto in =
            out.reshaped(blockType(reshape.getInput()).getShape().vec())) {
      require(reshape.getInputMutable(), *in);
      return success();
    }
    // No digit may cross the new shape's borders, so try the other direction.
    // Where that fails too, as with 20x16 and 10x32, the reshape moves
    // elements.
    auto forward =
        layoutOf(reshape.getInput())
            .reshaped(blockType(reshape.getResult()).getShape().vec());
    if (!forward)
      return success();
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value r = reshape.getResult();
    r.setType(with(blockType(r), *forward));
    auto converted =
        ConvertLayoutOp::create(b, op->getLoc(), with(blockType(r), out), r);
    r.replaceAllUsesExcept(converted, converted);
    return success();
  }
  if (isa<JoinOp>(op)) {
    // Both operands in one layout make pairs of neighbouring registers, without
    // any move; so the result's layout follows from theirs.
    Distributed in = layoutOf(op->getOperand(0));
    requireAll(in);
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value r = op->getResult(0);
    Distributed wanted = layoutOf(r);
    if (wanted == in.joined())
      return success();
    r.setType(with(blockType(r), in.joined()));
    auto converted =
        ConvertLayoutOp::create(b, op->getLoc(), with(blockType(r), wanted), r);
    r.replaceAllUsesExcept(converted, converted);
    return success();
  }
  if (isa<tile::SplitOp>(op)) {
    // Both halves come from one set of registers, so they get one layout.
    require(op->getOpOperand(0), layoutOf(op->getResult(0)).joined());
    Distributed half = layoutOf(op->getResult(0));
    if (layoutOf(op->getResult(1)) != half) {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Value r = op->getResult(1);
      Distributed wanted = layoutOf(r);
      r.setType(with(blockType(r), half));
      auto converted = ConvertLayoutOp::create(b, op->getLoc(),
                                               with(blockType(r), wanted), r);
      r.replaceAllUsesExcept(converted, converted);
    }
    return success();
  }
  if (isa<StoreOp, AtomicAddOp>(op)) {
    if (isBlock(op->getOperand(0))) {
      auto type = blockType(op->getOperand(0));
      // Storing a fragment directly would take many small accesses: a thread
      // has at most two adjacent elements of a row.
      if (type.getRank() >= 2 && isa<StoreOp>(op) &&
          layoutOf(op->getOperand(0)).contiguous(type.getRank() - 1) *
                  type.getElementTypeBitWidth() <
              128)
        require(op->getOpOperand(0), defaultFor(type));
    }
    return requireIndices(op, isBlock(op->getOperand(0))
                                  ? std::optional(layoutOf(op->getOperand(0)))
                                  : std::nullopt);
  }
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (!isBlock(load.getResult()))
      return requireIndices(op, std::nullopt);
    // Where several warps need the same elements, each loads a part and gets
    // the rest from the others. In a loop the barriers cost more.
    Distributed wanted = layoutOf(load.getResult()),
                once = defaultFor(blockType(load.getResult()));
    if (once.copies().warps < wanted.copies().warps &&
        !load->getParentOfType<LoopLikeOpInterface>()) {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Value r = load.getResult();
      r.setType(with(blockType(r), once));
      auto converted = ConvertLayoutOp::create(b, op->getLoc(),
                                               with(blockType(r), wanted), r);
      r.replaceAllUsesExcept(converted, converted);
    }
    return requireIndices(op, layoutOf(load.getResult()));
  }
  if (isa<PrintOp>(op)) { // a printed line has the elements of one thread
    for (Value v : op->getOperands())
      if (isBlock(v)) {
        requireAll(layoutOf(v));
        break;
      }
    return success();
  }
  if (isElementwise(op) && op->getNumResults()) {
    if (isBlock(op->getResult(0)))
      requireAll(layoutOf(op->getResult(0)));
    return success();
  }
  return success();
}

/// Control flow passes blocks on in one layout: lowered to threads, it passes
/// registers on, and both ends must number them alike. The type of the loop's
/// or branch's result decides.
void handOn(Operation *op,
            llvm::function_ref<void(OpOperand &, Value)> require) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [i, init] : llvm::enumerate(loop.getInitArgsMutable()))
      require(init, loop.getResult(i));
    for (auto [i, yielded] :
         llvm::enumerate(loop.getBody()->getTerminator()->getOpOperands()))
      require(yielded, loop.getResult(i));
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [i, init] : llvm::enumerate(loop.getInitsMutable()))
      require(init, loop.getBeforeArguments()[i]);
    for (auto [i, yielded] :
         llvm::enumerate(loop.getYieldOp()->getOpOperands()))
      require(yielded, loop.getBeforeArguments()[i]);
    for (auto [i, left] :
         llvm::enumerate(loop.getConditionOp().getArgsMutable()))
      require(left, loop.getResult(i));
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    for (Region *r : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!r->empty())
        for (auto [i, yielded] :
             llvm::enumerate(r->front().getTerminator()->getOpOperands()))
          require(yielded, branch.getResult(i));
}

/// Writes the layouts into types, then makes every op consistent. `ops` is
/// listed first: the conversions that rewriting inserts are consistent already.
LogicalResult Assignment::rewrite() {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) { ops.push_back(op); });
  for (auto &[value, l] : layouts) {
    auto type = with(blockType(value), l);
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!elements || !elements.isSplat())
        return constant.emitOpError(
            "is a block of different constants; a kernel supports only splats");
      constant.setValueAttr(cast<TypedAttr>(elements.resizeSplat(type)));
    }
  }
  // A loop-carried value has the type of its result.
  for (Operation *op : ops) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [argument, result] :
           llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
        argument.setType(result.getType());
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      for (auto [argument, result] :
           llvm::zip(loop.getAfterArguments(), loop.getResults()))
        argument.setType(result.getType());
  }
  for (Operation *op : ops) {
    if (failed(rewriteOp(op)))
      return failure();
    handOn(op, [&](OpOperand &operand, Value as) {
      if (isBlock(operand.get()))
        require(operand, distributed(blockType(as)));
    });
  }
  return success();
}

LogicalResult Assignment::run() {
  findAccesses();
  if (failed(seedDots()) || failed(seedMemory()) || failed(seedRest()))
    return failure();
  return rewrite();
}

struct AssignLayouts : act::tile::impl::AssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    WalkResult walked =
        getOperation()->walk([&](gpu::GPUFuncOp kernel) -> WalkResult {
          if (!kernel.isKernel())
            return WalkResult::advance();
          bool done = succeeded(checkBlocks(kernel)) &&
                      succeeded(Assignment(kernel).run());
          return done ? WalkResult::advance() : WalkResult::interrupt();
        });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
