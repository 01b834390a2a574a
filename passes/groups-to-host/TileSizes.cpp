// SPDX-License-Identifier: Apache-2.0
#include "passes/groups-to-host/TileSizes.h"
#include "passes/groups-to-host/ContractionMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using act::Cone;
using act::DimMap;

// A producer that is reached on two paths keeps a dimension only if both agree
// on it. What changes is visited again, since its own producers may change too.
Cone act::collectCone(linalg::LinalgOp root) {
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

static int64_t iterations(linalg::LinalgOp op) {
  int64_t count = 1;
  for (int64_t size : op.getStaticLoopRanges())
    count *= ShapedType::isDynamic(size) ? 64 : std::max<int64_t>(size, 1);
  return count;
}

// A product's multiply-adds run in vectors out of registers, so they count
// less.
int64_t act::workOf(linalg::LinalgOp op) {
  int64_t each = 1;
  for (Operation &inner : op.getBlock()->without_terminator())
    each += inner.getName().getDialectNamespace() == "math" ? 16 : 1;
  return act::matchContraction(op) ? iterations(op) / 8 + 1
                                   : iterations(op) * each;
}

namespace {

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
  TileSizes(linalg::LinalgOp root) : root(root), cone(act::collectCone(root)) {
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
  /// must be tiled along with it.
  bool keepsWork(unsigned d) {
    for (auto &[op, dims] : cone.members)
      if (dims[d] < 0 && cast<linalg::LinalgOp>(op).getNumReductionLoops() &&
          iterations(cast<linalg::LinalgOp>(op)) > 1)
        if (!act::matchContraction(cast<linalg::LinalgOp>(op)) ||
            cone.members.size() > 1)
          return false;
    return true;
  }

  /// If a product is anywhere in the cone, its M and N decide: it has most of
  /// the work. Each tile is packed and multiplied by itself.
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
    // Large tiles read their operands less often; below 16 tiles there would be
    // too few blocks for the threads.
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
      if (isReadAcross(d)) {
        // Both directions long enough for squares and whole cache lines.
        int64_t divisor = divisorUpTo(ranges[d], 64);
        sizes[d] = std::min<int64_t>(divisor >= 16 ? divisor : 32, ranges[d]);
        total = std::max<int64_t>(total / std::max<int64_t>(ranges[d], 1), 1) *
                sizes[d];
        continue;
      }
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

  /// A dimension along which an operand is contiguous, but not the result.
  bool isReadAcross(unsigned d) {
    if (root.getNumReductionLoops() || isInnermost(d))
      return false;
    return llvm::any_of(root.getDpsInputOperands(), [&](OpOperand *input) {
      AffineMap map = root.getMatchingIndexingMap(input);
      return map.getNumResults() > 1 &&
             map.getResults().back() == getAffineDimExpr(d, root.getContext());
    });
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

} // namespace

SmallVector<int64_t> act::chooseTileSizes(linalg::LinalgOp root) {
  return TileSizes(root).choose();
}
