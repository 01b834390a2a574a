// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/groups-to-host/ContractionMatch.h"
#include "passes/groups-to-host/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace act {
#define GEN_PASS_DEF_DISTRIBUTEHOSTBLOCKSPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

/// Sees through what only names the same data differently.
Value underlying(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// For a producer: which of its iteration dimensions each dimension of the
/// root is, when it is the same one along every path; -1 otherwise.
using DimMap = SmallVector<int64_t>;

struct Cone {
  llvm::MapVector<Operation *, DimMap> members; // in order of discovery
};

/// Everything that the root is computed from, with the root's dimensions
/// followed through indexing maps.
Cone collectCone(linalg::LinalgOp root) {
  Cone cone;
  DimMap identity;
  for (unsigned d = 0; d < root.getNumLoops(); ++d)
    identity.push_back(d);
  SmallVector<Operation *> worklist{root};
  cone.members[root] = identity;
  while (!worklist.empty()) {
    auto consumer = cast<linalg::LinalgOp>(worklist.pop_back_val());
    DimMap consumerDims = cone.members[consumer];
    for (OpOperand &operand : consumer->getOpOperands()) {
      auto producer = operand.get().getDefiningOp<linalg::LinalgOp>();
      if (!producer || isa<linalg::FillOp>(producer))
        continue;
      AffineMap use = consumer.getMatchingIndexingMap(&operand);
      AffineMap def =
          producer.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
      DimMap dims(identity.size(), -1);
      for (auto [r, loop] : llvm::enumerate(consumerDims)) {
        if (loop < 0)
          continue;
        for (unsigned i = 0; i < use.getNumResults(); ++i)
          if (auto expr = dyn_cast<AffineDimExpr>(use.getResult(i));
              expr && expr.getPosition() == loop)
            if (auto own = dyn_cast<AffineDimExpr>(def.getResult(i)))
              dims[r] = own.getPosition();
      }
      auto found = cone.members.find(producer);
      if (found != cone.members.end()) {
        bool changed = false;
        for (auto [mine, other] : llvm::zip(found->second, dims))
          if (mine != other && mine >= 0)
            mine = -1, changed = true;
        if (!changed)
          continue;
      } else {
        cone.members[producer] = dims;
      }
      worklist.push_back(producer);
    }
  }
  return cone;
}

int64_t iterations(linalg::LinalgOp op) {
  int64_t count = 1;
  for (int64_t size : op.getStaticLoopRanges())
    count *= ShapedType::isDynamic(size) ? 64 : std::max<int64_t>(size, 1);
  return count;
}

/// A rough count of element operations, so that blocks are worth their call.
int64_t workOf(linalg::LinalgOp op) {
  int64_t each = 1;
  for (Operation &inner : op.getBlock()->without_terminator())
    each += inner.getName().getDialectNamespace() == "math" ? 16 : 1;
  return act::matchContraction(op) ? iterations(op) / 8 + 1
                                   : iterations(op) * each;
}

/// Largest divisor of `size` that is at most `limit`.
int64_t divisorUpTo(int64_t size, int64_t limit) {
  for (int64_t d = std::min(size, limit); d > 1; --d)
    if (size % d == 0)
      return d;
  return 1;
}

/// A tile length for one dimension of a matrix product: a divisor when a good
/// one exists, otherwise a multiple of `unit` with a shorter last tile.
int64_t productTile(int64_t size, int64_t wanted, int64_t unit) {
  if (size <= wanted)
    return size;
  int64_t divisor = divisorUpTo(size, wanted);
  if (divisor * 2 > wanted && divisor % unit == 0)
    return divisor;
  int64_t pieces = llvm::divideCeil(size, wanted);
  return llvm::divideCeil(llvm::divideCeil(size, pieces), unit) * unit;
}

class TileSizes {
public:
  TileSizes(linalg::LinalgOp root) : root(root), cone(collectCone(root)) {
    sizes.assign(root.getNumLoops(), 0);
    ranges = llvm::to_vector(root.getStaticLoopRanges());
  }

  SmallVector<int64_t> choose() {
    auto iterators = root.getIteratorTypesArray();
    for (unsigned d = 0; d < sizes.size(); ++d)
      if (iterators[d] == utils::IteratorType::parallel && keepsWork(d))
        allowed.push_back(d);
    for (auto &[op, dims] : cone.members)
      if (auto product = act::matchContraction(cast<linalg::LinalgOp>(op))) {
        tileProduct(cast<linalg::LinalgOp>(op), *product, dims);
        return sizes;
      }
    tileRows();
    return sizes;
  }

private:
  /// Tiling dimension d must not repeat a reduction: each reducing producer
  /// has to be tiled along with it.
  bool keepsWork(unsigned d) {
    for (auto &[op, dims] : cone.members)
      if (dims[d] < 0 && cast<linalg::LinalgOp>(op).getNumReductionLoops() &&
          iterations(cast<linalg::LinalgOp>(op)) > 1)
        if (!act::matchContraction(cast<linalg::LinalgOp>(op)) ||
            cone.members.size() > 1)
          return false;
    return true;
  }

  void tileProduct(linalg::LinalgOp op, const act::Contraction &product,
                   const DimMap &dims) {
    auto rootDim = [&](unsigned loop) -> int64_t {
      for (unsigned d : allowed)
        if (dims[d] == int64_t(loop))
          return d;
      return -1;
    };
    int64_t m = rootDim(product.m.back()), n = rootDim(product.n.back());
    int64_t blocks = 1;
    for (unsigned d : allowed)
      if (int64_t(d) != m && int64_t(d) != n) {
        // A dimension of the result that is not the innermost of its kind:
        // one at a time. N's outer dimensions stay whole when they are small.
        sizes[d] = 1;
        blocks *= ranges[d];
      }
    int64_t tileM = 256, tileN = 256;
    auto count = [&] {
      int64_t total = blocks;
      if (m >= 0)
        total *= llvm::divideCeil(ranges[m], productTile(ranges[m], tileM, 8));
      if (n >= 0)
        total *= llvm::divideCeil(ranges[n], productTile(ranges[n], tileN, 32));
      return total;
    };
    while (count() < 16 && (tileM > 64 || tileN > 64)) {
      bool halveM = tileM >= tileN && tileM > 64;
      (halveM ? tileM : tileN) /= 2;
      if (m < 0 && tileN <= 64)
        break;
    }
    if (m >= 0)
      sizes[m] = productTile(ranges[m], tileM, 8);
    if (n >= 0)
      sizes[n] = productTile(ranges[n], tileN, 32);
  }

  /// Leading dimensions by one, as long as what remains of a tile is worth a
  /// loop; the innermost in runs when the operation is elementwise.
  void tileRows() {
    constexpr int64_t wanted = 2048;
    if (allowed.empty())
      return;
    int64_t total = 1;
    for (auto &[op, dims] : cone.members)
      total = std::max(total, iterations(cast<linalg::LinalgOp>(op)));
    for (unsigned i = 0; i < allowed.size(); ++i) {
      unsigned d = allowed[i];
      bool last = d + 1 == sizes.size() || i + 1 == allowed.size();
      if (!last || !isInnermost(d)) {
        int64_t inner =
            std::max<int64_t>(total / std::max<int64_t>(ranges[d], 1), 1);
        sizes[d] =
            inner >= wanted / 4
                ? 1
                : divisorUpTo(ranges[d], llvm::divideCeil(wanted, inner));
        total = inner * sizes[d];
        if (sizes[d] > 1)
          return;
        continue;
      }
      if (root.getNumReductionLoops() || cone.members.size() > 1) {
        // Columns of a reduction over rows: whole vectors.
        sizes[d] = ranges[d] > 64 ? 64 : ranges[d];
        if (ranges[d] > 64 && ranges[d] < 512)
          sizes[d] = 32;
      } else if (total > 4 * wanted) {
        sizes[d] = 2 * wanted;
      }
    }
  }

  /// The dimension along which the result is contiguous.
  bool isInnermost(unsigned d) {
    AffineMap map = root.getIndexingMapsArray().back();
    if (!map.getNumResults())
      return false;
    return map.getResult(map.getNumResults() - 1) ==
           getAffineDimExpr(d, root.getContext());
  }

  linalg::LinalgOp root;
  Cone cone;
  SmallVector<int64_t> sizes, ranges;
  SmallVector<unsigned> allowed;
};

/// slice(insert(source, dest)) where the slice takes part of dimensions that
/// the insertion covers whole: insert(slice(source), slice(dest)).
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
    SmallVector<int64_t> works;
    while (linalg::LinalgOp root = nextRoot()) {
      done.insert(root);
      if (failed(distribute(root)))
        return failure();
    }
    for (auto forall : func.getOps<scf::ForallOp>()) {
      int64_t work = 0;
      forall.walk([&](linalg::LinalgOp op) { work += workOf(op); });
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

  linalg::LinalgOp nextRoot() {
    linalg::LinalgOp last;
    for (Value operand : terminator()->getOperands()) {
      auto op = underlying(operand).getDefiningOp<linalg::LinalgOp>();
      if (op && op->getBlock() == &func.getBody().front() &&
          !done.contains(op) && (!last || last->isBeforeInBlock(op)))
        last = op;
    }
    return last;
  }

  LogicalResult distribute(linalg::LinalgOp root) {
    SmallVector<int64_t> sizes = TileSizes(root).choose();
    if (llvm::all_of(sizes, [](int64_t size) { return size == 0; })) {
      // Nothing to share out: one iteration, so that producers are fused and
      // buffers are placed as elsewhere.
      return success();
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
    return fuseProducers();
  }

  Operation *loop() { return loops.front(); }

  /// Producers from the last to the first, so that all uses of one are slices
  /// in the loop by the time it is considered.
  LogicalResult fuseProducers() {
    llvm::SmallPtrSet<Operation *, 8> refused;
    while (true) {
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

  /// What defines a slice's source, or the initial value of the result that
  /// the source is.
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
    bool escapes = llvm::any_of(producer->getUsers(), [&](Operation *user) {
      return !loop()->isAncestor(user) && user != loop();
    });
    bool isInit = llvm::is_contained(producer->getUsers(), loop());
    if (isInit && llvm::any_of(slices, [&](tensor::ExtractSliceOp slice) {
          return slice.getSource().getDefiningOp();
        }))
      return false;
    if (escapes && (slices.size() != 1 || !coversGrid(slices.front())))
      return false;
    for (tensor::ExtractSliceOp slice : slices) {
      auto fused = scf::tileAndFuseProducerOfSlice(rewriter, slice, loops);
      if (!fused)
        return false;
      if (escapes) {
        auto more = scf::yieldReplacementForFusedProducer(rewriter, slice,
                                                          *fused, loops);
        if (failed(more))
          return false;
        unsigned number = producer->getNumResults();
        auto results = loop()->getResults().take_back(number);
        for (auto [old, replacement] :
             llvm::zip(producer->getResults(), results))
          rewriter.replaceUsesWithIf(old, replacement, [&](OpOperand &use) {
            return !loop()->isAncestor(use.getOwner());
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
      if (failed(Distributor(func).run()))
        return signalPassFailure();
  }
};

} // namespace
