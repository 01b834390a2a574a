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
//
// Both steps follow the ops' own rules (`hasOneLayout`, LayoutOpInterface). The
// pass itself knows dots, accesses to memory and control flow.
#include "act/Layout/Blocked.h"
#include "dialects/tile/Divisor.h"
#include "passes/tile/CarriedBlocks.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Layouts.h"
#include "passes/tile/Passes.h"
#include <deque>
#include <map>
#include <numeric>
#include <set>

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
/// not pass a layout on from one reader to another. Such are constants, splats
/// and iotas.
bool isFree(Operation *op) {
  return op && op->getNumRegions() == 0 && isPure(op) &&
         llvm::none_of(op->getOperands(), isBlock);
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
  LogicalResult rewrite();
  void rewriteOp(Operation *op);
  void rewriteByRules(LayoutOpInterface op);
  void rewriteAccess(BlockAccessOpInterface access);
  Value as(Value v, const Distributed &l, OpBuilder &b);
  void require(OpOperand &operand, const Distributed &l);
  void requireAll(Operation *op, const Distributed &l);
  void requireIndices(BlockAccessOpInterface access,
                      std::optional<Distributed> block);
  void make(Value result, const Distributed &made, OpBuilder &b);
  void findAccesses();
  Distributed defaultFor(RankedTensorType type, bool isLoad = false) const;

  gpu::GPUFuncOp kernel;
  int64_t warps;
  bool hasGroups = false; ///< whether warp groups multiply (wgmma)
  llvm::DenseMap<Value, Distributed> layouts;
  /// What all accesses to blocks of one shape share.
  struct Accesses {
    int64_t bytes = 1;  // of the widest element
    int64_t beside = 0; // adjacent elements that all take at once; 0: any
  };
  std::map<std::vector<int64_t>, Accesses> accesses;
  /// Loads that sums are computed from, and the shapes of their blocks.
  llvm::SmallPtrSet<Operation *, 8> summed;
  std::set<std::vector<int64_t>> decided;
  std::deque<Value> work;
};

/// Whether a value without a layout may take the one that reaches it. A load of
/// rank two or more waits for a layout chosen for memory access: in a
/// fragment's layout a thread reads two adjacent elements at most, so a wide
/// load and a conversion are cheaper.
///
/// Not so beside sums of warp groups, whose operands leave no shared memory for
/// as large a block: four threads read 8 adjacent elements, of f32 whole
/// sectors, and all of their loads are under way at once.
bool Assignment::mayTake(Value v) const {
  auto load = dyn_cast_or_null<LoadOp>(v.getDefiningOp());
  return !load || blockType(v).getRank() < 2 ||
         (hasGroups && !load->getParentOfType<LoopLikeOpInterface>());
}

/// Sets `v`'s layout unless it has one: the first to reach a value wins.
void Assignment::give(Value v, const Distributed &l) {
  if (layouts.try_emplace(v, l).second)
    work.push_back(v);
  if (Operation *op = v.getDefiningOp();
      op && op->getNumResults() > 1 && hasOneLayout(op))
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
  auto toAll = [&](Operation *op) {
    for (Value o : op->getOperands())
      if (!isFree(o.getDefiningOp()))
        offer(o, l);
    for (Value r : op->getResults())
      offer(r, l);
  };
  if (Operation *op = v.getDefiningOp()) {
    if (hasOneLayout(op) && !isFree(op))
      toAll(op);
    else if (auto rules = dyn_cast<LayoutOpInterface>(op))
      for (OpOperand &o : op->getOpOperands())
        if (rules.takesSuggestion(o))
          if (auto in = rules.operandLayout(o, l))
            offer(o.get(), *in);
  }
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (hasOneLayout(op))
      toAll(op);
    else if (auto rules = dyn_cast<LayoutOpInterface>(op)) {
      if (rules.operandsDecide())
        for (OpOperand &o : op->getOpOperands())
          if (rules.takesSuggestion(o))
            offer(o.get(), l);
      if (auto out = rules.resultLayout(use, l))
        for (Value r : op->getResults())
          offer(r, *out);
    }
  }
}

/// Tensor cores leave no choice, so dots come first. All accumulators have
/// their layout before any spreads, so none gets another dot's layout by way of
/// the ops between them.
LogicalResult Assignment::seedDots() {
  WalkResult walked = kernel.walk([&](DotOp dot) -> WalkResult {
    auto dealt = accumulatorOf(dot, warps);
    if (!dealt)
      return dot.emitOpError()
             << "has an accumulator of " << dot.getType().getDimSize(0) << "x"
             << dot.getType().getDimSize(1) << ", which " << warps
             << " warps cannot share; expected R x C warps, where 16 R divides "
                "the rows and 8 C the columns";
    auto &acc = *dealt;
    if (!acc)
      return dot.emitOpError() << acc.error().message;
    for (OpOperand *factor : {&dot.getAMutable(), &dot.getBMutable()})
      if (auto l = dot.factorLayout(*factor, *acc); !l)
        return dot.emitOpError() << l.error().message;
    give(dot.getResult(), *acc);
    hasGroups |= isWgmma(dot);
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
  // Among them, what sums are computed from decides.
  auto key = [&](LoadOp load) {
    return std::pair(blockType(load).getRank(), summed.contains(load));
  };
  llvm::stable_sort(loads, [&](LoadOp x, LoadOp y) { return key(x) > key(y); });
  for (LoadOp load : loads) {
    give(load.getResult(), defaultFor(blockType(load), /*isLoad=*/true));
    spread();
  }
  kernel.walk([&](BlockAccessOpInterface access) {
    Value v = access.getAccessed();
    if (v && isBlock(v)) {
      give(v, defaultFor(blockType(v)));
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

/// The loads that sums are computed from.
llvm::SmallPtrSet<Operation *, 8> loadsOfSums(gpu::GPUFuncOp kernel) {
  SetVector<Operation *> behind;
  kernel.walk([&](ReduceOp op) { behind.insert(op); });
  llvm::SmallPtrSet<Operation *, 8> loads;
  for (size_t i = 0; i < behind.size(); ++i) {
    if (isa<LoadOp>(behind[i]))
      loads.insert(behind[i]);
    for (Value v : behind[i]->getOperands())
      if (Operation *op = v.getDefiningOp(); op && isBlock(v))
        behind.insert(op);
  }
  return loads;
}

/// Blocks computed element by element share one layout, chosen by the widest
/// type: with 8 bf16 elements in a row, a thread would need two accesses for 8
/// of f32, each using half of every sector. Operands of dots are loaded
/// differently. Where rows are unaligned and a thread reads its 8 elements one
/// by one, it takes 8 times the sectors; there neighbouring elements go to
/// neighbouring threads.
///
/// The layout is the order of a row's sum. So where rows are summed, only what
/// they are computed from counts, and not what else is fused to the sum.
void Assignment::findAccesses() {
  bool hasDots = kernel.walk([](DotOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
  if (!hasDots)
    summed = loadsOfSums(kernel);
  for (Operation *load : summed)
    decided.insert(blockType(load->getResult(0)).getShape().vec());
  kernel.walk([&](BlockAccessOpInterface op) {
    Value v = op.getAccessed();
    if (!v || !isBlock(v) ||
        (decided.count(blockType(v).getShape().vec()) && !summed.contains(op)))
      return;
    Accesses &all = accesses[blockType(v).getShape().vec()];
    if (!hasDots)
      all.bytes = std::max<int64_t>(all.bytes,
                                    blockType(v).getElementTypeBitWidth() / 8);
    all.beside = std::gcd(all.beside, elementsBeside(op));
  });
}

/// The layout for access to global memory. Loads of one shape agree on it
/// (`accesses`), so no conversion is needed between a load, elementwise ops and
/// a store.
Distributed Assignment::defaultFor(RankedTensorType type, bool isLoad) const {
  std::vector<int64_t> shape = type.getShape().vec();
  int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  int64_t beside = 0;
  if (auto it = accesses.find(shape); it != accesses.end()) {
    bytes = isLoad && decided.count(shape) ? it->second.bytes
                                           : std::max(bytes, it->second.bytes);
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
  // So is a cast of such a value.
  if (auto cast = v.getDefiningOp<CastOpInterface>();
      cast && isBlock(cast->getOperand(0)) &&
      isFree(cast->getOperand(0).getDefiningOp())) {
    IRMapping map;
    map.map(cast->getOperand(0), as(cast->getOperand(0), l, b));
    Operation *again = b.clone(*cast, map);
    again->getResult(0).setType(type);
    return again->getResult(0);
  }
  return ConvertLayoutOp::create(b, v.getLoc(), type, v);
}

void Assignment::require(OpOperand &operand, const Distributed &l) {
  OpBuilder b(operand.getOwner());
  operand.set(as(operand.get(), l, b));
}

void Assignment::requireAll(Operation *op, const Distributed &l) {
  for (OpOperand &o : op->getOpOperands())
    if (isBlock(o.get()))
      require(o, l);
}

/// An index block is laid out like the block's elements of its row: the thread
/// that accesses a row then holds the row's index.
void Assignment::requireIndices(BlockAccessOpInterface access,
                                std::optional<Distributed> block) {
  if (access.getIndices().empty())
    return;
  unsigned first = access.getIndices().getBeginOperandIndex(), at = 0;
  for (auto [d, extent] : llvm::enumerate(access.getExtents())) {
    OpOperand &index = access->getOpOperand(first + d);
    if (isBlock(index.get())) {
      Distributed rows = *block;
      for (unsigned other = rows.rank(); other-- > 0;)
        if (other != at)
          rows = rows.dropped(other);
      require(index, rows.withoutRegisterCopies());
    }
    at += extent >= 0;
  }
}

/// The op makes its result in the layout `made`. Its readers get the layout
/// that the result has had so far, by a conversion.
void Assignment::make(Value result, const Distributed &made, OpBuilder &b) {
  if (!isBlock(result) || distributed(blockType(result)) == made)
    return;
  Type wanted = result.getType();
  result.setType(with(blockType(result), made));
  auto converted = ConvertLayoutOp::create(b, result.getLoc(), wanted, result);
  result.replaceAllUsesExcept(converted, converted);
}

/// Makes the blocks of an op agree.
void Assignment::rewriteOp(Operation *op) {
  if (auto access = dyn_cast<BlockAccessOpInterface>(op))
    rewriteAccess(access);
  else if (auto rules = dyn_cast<LayoutOpInterface>(op))
    rewriteByRules(rules);
  else if (hasOneLayout(op) && op->getNumResults() && isBlock(op->getResult(0)))
    requireAll(op, distributed(blockType(op->getResult(0))));
}

void Assignment::rewriteByRules(LayoutOpInterface op) {
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  auto layoutOf = [&](Value v) { return distributed(blockType(v)); };
  if (op.operandsDecide()) {
    for (OpOperand &first : op->getOpOperands())
      if (isBlock(first.get())) {
        Distributed l = layoutOf(first.get());
        requireAll(op, l);
        if (auto made = op.resultLayout(first, l))
          for (Value r : op->getResults())
            make(r, *made, after);
        return;
      }
    return;
  }
  Value result = op->getResult(0);
  Distributed wanted = layoutOf(result);
  for (OpOperand &o : op->getOpOperands())
    if (auto in = op.operandLayout(o, wanted))
      require(o, *in);
    else if (auto out = op.resultLayout(o, layoutOf(o.get())))
      make(result, *out, after);
  for (Value r : llvm::drop_begin(op->getResults()))
    make(r, wanted, after);
}

void Assignment::rewriteAccess(BlockAccessOpInterface access) {
  Value v = access.getAccessed();
  if (!v || !isBlock(v))
    return requireIndices(access, std::nullopt);
  auto type = blockType(v);
  Distributed l = distributed(type), wide = defaultFor(type);
  // Where several warps need the same elements, each loads a part and gets the
  // rest from the others. In a loop the barriers cost more.
  if (isa<LoadOp>(access) && wide.copies().warps < l.copies().warps &&
      !access->getParentOfType<LoopLikeOpInterface>()) {
    OpBuilder after(access->getContext());
    after.setInsertionPointAfter(access);
    make(v, wide, after);
  }
  // Storing a fragment directly would take many small accesses: a thread has at
  // most two adjacent elements of a row. Four threads that store whole sectors
  // spare what shared memory a block would take.
  const int64_t bits = type.getElementTypeBitWidth();
  if (isa<StoreOp>(access) && type.getRank() >= 2 &&
      l.contiguous(type.getRank() - 1) * bits <
          (hasGroups && bits >= 32 ? 64 : 128))
    require(access->getOpOperand(0), wide);
  requireIndices(access, distributed(blockType(access.getAccessed())));
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
  for (Operation *op : ops)
    retypeArguments(op);
  for (Operation *op : ops) {
    rewriteOp(op);
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
