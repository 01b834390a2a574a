// SPDX-License-Identifier: Apache-2.0
//
// Upstream's SCF tiling tiles each root. This file chooses the roots, the ops
// that share a root's loop, and the producers that move into it.
//
//     %m = linalg.generic (max of a row)         scf.forall (%row)
//     %y = linalg.generic (exp(x - m))     ->      %m1 = .. of the row
//                                                  %y1 = .. of the row
//
// A producer that two loops read is computed in both.
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/groups-to-host/TileSizes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace act {
#define GEN_PASS_DEF_DISTRIBUTEHOSTBLOCKSPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

/// Sees through ops that only rename the same data.
Value underlying(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// slice(insert(source, dest)) where the slice takes part of dimensions that
/// the insertion covers whole: insert(slice(source), slice(dest)). One row of
/// two halves:
///
///     %y = insert_slice %half into %x[0, 0] [4096, 32]
///     %r = extract_slice %y[%i, 0] [1, 64]
///
///     %h = extract_slice %half[%i, 0] [1, 32]
///     %d = extract_slice %x[%i, 0] [1, 64]
///     %r = insert_slice %h into %d[0, 0] [1, 32]
LogicalResult sliceThroughInsert(RewriterBase &rewriter,
                                 tensor::ExtractSliceOp slice,
                                 tensor::InsertSliceOp insert) {
  if (insert.getSourceType().getRank() != insert.getDestType().getRank() ||
      !slice.hasUnitStride() || !insert.hasUnitStride() ||
      slice.getType().getRank() != slice.getSourceType().getRank())
    return failure();
  auto offsets = insert.getMixedOffsets(), sizes = insert.getMixedSizes();
  auto sliceOffsets = slice.getMixedOffsets(),
       sliceSizes = slice.getMixedSizes();
  ArrayRef<int64_t> shape = insert.getDestType().getShape();
  SmallVector<OpFoldResult> srcOffsets, srcSizes, dstOffsets, dstSizes;
  for (unsigned i = 0; i < shape.size(); ++i) {
    bool covered = isConstantIntValue(offsets[i], 0) &&
                   isConstantIntValue(sizes[i], shape[i]);
    bool whole = isConstantIntValue(sliceOffsets[i], 0) &&
                 isConstantIntValue(sliceSizes[i], shape[i]);
    if (!covered && !whole)
      return failure();
    srcOffsets.push_back(covered ? sliceOffsets[i] : rewriter.getIndexAttr(0));
    srcSizes.push_back(covered ? sliceSizes[i] : sizes[i]);
    dstOffsets.push_back(covered ? rewriter.getIndexAttr(0) : offsets[i]);
    dstSizes.push_back(srcSizes.back());
  }
  SmallVector<OpFoldResult> ones(shape.size(), rewriter.getIndexAttr(1));
  rewriter.setInsertionPoint(slice);
  Location loc = slice.getLoc();
  Value source = tensor::ExtractSliceOp::create(
      rewriter, loc, insert.getSource(), srcOffsets, srcSizes, ones);
  Value dest = tensor::ExtractSliceOp::create(rewriter, loc, insert.getDest(),
                                              sliceOffsets, sliceSizes, ones);
  rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
      slice, source, dest, dstOffsets, dstSizes, ones);
  return success();
}

class Distributor {
public:
  Distributor(func::FuncOp func) : func(func), rewriter(func.getContext()) {}

  LogicalResult run() {
    copyIndirectResults();
    sinkReshapes();
    SmallVector<int64_t> works;
    while (linalg::LinalgOp root = nextRoot())
      if (failed(distribute(root)))
        return failure();
    for (auto forall : func.getOps<scf::ForallOp>()) {
      int64_t work = 0;
      forall.walk([&](linalg::LinalgOp op) { work += act::workOf(op); });
      works.push_back(work);
    }
    func->setAttr(act::kWorkAttr, rewriter.getI64ArrayAttr(works));
    return success();
  }

private:
  Operation *terminator() { return func.getBody().front().getTerminator(); }

  /// A result assembled from slices gets a copy as its root, so that it has
  /// something to tile.
  void copyIndirectResults() {
    for (OpOperand &operand : terminator()->getOpOperands()) {
      Value value = underlying(operand.get());
      auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
      if (!insert ||
          insert.getSourceType().getRank() != insert.getType().getRank())
        continue;
      if (!isAssembled(insert))
        continue;
      rewriter.setInsertionPointAfter(insert);
      auto type = insert.getType();
      Value empty = tensor::EmptyOp::create(
          rewriter, insert.getLoc(), type.getShape(), type.getElementType());
      auto copy = linalg::CopyOp::create(rewriter, insert.getLoc(),
                                         ValueRange{value}, ValueRange{empty});
      auto generic = linalg::generalizeNamedOp(rewriter, copy);
      rewriter.replaceUsesWithIf(
          value, generic->getResult(0),
          [&](OpOperand &use) { return use.getOwner() != *generic; });
    }
  }

  /// Whether the chain of insertions starts from an undefined tensor and each
  /// covers the first dimension, so that rows can be made one by one.
  bool isAssembled(tensor::InsertSliceOp insert) {
    Value value = insert;
    while (auto link = value.getDefiningOp<tensor::InsertSliceOp>()) {
      if (!isConstantIntValue(link.getMixedOffsets()[0], 0) ||
          link.getSourceType().getDimSize(0) !=
              link.getDestType().getDimSize(0))
        return false;
      value = link.getDest();
    }
    return value.getDefiningOp<tensor::EmptyOp>() ||
           value.getDefiningOp<linalg::FillOp>();
  }

  /// Moves reshapes of results to the end: a loop may then be placed right
  /// before them, after all computation.
  void sinkReshapes() {
    SmallVector<Operation *> reshapes;
    for (Operation &op : func.getBody().front())
      if (isForResults(&op) && &op != terminator())
        reshapes.push_back(&op);
    for (Operation *op : reshapes)
      op->moveBefore(terminator());
  }

  /// The return, or a reshape that only leads there.
  bool isForResults(Operation *op) {
    if (op == terminator())
      return true;
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
               op) &&
           op->getBlock() == &func.getBody().front() &&
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return isForResults(user); });
  }

  SmallVector<linalg::LinalgOp> undoneRoots() {
    llvm::SetVector<Operation *> found;
    for (Value operand : terminator()->getOperands()) {
      auto op = underlying(operand).getDefiningOp<linalg::LinalgOp>();
      if (op && op->getBlock() == &func.getBody().front() && !done.contains(op))
        found.insert(op);
    }
    return llvm::map_to_vector(
        found, [](Operation *op) { return cast<linalg::LinalgOp>(op); });
  }

  /// The largest of the roots from which no other is computed. Roots on the way
  /// to another one are produced by that one's loop.
  linalg::LinalgOp nextRoot() {
    SmallVector<linalg::LinalgOp> roots = undoneRoots();
    llvm::SmallPtrSet<Operation *, 16> inner;
    for (linalg::LinalgOp root : roots) {
      SmallVector<Operation *> worklist{root};
      llvm::SmallPtrSet<Operation *, 16> seen;
      while (!worklist.empty())
        for (Value operand : worklist.pop_back_val()->getOperands())
          if (Operation *def = operand.getDefiningOp();
              def && seen.insert(def).second) {
            inner.insert(def);
            worklist.push_back(def);
          }
    }
    linalg::LinalgOp best;
    int64_t bestSize = 0;
    for (linalg::LinalgOp root : roots) {
      int64_t size = 1;
      auto ranges = root.getStaticLoopRanges();
      for (auto [range, type] : llvm::zip(ranges, root.getIteratorTypesArray()))
        if (type == utils::IteratorType::parallel)
          size *= range;
      if (!inner.contains(root) && size > bestSize)
        best = root, bestSize = size;
    }
    return best;
  }

  /// Where the results' reshapes begin.
  Operation *anchor() {
    for (Operation &op : func.getBody().front())
      if (isForResults(&op))
        return &op;
    return terminator();
  }

  /// Whether a value computed before `end` depends on `op`: a result without a
  /// loop of its own.
  bool isUsedBefore(Operation *op, Operation *end) {
    Block &body = func.getBody().front();
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *top = body.findAncestorOpInBlock(*user);
      return top && top->isBeforeInBlock(end);
    });
  }

  /// Tiles `root` into a loop, then pulls companions and producers into it.
  LogicalResult distribute(linalg::LinalgOp root) {
    done.insert(root);
    SmallVector<int64_t> sizes = act::chooseTileSizes(root);
    if (llvm::all_of(sizes, [](int64_t size) { return size == 0; }))
      return success(); // nothing to distribute
    SmallVector<Companion> companions;
    // At the anchor all operands of companions are available. A root that some
    // computation reads must stay before it, without companions.
    if (!isUsedBefore(root, anchor())) {
      companions = findCompanions(root, sizes);
      root->moveBefore(anchor());
    }
    SmallVector<OpFoldResult> tiles;
    for (int64_t size : sizes)
      tiles.push_back(rewriter.getIndexAttr(size));
    scf::SCFTilingOptions options;
    options.setTileSizes(tiles);
    options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    rewriter.setInsertionPoint(root);
    auto tiled = scf::tileUsingSCF(
        rewriter, cast<TilingInterface>(root.getOperation()), options);
    if (failed(tiled))
      return root->emitOpError("cannot be tiled for the host");
    loops = tiled->loops;
    rewriter.replaceOp(root, tiled->replacements);
    if (loops.empty())
      return success();
    // From the last: a companion that another is computed from is found as a
    // producer.
    llvm::sort(companions, [](const Companion &a, const Companion &b) {
      return b.op->isBeforeInBlock(a.op);
    });
    for (Companion &companion : companions)
      sliceCompanion(companion, sizes);
    return fuseProducers();
  }

  /// Another root tiled along with the loop: dims[d] is its own iteration
  /// dimension for the loop root's d.
  struct Companion {
    linalg::LinalgOp op;
    act::DimMap dims;
  };

  /// Roots that share values with `root` and iterate over all that is tiled, as
  /// log(sum) + max does with exp(x - max) / sum.
  SmallVector<Companion> findCompanions(linalg::LinalgOp root,
                                        ArrayRef<int64_t> sizes) {
    SmallVector<Companion> found;
    auto places = placesOf(root);
    SmallVector<int64_t> ranges = root.getStaticLoopRanges();
    for (linalg::LinalgOp other : undoneRoots()) {
      if (other == root || llvm::is_contained(backwardOf(root), other))
        continue;
      Companion companion{other, act::DimMap(sizes.size(), -1)};
      for (auto &[value, dims] : placesOf(other)) {
        auto mine = places.find(value);
        if (mine == places.end())
          continue;
        for (auto [own, theirs] : llvm::zip(mine->second, dims))
          if (own >= 0 && theirs >= 0 && companion.dims[own] < 0)
            companion.dims[own] = theirs;
      }
      SmallVector<int64_t> otherRanges = other.getStaticLoopRanges();
      auto iterators = other.getIteratorTypesArray();
      bool fits = true;
      for (unsigned d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 0 || sizes[d] >= ranges[d])
          continue;
        int64_t e = companion.dims[d];
        fits &= e >= 0 && otherRanges[e] == ranges[d] &&
                iterators[e] == utils::IteratorType::parallel;
      }
      if (fits)
        found.push_back(companion);
    }
    return found;
  }

  llvm::SmallVector<Operation *> backwardOf(Operation *op) {
    llvm::SetVector<Operation *> seen;
    seen.insert(op);
    for (unsigned i = 0; i < seen.size(); ++i)
      for (Value operand : seen[i]->getOperands())
        if (Operation *def = operand.getDefiningOp())
          seen.insert(def);
    return seen.takeVector();
  }

  /// For every value that a root is computed from: the root's dimension of
  /// each of the value's dimensions, -1 for none.
  llvm::DenseMap<Value, act::DimMap> placesOf(linalg::LinalgOp root) {
    llvm::DenseMap<Value, act::DimMap> places;
    act::Cone cone = act::collectCone(root);
    for (auto &[op, dims] : cone.members) {
      auto member = cast<linalg::LinalgOp>(op);
      for (OpOperand &operand : member->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type || operand.get().getDefiningOp<tensor::EmptyOp>() ||
            operand.get().getDefiningOp<linalg::FillOp>())
          continue;
        act::DimMap place(type.getRank(), -1);
        AffineMap map = member.getMatchingIndexingMap(&operand);
        for (unsigned i = 0; i < map.getNumResults(); ++i)
          for (auto [d, loop] : llvm::enumerate(dims))
            if (loop >= 0 &&
                map.getResult(i) == getAffineDimExpr(loop, root.getContext()))
              place[i] = d;
        places[operand.get()] = place;
      }
    }
    return places;
  }

  /// Extracts the companion's tile in the loop; fusing it as a producer then
  /// computes it there and returns the whole value.
  void sliceCompanion(Companion &companion, ArrayRef<int64_t> sizes) {
    bool sliced = llvm::any_of(companion.op->getUsers(), [&](Operation *user) {
      return loop()->isAncestor(user);
    });
    done.insert(companion.op);
    if (sliced)
      return;
    auto forall = cast<scf::ForallOp>(loop());
    SmallVector<int64_t> ranges = companion.op.getStaticLoopRanges();
    SmallVector<OpFoldResult> offsets(ranges.size(), rewriter.getIndexAttr(0)),
        extents = getAsIndexOpFoldResult(rewriter.getContext(), ranges);
    rewriter.setInsertionPoint(forall.getTerminator());
    unsigned iv = 0;
    for (unsigned d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0)
        continue;
      Value at = forall.getInductionVars()[iv++];
      int64_t e = companion.dims[d];
      if (e < 0)
        continue;
      offsets[e] = at;
      extents[e] = rewriter.getIndexAttr(sizes[d]);
      if (ranges[e] % sizes[d]) {
        AffineExpr x = rewriter.getAffineDimExpr(0);
        auto map =
            AffineMap::get(1, 0,
                           {rewriter.getAffineConstantExpr(ranges[e]) - x,
                            rewriter.getAffineConstantExpr(sizes[d])},
                           rewriter.getContext());
        extents[e] = affine::makeComposedFoldedAffineMin(
            rewriter, forall.getLoc(), map, {OpFoldResult(at)});
      }
    }
    Value result = companion.op->getResult(0);
    AffineMap map =
        companion.op.getIndexingMapMatchingResult(cast<OpResult>(result));
    SmallVector<OpFoldResult> sliceOffsets, sliceExtents;
    for (AffineExpr expr : map.getResults()) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      sliceOffsets.push_back(offsets[dim]);
      sliceExtents.push_back(extents[dim]);
    }
    SmallVector<OpFoldResult> ones(map.getNumResults(),
                                   rewriter.getIndexAttr(1));
    auto slice = tensor::ExtractSliceOp::create(
        rewriter, forall.getLoc(), result, sliceOffsets, sliceExtents, ones);
    if (!fuse(companion.op, {slice}))
      rewriter.eraseOp(slice);
  }

  Operation *loop() { return loops.front(); }

  /// Producers from the last to the first, so that all uses of one are slices
  /// in the loop by the time it is considered.
  LogicalResult fuseProducers() {
    llvm::SmallPtrSet<Operation *, 8> refused;
    while (true) {
      // Equal slices become one, so the producer is computed once for both.
      DominanceInfo dominance(func);
      eliminateCommonSubExpressions(rewriter, dominance, loop());
      Operation *latest = nullptr;
      SmallVector<tensor::ExtractSliceOp> slices;
      loop()->walk([&](tensor::ExtractSliceOp slice) {
        Operation *producer = producerOf(slice.getSource());
        if (!producer || loop()->isAncestor(producer) ||
            refused.contains(producer) ||
            !isa<linalg::LinalgOp, tensor::InsertSliceOp,
                 tensor::ExtractSliceOp, tensor::EmptyOp>(producer))
          return;
        if (!latest || latest->isBeforeInBlock(producer))
          latest = producer, slices.clear();
        if (latest == producer)
          slices.push_back(slice);
      });
      if (!latest)
        return success();
      if (!fuse(latest, slices))
        refused.insert(latest);
    }
  }

  /// The op that defines a slice's source, or the initial value if the source
  /// is a result.
  Operation *producerOf(Value source) {
    if (Operation *def = source.getDefiningOp())
      return def;
    auto forall = cast<scf::ForallOp>(loop());
    auto arg = cast<BlockArgument>(source);
    if (arg.getOwner() != forall.getBody() ||
        arg.getArgNumber() < forall.getRank())
      return nullptr;
    auto init =
        forall.getTiedOpOperand(arg)->get().getDefiningOp<linalg::LinalgOp>();
    return init && init->hasOneUse() ? init.getOperation() : nullptr;
  }

  bool fuse(Operation *producer, ArrayRef<tensor::ExtractSliceOp> slices) {
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(producer)) {
      for (tensor::ExtractSliceOp slice : slices)
        if (failed(sliceThroughInsert(rewriter, slice, insert)))
          return false;
      eraseDead(producer);
      return true;
    }
    if (isa<tensor::ExtractSliceOp>(producer))
      return false; // composes as views of memory
    if (isa<tensor::EmptyOp>(producer)) {
      for (tensor::ExtractSliceOp slice : slices) {
        rewriter.setInsertionPoint(slice);
        auto type = slice.getType();
        rewriter.replaceOpWithNewOp<tensor::EmptyOp>(slice, droppedSizes(slice),
                                                     type.getElementType());
      }
      return true;
    }
    // Only results leave the loop. Other uses outside belong to other loops,
    // which recompute the value.
    bool escapes = llvm::any_of(producer->getUsers(), [&](Operation *user) {
      return isForResults(user);
    });
    escapes = escapes && coversGrid(slices.front());
    bool isInit = llvm::is_contained(producer->getUsers(), loop());
    if (isInit && llvm::any_of(slices, [&](tensor::ExtractSliceOp slice) {
          return slice.getSource().getDefiningOp();
        }))
      return false;
    for (tensor::ExtractSliceOp slice : slices) {
      auto fused = scf::tileAndFuseProducerOfSlice(rewriter, slice, loops);
      if (!fused)
        return false;
      if (std::exchange(escapes, false)) {
        auto more = scf::yieldReplacementForFusedProducer(rewriter, slice,
                                                          *fused, loops);
        if (failed(more))
          return false;
        unsigned number = producer->getNumResults();
        auto results = loop()->getResults().take_back(number);
        for (auto [old, replacement] :
             llvm::zip(producer->getResults(), results))
          rewriter.replaceUsesWithIf(old, replacement, [&](OpOperand &use) {
            return isForResults(use.getOwner());
          });
      }
      if (slice->use_empty())
        rewriter.eraseOp(slice);
    }
    eraseDead(producer);
    return true;
  }

  SmallVector<OpFoldResult> droppedSizes(tensor::ExtractSliceOp slice) {
    SmallVector<OpFoldResult> sizes;
    auto dropped = slice.getDroppedDims();
    for (auto [i, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(i))
        sizes.push_back(size);
    return sizes;
  }

  /// Whether different iterations compute different slices, so that the slices
  /// together are the whole value, each computed once.
  bool coversGrid(tensor::ExtractSliceOp slice) {
    auto forall = cast<scf::ForallOp>(loop());
    llvm::SmallPtrSet<Value, 4> seen;
    SmallVector<Value> worklist(slice.getOffsets());
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      seen.insert(value);
      if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
        llvm::append_range(worklist, apply.getOperands());
    }
    auto trips =
        llvm::zip(forall.getInductionVars(), forall.getStaticLowerBound(),
                  forall.getStaticUpperBound(), forall.getStaticStep());
    return llvm::all_of(trips, [&](auto trip) {
      auto [iv, lower, upper, step] = trip;
      return seen.contains(iv) || upper - lower <= step;
    });
  }

  void eraseDead(Operation *op) {
    if (op->use_empty())
      rewriter.eraseOp(op);
  }

  func::FuncOp func;
  IRRewriter rewriter;
  SmallVector<LoopLikeOpInterface> loops;
  llvm::SmallPtrSet<Operation *, 4> done;
};

struct DistributeHostBlocks
    : act::impl::DistributeHostBlocksPassBase<DistributeHostBlocks> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(act::checkTensorKernel(func)) ||
          failed(Distributor(func).run()))
        return signalPassFailure();
  }
};

} // namespace
