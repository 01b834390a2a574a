// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/SharedEstimate.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/act-to-tile/Behind.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// The argument that a tensor is, or the part of one; null if it is computed.
Value memoryOf(Value v) {
  v = unshaped(v);
  if (auto slice = v.getDefiningOp<tensor::ExtractSliceOp>())
    return memoryOf(slice.getSource()) ? v : Value();
  return argumentBehind(v);
}

int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

/// Follows the products behind the results, as BlockEvaluator does. The loops
/// of a product that are along none of the root's dimensions get numbers from
/// the root's rank on:
///
///   out = p v    loops (b, s, h, e, keys)    dims (0, 1, 2, 3, 4): 4 is new
///   p = q k      loops (b, h, s, keys, d)    dims (0, 2, 1, 4, 5)
class Estimate {
public:
  Estimate(const KernelGrid &grid, const KernelResults &results, bool whole)
      : grid(grid), results(results), whole(whole) {
    for (int64_t n : grid.blocks)
      axes.push_back({n, false});
    // Rows of whole heads: the products of all parts are in one loop.
    if (auto p = productBehind(grid.root); p && grid.inTurn >= 0)
      axes[p->columns].extent =
          p->digits.width *
          (p->digits.outer < 0 ? 1 : grid.blocks[p->digits.outer]);
  }
  int64_t run();

private:
  /// A block's extent along a dimension, and whether a loop goes along it.
  struct Along {
    int64_t extent;
    bool inLoop, isNested = false;
    bool isTwice = false; // the loop has two iterations, inside another one
  };
  struct Operand {
    int64_t bytes = 0;
    bool inLoop = false, isNested = false; // in a loop, or in one inside that
    bool isInner = false; // of a product that another one reads
    bool isTwice = false; // both iterations are in one body
    llvm::SmallPtrSet<Operation *, 2> readers;
  };
  int number(int64_t extent, bool inLoop, bool isNested = false) {
    axes.push_back({extent, inLoop, inLoop && isNested});
    return axes.size() - 1;
  }
  int64_t elements(ArrayRef<int> dims) const {
    int64_t n = 1;
    for (int d : dims)
      n *= d < 0 ? 1 : axes[d].extent;
    return n;
  }
  /// Whether one of the dimensions has this property.
  bool any(ArrayRef<int> dims, bool Along::*has) const {
    return llvm::any_of(dims, [&](int d) { return d >= 0 && axes[d].*has; });
  }
  bool inLoop(ArrayRef<int> dims) const { return any(dims, &Along::inLoop); }
  /// The dimensions along which a block is longer than one.
  SmallVector<int> wide(ArrayRef<int> dims) const {
    SmallVector<int> out;
    llvm::copy_if(dims, std::back_inserter(out),
                  [&](int d) { return d >= 0 && axes[d].extent > 1; });
    return out;
  }
  bool visit(linalg::GenericOp op, Dims &loops);
  void addOperands(linalg::GenericOp op, ArrayRef<int> loops, int depth,
                   bool isInner);
  void addBeside(linalg::GenericOp op, ArrayRef<int> loops);
  void follow(Value result);
  void followAdded(Value result);
  int64_t atEnd() const;

  const KernelGrid &grid;
  const KernelResults &results;
  const bool whole;
  SmallVector<Along> axes;
  llvm::DenseMap<Value, Dims> seen;
  // By memory and bytes, and by value.
  llvm::MapVector<std::pair<Value, int64_t>, Operand> loaded;
  llvm::MapVector<Value, int64_t> exchanged;
  int64_t added = 0;  // of what a warp adds to memory at a time
  bool draws = false; // random numbers between products
  /// Whether the loop over blocks is inside another one, over the heads that
  /// share keys.
  bool isRepeated = false;
};

bool Estimate::visit(linalg::GenericOp op, Dims &loops) {
  const bool isProduct = factorsOf(op).has_value();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<unsigned> order;
  op.getReductionDims(order);
  llvm::erase_if(order, [&](unsigned d) { return loops[d] >= 0; });
  SmallVector<unsigned> blocks;
  for (unsigned d = 0; d < loops.size(); ++d)
    if (isProduct && loops[d] >= 0 && axes[loops[d]].extent > 1)
      blocks.push_back(d);
  order = inOrder(op, order, blocks);
  const bool inner = inLoop(loops);
  // A sum that leaves no block takes two of its dimensions as blocks.
  const bool isWhole =
      llvm::all_of(loops, [&](int d) { return d < 0 || axes[d].extent == 1; });
  for (size_t i = 0; i < order.size(); ++i) {
    const unsigned d = order[i];
    int64_t padded = llvm::alignTo(ranges[d], 16);
    bool isBlock =
        d == order.back() || (!isProduct && isWhole && i + 2 == order.size());
    // A product inside a loop takes all of its own sum at once, if it is short.
    int64_t step = !isBlock ? 1
                   : isProduct && inner && padded <= innerDepth
                       ? padded
                       : std::min(grid.step, padded);
    loops[d] = number(step, ranges[d] > step, inner);
    axes.back().isTwice =
        isBlock && inLoop(loops) && llvm::divideCeil(ranges[d], step) == 2 &&
        llvm::any_of(order,
                     [&](unsigned o) { return o != d && ranges[o] > 1; });
  }
  for (auto [d, range] : llvm::enumerate(ranges))
    if (loops[d] < 0)
      loops[d] = number(range == 1 ? 1 : llvm::alignTo(range, 16), false);
  draws |= drawsNumbers(op) && hasProduct(op.getResult(0));
  isRepeated |= isProduct && !inner && order.size() > 1 &&
                llvm::any_of(ArrayRef(order).drop_back(),
                             [&](unsigned d) { return ranges[d] > 1; });
  if (isProduct)
    addOperands(op, loops, order.empty() ? -1 : loops[order.back()], inner);
  else
    addBeside(op, loops);
  return true;
}

void Estimate::addOperands(linalg::GenericOp op, ArrayRef<int> loops, int depth,
                           bool isInner) {
  SmallVector<OpOperand *> inputs = inputsAlong(op);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    Dims dims = throughMap(op.getMatchingIndexingMap(input), loops);
    Type element = getElementTypeOrSelf(input->get().getType()),
         other = getElementTypeOrSelf(inputs[1 - i]->get().getType());
    int64_t bytes = elements(dims) * bytesOf(element);
    // Blocks of three dimensions are multiplied without tensor cores.
    const SmallVector<int> along = wide(dims);
    if (along.size() > 2)
      continue;
    Value memory = memoryOf(input->get());
    if (!memory && !whole && !hasProduct(input->get()))
      memory = input->get(); // alone it would be loaded
    if (memory) {
      Operand &o = loaded[{memory, bytes}];
      o.bytes = bytes;
      o.inLoop |= inLoop(dims);
      o.isInner |= isInner;
      o.isTwice |= any(dims, &Along::isTwice);
      o.isNested |= any(dims, &Along::isNested);
      o.readers.insert(op);
      continue;
    }
    // Rounded to match a 16-bit tensor.
    if (element.isF32() && other.getIntOrFloatBitWidth() == 16)
      bytes /= 2;
    // Rows of a product that one warp holds stay where they are, if they are
    // the next one's too.
    bool isRows = along.size() == 2 && along.back() == depth;
    if (isRows && grid.a != FirstOperand::Shared &&
        columnWarps(axes[along.front()].extent, grid.warps) == 1)
      continue;
    int64_t &most = exchanged[input->get()];
    most = std::max(most, bytes);
  }
}

/// Tensors as large as the product, such as a bias or a mask: they are loaded
/// in another layout than the product's.
void Estimate::addBeside(linalg::GenericOp op, ArrayRef<int> loops) {
  if (!inLoop(loops) || !hasProduct(op.getResult(0)))
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<RankedTensorType>(input->get().getType()))
      continue;
    Value memory = memoryOf(input->get());
    Dims dims = throughMap(op.getMatchingIndexingMap(input), loops);
    if (!memory || wide(dims).size() < 2)
      continue;
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(input->get()));
    int64_t &most = exchanged[memory];
    most =
        std::max<int64_t>(most, elements(dims) * (isFloat ? sizeof(float) : 1));
  }
}

void Estimate::follow(Value result) {
  Value u = unshaped(result);
  Dims dims = identity(u);
  if (u != grid.root) {
    auto own = dimensionsOf(u, grid);
    if (failed(own))
      return;
    dims.assign(own->begin(), own->end());
    for (auto [d, size] : llvm::zip(dims, shapeOf(u)))
      if (d < 0)
        d = number(size == 1 ? 1 : llvm::alignTo(size, 16), false);
  }
  visitBehind(u, dims, seen, [&](linalg::GenericOp op, Dims &loops) {
    return visit(op, loops);
  });
}

/// Added in turns, for some rows at a time.
void Estimate::followAdded(Value result) {
  auto op = unshaped(result).getDefiningOp<linalg::GenericOp>();
  if (!op || !factorsOf(op))
    return;
  Dims loops = loopsAlong(op, grid);
  AffineMap first = op.getIndexingMapsArray()[0];
  SmallVector<unsigned> summed;
  op.getReductionDims(summed);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int longest = -1;
  for (int d = 0; d < int(ranges.size()); ++d)
    if (loops[d] < 0 && first.isFunctionOfDim(d) &&
        (longest < 0 || ranges[d] >= ranges[longest]))
      longest = d;
  int64_t rows =
      longest < 0
          ? 16
          : std::min<int64_t>(grid.step, llvm::alignTo(ranges[longest], 16));
  int depth = -1;
  for (auto [d, range] : llvm::enumerate(ranges)) {
    if (loops[d] < 0 && first.isFunctionOfDim(d)) {
      int64_t step = int(d) == longest ? rows : 1;
      loops[d] = number(step, range > step);
    } else if (loops[d] < 0) {
      loops[d] =
          number(range == 1 ? 1 : grid.columnsOfProduct(rows, range), false);
    }
    if (llvm::is_contained(summed, d))
      depth = loops[d];
  }
  addOperands(op, loops, depth, /*isInner=*/false);
  if (grid.stores)
    added += elements(throughMap(
                 op.getMatchingIndexingMap(op.getDpsInitOperand(0)), loops)) *
             sizeof(float);
}

int64_t Estimate::run() {
  for (Value v : results.stored)
    follow(v);
  for (Value v : results.added)
    followAdded(v);
  int64_t held = 0, ring = 0, nested = 0, moved = 0;
  // With one stage, operands of inner products make room for those of outer
  // ones; what several products read stays.
  int64_t together = 0, outer = 0, inner = 0;
  for (auto &[key, o] : loaded) {
    if (!o.inLoop) {
      held += o.bytes;
      continue;
    }
    (o.isNested ? nested : ring) += o.bytes * (o.isTwice ? 2 : 1);
    if (o.readers.size() > 1)
      together += o.bytes;
    else if (o.isInner)
      inner = std::max(inner, o.bytes);
    else // of products that are not fused, where the loop is repeated
      outer = isRepeated ? std::max(outer, o.bytes) : outer + o.bytes;
  }
  int64_t largest = 0;
  for (auto &[value, bytes] : exchanged) {
    moved += bytes;
    largest = std::max(largest, bytes);
  }
  // Random numbers keep the exchanges of one stage apart, so they share a
  // place where operands stay. Otherwise 32-bit blocks may be exchanged twice,
  // as they are and transposed. The order of sums cannot be taken back when
  // that is known.
  if (auto p = productBehind(grid.root); draws && together && grid.stages == 1)
    moved = largest;
  else if (!whole && p && p->isWide)
    moved += largest;
  if (grid.inGroups) {
    // What stays in the loop is copied for the next program meanwhile.
    if (grid.persistent)
      ring += std::exchange(held, 0);
    return grid.stages * (ring + nested + added) +
           std::max(held + moved, grid.besideRing);
  }
  int64_t inLoop =
      held + (grid.stages > 1 || grid.early
                  ? grid.stages * ring + std::max(grid.stages * nested, moved)
                  : together + std::max(outer, inner) + moved);
  return std::max(inLoop, atEnd());
}

/// What follows the products: all results are put into the layout of memory
/// together. Products alone would be stored in the type of their operands.
int64_t Estimate::atEnd() const {
  int64_t bytes = 0, block = 1;
  for (int64_t n : grid.blocks)
    block *= n;
  const auto root = cast<RankedTensorType>(grid.root.getType());
  auto add = [&](Value u, int64_t each) {
    auto type = cast<RankedTensorType>(u.getType());
    int64_t n = block;
    if (grid.inTurn >= 0) { // all parts, in the products' type
      bytes += n * root.getDimSize(grid.inTurn) * sizeof(float);
      return;
    }
    if (type.getNumElements() != root.getNumElements())
      if (auto dims = dimensionsOf(u, grid); succeeded(dims)) {
        n = 1;
        for (auto [d, size] : llvm::zip(*dims, type.getShape()))
          n *= d < 0 ? size : grid.blocks[d];
      }
    bytes += n * each;
  };
  if (whole) {
    for (Value v : results.stored)
      if (Value u = unshaped(v); hasProduct(u))
        add(u, bytesOf(getElementTypeOrSelf(u)));
    return bytes;
  }
  // Attention stores its output or its gradients. It does not store scores,
  // which are the nearest product of its statistics.
  const auto product = productBehind(grid.root);
  for (Value v : nearestProducts(results.stored))
    if (auto own = anyProductBehind(v);
        product && own && own->computed == product->computed)
      add(v, product->isWide ? 4 : 2);
  return bytes;
}

} // namespace

int64_t act::tile::sharedEstimate(const KernelGrid &grid,
                                  const KernelResults &results, bool whole) {
  return Estimate(grid, results, whole).run();
}
