// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/SumOrder.h"
#include "passes/act-to-tile/BlockEvaluator.h"
#include "passes/act-to-tile/SharedEstimate.h"

using namespace mlir;
using namespace act::tile;

bool SumOrder::isOf(const KernelGrid &grid, int dim) const {
  const int64_t own = grid.blocks[dim];
  return grid.step == step && ::columnWarps(own, grid.warps) == columnWarps &&
         (rows == 0 || rows == own);
}

ArrayRef<BlockLimit> act::tile::blockLimits() {
  constexpr int64_t any = INT64_MAX;
  static constexpr BlockLimit limits[] = {
      {any, any, 2, any}, {128, 64, 1, 8}, {64, 64, 1, 4}, {64, 32, 1, 4},
      {32, 32, 1, 4},     {32, 16, 1, 2},  {16, 16, 1, 1}};
  return limits;
}

ProductFacts act::tile::factsOf(ValueRange results) {
  ProductFacts facts;
  llvm::SmallPtrSet<Operation *, 8> products;
  llvm::SmallPtrSet<Value, 2> read;
  auto addRead = [&](linalg::GenericOp op) {
    auto matrixOf = [](Value v) { return shapeOf(v).take_back(2); };
    for (Value input : op.getDpsInputs())
      if (isa<RankedTensorType>(input.getType()))
        if (Value argument = argumentBehind(input);
            argument && matrixOf(input) == matrixOf(op.getResult(0)))
          read.insert(argument);
  };
  for (Value v : results) {
    Value u = unshaped(v);
    visitBehind(u, [&](linalg::GenericOp op, const Dims &) {
      if (factorsOf(op)) {
        products.insert(op);
      } else if (anyProductBehind(op.getResult(0))) {
        addRead(op);
        facts.draws |= drawsNumbers(op);
        facts.compares |= !op.getBody()->getOps<linalg::IndexOp>().empty() &&
                          !op.getBody()->getOps<arith::CmpIOp>().empty();
      }
      facts.windowed |= windowOf(op).has_value();
      return true;
    });
    auto own = anyProductBehind(u);
    facts.kept += own && own->computed;
  }
  facts.products = products.size();
  facts.read = read.size();
  return facts;
}

/// `grid` within a limit, with as many rows, warps and columns of a step as the
/// registers allow.
///
/// - The results' products count and, block by block, the products that they
///   depend on. A product added to memory needs its values once.
/// - Wide operands are held in registers too.
/// - Random numbers take most of the instructions, and a thread works on
///   several at once. Kernels that draw them are faster with fewer rows, which
///   costs loads, than with too few registers or with columns that exist only
///   because warps share a product.
/// - A windowed sum needs two bounds per row; a bias or a mask is one more
///   block.
///
/// What is beside them and not counted, `beside`, is what ptxas was seen to
/// need; 0 is by the facts.
static KernelGrid fitRegisters(KernelGrid grid, const ProductShape &p,
                               int64_t added, const ProductFacts &facts,
                               const BlockLimit &limit,
                               const act::Target &target, int64_t beside = 0) {
  const int dim = std::max(p.rows, p.columns);
  if (const int cut = p.hasSides() ? p.rows : dim; cut >= 0)
    grid.blocks[cut] = std::min(grid.blocks[cut], limit.rows);
  grid.step = std::min(grid.step, limit.step);
  grid.stages = limit.stages;
  grid.warps = std::min(grid.warps, limit.warps);
  if (!p.hasSides())
    return grid;
  const int64_t registers = target.limits.registersPerThread;
  const int64_t mostDrawn = 32;
  if (!beside)
    beside = p.isWide ? 155 : facts.draws ? 105 : 90;
  int64_t most = registers - beside;
  const int64_t inner = facts.products - facts.kept;
  const int64_t columns = grid.blocks[p.columns];
  const int64_t warps = grid.warps, step = grid.step;
  const int64_t rows = grid.blocks[p.rows];
  auto choose = [&](int64_t r, int64_t fewest, bool unpadded) {
    for (int64_t w = fewest; w <= std::max<int64_t>(warps, 8); w *= 2)
      for (int64_t s : {step, std::max<int64_t>(step / 2, 16)}) {
        if (unpadded && added && !canShare(s, columns, w))
          continue;
        int64_t made = r * inner * s, drawn = facts.draws ? made : 0,
                adds = columns * added * s;
        int64_t all = r * (facts.kept * columns + facts.read * s) +
                      std::max(made, adds) + adds / 4 + drawn;
        if (!canShare(r, columns, w) || !canShare(r, s, w) ||
            all > most * 32 * w || drawn > mostDrawn * 32 * w)
          continue;
        grid.blocks[p.rows] = r;
        grid.warps = w;
        grid.step = s;
        return true;
      }
    return false;
  };
  if (facts.windowed) {
    const int64_t otherwise =
        std::exchange(most, registers - (p.isWide ? 195 : 145));
    if (choose(rows, warps, true))
      return grid;
    most = std::min<int64_t>(otherwise, registers - 105);
  }
  if (choose(rows, warps, true))
    return grid;
  bool padded = choose(rows, warps, false);
  bool fewer = facts.draws || facts.windowed || p.isWide || facts.read;
  if (rows > 64 && padded && choose(64, std::min<int64_t>(warps, 4), true))
    return grid;
  if (padded || (rows > 64 && fewer && choose(64, warps, false)))
    return grid;
  // Nothing fits: minimise the excess.
  for (int64_t w = 8; w > warps; w /= 2)
    if (canShare(rows, columns, w) && canShare(rows, step, w)) {
      grid.warps = w;
      break;
    }
  return grid;
}

bool act::tile::haveRegisters(const KernelGrid &grid, const ProductShape &p,
                              const ProductFacts &facts, int64_t added,
                              int64_t operands) {
  const int64_t groups = grid.warps / ScheduleAttr::groupWarps,
                inner = facts.products - facts.kept, step = grid.step,
                columns = grid.blocks[p.columns],
                scores = (inner + facts.read) * step / 2,
                rounded = inner * step / 4,
                part = added * step * columns /
                       (2 * ScheduleAttr::groupRows * groups),
                // What is left for addresses and rows, and for random numbers.
      beside = facts.draws ? 88
               : added     ? 16
                           : 32;
  const int64_t held =
      facts.kept * columns / 2 + operands +
      (added ? std::max(scores + step / 4, rounded + part)
             : scores + (grid.rotated ? rounded : rounded / 2));
  const int64_t most = GroupRegisters(groups, added > 0).compute;
  return held + beside <= (most ? most : 255);
}

/// The same for groups of warps, 64 rows each: the longest steps that two
/// groups, or three, have registers and shared memory for, else one; nothing
/// where there are none. Sums that leave out numbers have no such instruction,
/// and random numbers leave no registers for two products. A step that divides
/// the sum, of `length` numbers, leaves no rest to treat apart, and may be a
/// quarter shorter for it.
static std::optional<KernelGrid>
fitGroups(const KernelGrid &grid, const ProductShape &p, int64_t added,
          const ProductFacts &facts, int64_t length,
          llvm::function_ref<bool(const KernelGrid &)> fits) {
  constexpr int64_t group = ScheduleAttr::groupRows, panel = 64;
  const int64_t columns = grid.blocks[p.columns],
                mostGroups =
                    llvm::divideCeil(shapeOf(grid.root)[p.rows], group);
  if (facts.windowed || (facts.draws && added))
    return {};
  for (bool many : {true, false})
    for (int64_t step = 128; step >= 16; step -= 16)
      for (int64_t groups : {3, 2, 1}) {
        if (groups > mostGroups || (groups > 1) != many ||
            (facts.draws && (step > 64 || groups > 2)))
          continue;
        // Each group computes rows of the added product, or else columns.
        if (added && (step % group || groups > 2 ||
                      (step < group * groups && columns % (panel * groups))))
          continue;
        KernelGrid g = grid;
        g.step = step;
        g.takeGroups(p.rows, groups);
        g.rotated = added == 0;
        // An H200 was 2 to 8 % faster with turns at heads of 64 and 128.
        g.turns = g.rotated && groups > 1 && columns <= 128;
        if (!haveRegisters(g, p, facts, added))
          continue;
        // A warp of its own waits for turns, if there is memory for its blocks.
        g.stores = added > 0;
        if (!fits(g) && !(std::exchange(g.stores, false) && fits(g)))
          continue;
        for (int64_t even = step; !added && 4 * even >= 3 * step; even -= 16)
          if (length % even == 0) {
            g.step = even;
            break;
          }
        return g;
      }
  return {};
}

int64_t act::tile::longestSum(ValueRange products) {
  int64_t longest = 1;
  for (Value v : products)
    if (auto op = v.getDefiningOp<linalg::GenericOp>()) {
      SmallVector<unsigned> summed;
      op.getReductionDims(summed);
      for (unsigned d : summed)
        longest = std::max(longest, op.getStaticLoopRanges()[d]);
    }
  return longest;
}

// 64 rows are enough for all warps to share a product. With fewer, columns have
// to be whole steps.
int64_t act::tile::unitOf(const KernelGrid &grid, const ProductShape &p) {
  const int side = p.hasSides() ? p.rows : std::max(p.rows, p.columns);
  return side >= 0 && grid.blocks[side] % 64 == 0 ? 16 : grid.step;
}

bool act::tile::isAlone(const KernelResults &results) {
  return factsOf(results.stored) == factsOf(nearestProducts(results.stored));
}

/// The blocks of a sum in turns that has nothing but its products, such as
/// plain attention's gradient. A warp reads less of shared memory for each
/// product of a larger block, so they take all registers: 128 keys by 128 rows
/// with heads of 64, by 64 rows with heads of 128.
static KernelGrid largest(KernelGrid grid, const ProductShape &p, int64_t added,
                          const ProductFacts &facts,
                          const act::Target &target) {
  constexpr int64_t step = 128, beside = 50;
  grid.step = step;
  return fitRegisters(grid, p, added, facts, blockLimits().front(), target,
                      beside);
}

PlanAlone act::tile::planAlone(KernelGrid grid, const ProductShape &p,
                               const KernelResults &results,
                               const PlanOptions &options) {
  const ProductFacts facts = factsOf(nearestProducts(results.stored));
  auto orderOf = [&](const KernelGrid &g) {
    SumOrder order{g.step};
    if (!p.hasSides()) {
      const int side = std::max(p.rows, p.columns);
      order.columnWarps = g.warps;
      order.rows = side < 0 ? 0 : g.blocks[side];
      return order;
    }
    order.columnWarps = columnWarps(g.blocks[p.rows], g.warps);
    if (!results.added.empty())
      order.rows = g.blocks[p.rows];
    return order;
  };
  PlanAlone plan;
  auto fits = [&](const KernelGrid &g) {
    return sharedEstimate(g, results, /*whole=*/false) <=
           options.target->limits.sharedBytesPerBlock;
  };
  if (grid.inGroups)
    if (auto g = fitGroups(grid, p, results.added.size(), facts,
                           longestSum(nearestProducts(results.stored)), fits)) {
      plan.grids = {*g};
      plan.order = {g->step, 1, results.added.empty() ? 0 : g->blocks[p.rows]};
      return plan;
    }
  grid.inGroups = false;
  if (!results.added.empty() && p.hasSides() && !p.isWide && !facts.draws &&
      !facts.windowed && !facts.read && llvm::all_of(results.stored, isHalf))
    if (KernelGrid g =
            largest(grid, p, results.added.size(), facts, *options.target);
        fits(g))
      plan.grids.push_back(g);
  for (const BlockLimit &limit : blockLimits()) {
    if (!plan.grids.empty() && fits(plan.grids.back()))
      break;
    plan.grids.push_back(fitRegisters(grid, p, results.added.size(), facts,
                                      limit, *options.target));
  }
  const KernelGrid last = plan.grids.back();
  plan.order = orderOf(last);
  llvm::erase_if(plan.grids, [&](const KernelGrid &g) {
    return !(orderOf(g) == plan.order);
  });
  for (KernelGrid &g : plan.grids)
    g.unit = unitOf(last, p);
  return plan;
}
