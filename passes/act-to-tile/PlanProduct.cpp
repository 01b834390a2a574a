// SPDX-License-Identifier: Apache-2.0
// Grids of kernels that have a sum of products.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/PlanAttention.h"
#include "passes/act-to-tile/PlanKernels.h"
#include "passes/act-to-tile/SharedEstimate.h"
#include "passes/act-to-tile/SumOrder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// Programs that run at once on a large card, one per multiprocessor.
constexpr int64_t atOnce = 128;

/// A block's extent: at most `most`, and no larger than the dimension rounded
/// up.
int64_t block(int64_t size, int64_t most, int64_t unit) {
  return std::min<int64_t>(most, llvm::alignTo(size, unit));
}

/// The root's elements combine several parts of the product's rows: rows of
/// whole heads. A program then takes one part after the other.
/// Warp groups share twice as many columns, where enough programs remain.
bool planParts(KernelGrid &grid, const ProductShape &p, bool inGroups) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t own = shape[p.columns], width = p.digits.width;
  if (width == own || width % own || width % 16)
    return false;
  int outer = p.digits.outer;
  for (int d = 0; d < int(shape.size()); ++d)
    if (shape[d] == width / own && !llvm::is_contained(p.along, d))
      grid.inTurn = d;
  if (grid.inTurn < 0)
    return false;
  int64_t heads = outer < 0 ? 1 : shape[outer], others = heads * width;
  for (int d = 0; d < int(shape.size()); ++d)
    if (d != p.rows && d != p.columns && d != outer && d != grid.inTurn)
      others *= shape[d];
  int64_t rows = shape[p.rows];
  bool large = llvm::divideCeil(rows, 128) * others >= 64 * 128;
  int64_t most = large ? 128 : 64,
          wide = inGroups && int64_t(llvm::divideCeil(rows, most)) * others >=
                                 2 * most * atOnce
                     ? 2 * most
                     : most;
  grid.blocks[p.columns] = own;
  if (outer >= 0)
    grid.blocks[outer] = std::clamp<int64_t>(wide / width, 1, heads);
  int64_t columns = width * (outer < 0 ? 1 : grid.blocks[outer]);
  grid.blocks[p.rows] =
      block(rows, columns <= std::max<int64_t>(wide, 128) ? most : 64, 64);
  grid.warps = large ? 8 : 4;
  return true;
}

/// Whether little follows a product: at most one tensor of its size is read
/// or stored besides, and only sums and scalings are computed, none on its
/// operands. Then 4 warps have registers for blocks of 128 x 128, 128 per
/// thread. Each warp loads half of the blocks for a quarter of the result, and
/// two programs share a multiprocessor: one computes while the other waits. On
/// an H200 this is 1.35 times as fast as 8 warps.
bool isNearlyPlain(Value root, ValueRange results) {
  llvm::SmallPtrSet<Value, 4> others;
  bool computes = false;
  int64_t size = cast<RankedTensorType>(root.getType()).getNumElements();
  for (Value v : results) {
    visitBehind(unshaped(v), [&](linalg::GenericOp op, const Dims &) {
      if (factorsOf(op)) {
        computes |= !llvm::all_of(op.getDpsInputs(), argumentBehind);
        return false;
      }
      computes |=
          drawsNumbers(op) || llvm::any_of(*op.getBody(), [](Operation &o) {
            return isa_and_present<math::MathDialect>(o.getDialect());
          });
      for (Value input : op.getDpsInputs())
        if (auto type = dyn_cast<RankedTensorType>(input.getType());
            type && type.getNumElements() == size)
          if (Value argument = argumentBehind(input))
            others.insert(argument);
      return true;
    });
  }
  return !computes && others.size() + results.size() <= 2;
}

/// Registers that a thread needs for each pair of a sum's elements beside it:
/// for the tensors of its size that are read, all at once.
int64_t registersBeside(Value root, ValueRange results) {
  llvm::SmallPtrSet<Value, 4> read;
  int64_t size = cast<RankedTensorType>(root.getType()).getNumElements(),
          bytes = 0;
  for (Value v : results)
    visitBehind(unshaped(v), [&](linalg::GenericOp op, const Dims &) {
      if (factorsOf(op))
        return false;
      for (Value input : op.getDpsInputs()) {
        auto type = dyn_cast<RankedTensorType>(input.getType());
        Value argument = type && type.getNumElements() == size
                             ? argumentBehind(input)
                             : Value();
        if (argument && read.insert(argument).second)
          bytes += llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      }
      return true;
    });
  return llvm::divideCeil(2 * bytes, 4);
}

class Product {
public:
  Product(KernelGrid grid, const ProductShape &p, const KernelResults &results,
          const PlanOptions &options, Dice &dice)
      : grid(std::move(grid)), p(p), results(results), options(options),
        dice(dice), isOrdered(p.computed || sumsProducts(results.stored)) {}
  KernelGrid plan();

private:
  bool fits(const KernelGrid &g) const {
    return sharedEstimate(g, results) <= options.sharedBytes;
  }
  bool fitsAlone(const KernelGrid &g) const {
    return sharedEstimate(g, results, /*whole=*/false) <=
           options.target->limits.sharedBytesPerBlock;
  }
  bool isForGroups() const;
  KernelGrid withGroups(KernelGrid g) const;
  void planWide(int64_t others);
  KernelGrid planSides();
  KernelGrid planBlocks();
  KernelGrid planComputed();
  SmallVector<KernelGrid> sameBits(const KernelGrid &planned,
                                   const SumOrder *order) const;

  KernelGrid grid;
  const ProductShape &p;
  const KernelResults &results;
  const PlanOptions &options;
  Dice &dice;
  /// Whether bits depend on the blocks of rows and columns.
  const bool isOrdered;
};

/// Three cases:
///
/// - rows of whole heads, one part after the other (planParts);
/// - a product with a computed operand, such as attention: all columns in one
///   program, or the operand would be computed once per block of columns;
/// - any other: square blocks, of 64 if 128 would give too few programs to fill
///   the card.
KernelGrid Product::plan() {
  // The same number of bytes and registers for every type.
  if (p.isWide)
    grid.step /= 2;
  if (!p.hasSides())
    return planSides();
  if (!p.computed && planParts(grid, p, isForGroups()))
    return planBlocks();
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  int64_t rows = shape[p.rows], columns = shape[p.columns];
  if (p.computed && columns <= 512)
    return planComputed();
  int64_t others = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if (int(d) != p.rows && int(d) != p.columns)
      others *= shape[d];
  constexpr int64_t together = 8; // programs
  bool large =
      others * llvm::divideCeil(rows, 128) * llvm::divideCeil(columns, 128) >=
      64;
  int64_t most = large ? 128 : 64;
  grid.blocks[p.rows] = block(rows, most, 64);
  grid.blocks[p.columns] = block(columns, most, 16);
  grid.warps = large && (p.isWide || isOrdered ||
                         !isNearlyPlain(grid.root, results.stored))
                   ? 8
                   : 4;
  if (isForGroups() && !p.computed)
    planWide(others);
  // 128 concurrent programs in one row read blocks of 1 row and 128 columns; in
  // 8 rows they read those of 8 and 16, a fifth as much.
  if (p.columns == int(shape.size()) - 1 && grid.programs() > atOnce &&
      grid.rowsTogether == 1)
    grid.rowsTogether = together;
  return planBlocks();
}

/// The blocks of a product for warp groups: those of the nearest one in the
/// target's table. What is far from all of these has 256 columns, as a group
/// reads b for all of its rows, or 192 where more is read beside the sum; 128
/// if that would leave too few programs.
void Product::planWide(int64_t others) {
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  const int64_t rows = shape[p.rows], columns = shape[p.columns],
                beside = registersBeside(grid.root, results.stored);
  const int64_t sum = longestSum(nearestProducts(results.stored));
  if (const ProductSchedule *found =
          options.schedules ? options.schedules->nearest(ProductSize{
                                  rows * others, columns, sum, beside})
                            : nullptr) {
    // A smaller product takes less, with as many groups as can share it.
    grid.blocks[p.rows] = block(rows, found->blockRows, 64);
    grid.blocks[p.columns] = block(columns, found->blockColumns, 16);
    grid.groups = found->groups;
    grid.cluster = found->cluster;
    grid.a = found->a;
    while (grid.blocks[p.rows] % (grid.groups * ScheduleAttr::groupRows))
      --grid.groups;
    if (!ScheduleTable::hasRegisters(grid.blocks[p.rows],
                                     grid.blocks[p.columns], grid.groups))
      grid.blocks[p.rows] = grid.groups * ScheduleAttr::groupRows;
    if (p.columns == int(shape.size()) - 1)
      grid.rowsTogether = found->together;
    return;
  }
  // Of each column a thread has half a row, in pairs.
  constexpr int64_t registers = 216;
  for (int64_t wide : {256, 192})
    if (wide / 4 * (2 + beside) <= registers &&
        others * llvm::divideCeil(rows, 128) *
                llvm::divideCeil(columns, wide) >=
            atOnce) {
      grid.blocks[p.columns] = block(columns, wide, 16);
      return;
    }
}

/// Whether an operand says by comparisons which rows are added up, as in the
/// gradient of an embedding. Most of its blocks are empty and skipped, so such
/// a sum takes memory's time, which several programs on a multiprocessor hide
/// better than one of warp groups.
bool isIndicator(Value operand) {
  auto op = unshaped(operand).getDefiningOp<linalg::GenericOp>();
  return op && llvm::any_of(*op.getBody(), llvm::IsaPred<arith::CmpIOp>);
}

/// Whether warp groups multiply (wgmma). It is a matter of the products alone:
/// they have the same bits in every kernel.
bool Product::isForGroups() const {
  if (!options.target->features.wgmma || !p.hasSides())
    return false;
  return llvm::all_of(nearestProducts(results.stored), [&](Value v) {
    auto op = v.getDefiningOp<linalg::GenericOp>();
    if (!op || !p.computed)
      return op && llvm::all_of(op.getDpsInputs(), isHalf) &&
             llvm::none_of(op.getDpsInputs(), isIndicator);
    // A computed operand is rounded to the other one's type.
    return llvm::any_of(op.getDpsInputs(), isHalf) &&
           llvm::all_of(nearestProducts(op.getDpsInputs()), [](Value inner) {
             auto op = inner.getDefiningOp<linalg::GenericOp>();
             return op && llvm::all_of(op.getDpsInputs(), isHalf) &&
                    longestSum(inner) <= innerDepth;
           });
  });
}

/// The same blocks for groups, one for each 64 rows unless planned otherwise,
/// with as many stages as there
/// is room for. The copying warp's ring stays while results are stored: each
/// warp has 4 KiB for that.
KernelGrid Product::withGroups(KernelGrid g) const {
  constexpr int64_t mostStages = 4;
  if (!isForGroups() || p.computed ||
      g.blocks[p.rows] % ScheduleAttr::groupRows)
    return g;
  const int64_t rows = g.blocks[p.rows];
  g.takeGroups(p.rows, g.groups ? g.groups : rows / ScheduleAttr::groupRows);
  g.blocks[p.rows] = rows;
  for (g.stages = mostStages; g.stages > 1; --g.stages)
    if (fits(g))
      break;
  // Programs that do not all run at once.
  g.persistent = dice ? dice(2) : g.programs() > atOnce;
  if (dice)
    g.cluster = int64_t(1) << dice(3);
  return g;
}

/// A product that is summed up: the side that remains, or none.
KernelGrid Product::planSides() {
  const int side = std::max(p.rows, p.columns);
  if (side >= 0)
    grid.blocks[side] = block(shapeOf(grid.root)[side], 64, 16);
  return planComputed();
}

/// As many rows as there is room for. The order of the sum is that of k, so
/// what is fused to the product may take room from its rows. Not so where
/// products are summed up or are operands.
KernelGrid Product::planBlocks() {
  for (const BlockLimit &limit : blockLimits()) {
    KernelGrid g = grid;
    g.blocks[p.rows] = std::min(g.blocks[p.rows], limit.rows);
    g.stages = limit.stages;
    g.warps = std::min(g.warps, limit.warps);
    g.unit = unitOf(g, p);
    const bool isLast = &limit == &blockLimits().back();
    if (!isLast && !(isOrdered ? fitsAlone(g) : fits(g)))
      continue;
    grid = g;
    break;
  }
  if (isOrdered && !fits(grid))
    grid.stages = 1;
  if (isOrdered || !dice)
    return withGroups(grid);
  // For tests: any other.
  SmallVector<KernelGrid> others = sameBits(grid, nullptr);
  llvm::erase_if(others, [&](const KernelGrid &g) { return !fits(g); });
  if (!others.empty())
    grid = others[dice(others.size())];
  if (p.columns == int(shapeOf(grid.root).size()) - 1)
    grid.rowsTogether = int64_t(1) << dice(4);
  return withGroups(grid);
}

/// Products that depend on each other.
KernelGrid Product::planComputed() {
  if (p.hasSides()) {
    // The operands' cost is paid once per row.
    ArrayRef<int64_t> shape = shapeOf(grid.root);
    int64_t width = llvm::alignTo(shape[p.columns], 16);
    grid.blocks[p.columns] = width;
    grid.blocks[p.rows] = block(shape[p.rows], width <= 128 ? 128 : 64, 64);
    grid.warps = width <= 64 || grid.blocks[p.rows] <= 64 ? 4 : 8;
  }
  grid.inGroups = isForGroups();
  PlanAlone alone = planAlone(grid, p, results, options);
  auto fitting = [&](SmallVector<KernelGrid> grids) {
    llvm::erase_if(grids, [&](const KernelGrid &g) { return !fits(g); });
    return grids;
  };
  SmallVector<KernelGrid> good;
  if (auto listed =
          dice ? std::nullopt
               : asListed(alone.grids.back(), p, results, options.schedules))
    if (listed->inGroups || alone.order.isOf(*listed, p.rows))
      good = fitting({*listed});
  if (good.empty() && !dice && isAlone(results))
    good = fitting(alone.grids);
  const SmallVector<KernelGrid> others =
      sameBits(alone.grids.back(), &alone.order);
  if (good.empty())
    good = fitting(others);
  if (!good.empty())
    return good[dice ? dice(good.size()) : 0];
  // Nothing fits by the estimate: the least.
  KernelGrid least = alone.grids.back();
  for (const KernelGrid &g : others)
    if (sharedEstimate(g, results) < sharedEstimate(least, results))
      least = g;
  return least;
}

/// Grids that give the same bits as `planned`, the largest first. With an order
/// the columns stay whole.
SmallVector<KernelGrid> Product::sameBits(const KernelGrid &planned,
                                          const SumOrder *order) const {
  SmallVector<KernelGrid> all;
  if (!p.hasSides()) {
    // Nothing is cut but the sum.
    KernelGrid g = planned;
    g.stages = 1;
    all.push_back(g);
    return all;
  }
  ArrayRef<int64_t> shape = shapeOf(grid.root);
  // Not larger than planned, which the registers were asked for; in tests also
  // larger, but with room for a thread's sums.
  auto isWithin = [&](int64_t extent, int dim) {
    int64_t most = planned.blocks[dim];
    return extent <=
           (dice ? std::max<int64_t>(llvm::alignTo(shape[dim], 16), most)
                 : most);
  };
  auto ofThread = [&](const KernelGrid &g) {
    return g.blocks[p.rows] * g.blocks[p.columns] / (32 * g.warps);
  };
  int64_t most = ofThread(planned);
  if (dice)
    most = std::max(most, options.target->limits.registersPerThread / 2);
  const bool isCut = !order && planned.inTurn < 0;
  // A product whose operand is another one, such as LoRA's: that one has as few
  // columns as 16.
  const bool readsProduct =
      isCut && llvm::any_of(nearestProducts(results.stored), [](Value v) {
        auto own = anyProductBehind(v);
        return own && own->computed;
      });
  SmallVector<int64_t> widths{planned.blocks[p.columns]};
  if (isCut)
    widths = {128, 64, 32, 16};
  if (planned.inGroups) {
    auto add = [&](KernelGrid g, int64_t groups, int64_t stages) {
      g.takeGroups(p.rows, groups);
      g.stages = stages;
      if (!order || !order->rows || order->isOf(g, p.rows))
        all.push_back(g);
    };
    const int64_t mostGroups = planned.blocks[p.rows] / ScheduleAttr::groupRows;
    for (int64_t stages : {2, 1})
      for (int64_t groups = mostGroups; groups; --groups)
        add(planned, groups, stages);
    if (!dice)
      return all;
    // What a table may say besides.
    for (int64_t groups = mostGroups; groups; --groups) {
      add(planned, groups, 3);
      KernelGrid g = planned;
      g.stores = g.turns = false;
      add(g, groups, 2);
      g.rotated = false;
      add(g, groups, 2);
      for (FirstOperand a : {FirstOperand::Registers, FirstOperand::Shared}) {
        g.a = a;
        add(g, groups, 2);
      }
      g.a = FirstOperand::WhereItIs;
      g.persistent = results.added.empty();
      add(g, groups, 2);
      g = planned;
      g.persistent = results.added.empty();
      add(g, groups, 2);
    }
    return all;
  }
  for (int64_t stages : {2, 1, 3})
    for (int64_t rows : {128, 64, 32, 16})
      for (int64_t columns : widths)
        for (int64_t warps : {4, 8, 2, 1}) {
          KernelGrid g = planned;
          g.blocks[p.rows] = rows;
          g.blocks[p.columns] = columns;
          g.warps = warps;
          g.stages = stages;
          if (!isWithin(rows, p.rows) || !isWithin(columns, p.columns) ||
              ofThread(g) > most || !canShare(rows, columns, warps) ||
              (readsProduct && !canShare(rows, 16, warps)))
            continue;
          // Programs that wait for turns should not take much longer.
          if (order && order->rows && 2 * warps < planned.warps)
            continue;
          if (order &&
              (!order->isOf(g, p.rows) || !canShare(rows, g.step, warps) ||
               !canShare(g.step, rows, warps) ||
               !canShare(g.step, columns, warps)))
            continue;
          all.push_back(g);
          if (dice && stages == 1 && order && results.added.empty()) {
            g.early = true;
            all.push_back(g);
          }
        }
  return all;
}

} // namespace

/// Whether fragments are fetched an iteration ahead, where registers allow and
/// no table says so or not. By bench/stalls.py, tensor cores are then busy for
/// 79 % of the time in place of 74 % in products (sm_80).
static bool fetchesAhead(const KernelGrid &grid, const ProductShape &p,
                         const KernelResults &results, Dice &dice) {
  if (grid.inGroups)
    return false;
  if (dice)
    return dice(2);
  const ProductFacts facts = factsOf(nearestProducts(results.stored));
  return results.added.empty() && !p.isWide && !facts.draws && !facts.read &&
         !facts.windowed;
}

KernelGrid act::tile::planProduct(KernelGrid grid, const ProductShape &p,
                                  const KernelResults &results,
                                  const PlanOptions &options, Dice &dice) {
  KernelGrid planned =
      Product(std::move(grid), p, results, options, dice).plan();
  if (!planned.isListed)
    planned.ahead = fetchesAhead(planned, p, results, dice);
  planned.sharedBytes = sharedEstimate(planned, results);
  return planned;
}
