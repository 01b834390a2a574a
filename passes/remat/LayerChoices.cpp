// SPDX-License-Identifier: Apache-2.0
//
// Which sets of ops to try in a layer, or in @grad's own body. Sets come from
// the crossing of forward and backward, from the fixed policies and from a
// predicted search; what they need is measured (RematMeasure), and what no
// other set undercuts is returned. How many layers use which set is not decided
// here.
#include "passes/remat/LayerChoices.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/module/Entries.h"
#include "passes/remat/AttentionModule.h"
#include "passes/remat/BlockCrossing.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace act;

namespace {

constexpr int64_t segmentLimit = 12; // layers
constexpr size_t choiceLimit = 160;  // sets to measure per layer
constexpr size_t moveLimit = 24;     // sets to try with values moved
constexpr size_t wayLimit = 80;      // ops of a function without layers
constexpr size_t movedLimit = 12;    // BodyChoices::moved sets, of each kind

/// The makers that `more` runs again and `less` does not, grouped by
/// dependence. A maker that another one reads would gain nothing alone, so the
/// two are one step; steps are independent and can be taken in any order.
std::vector<std::vector<int32_t>> stepsBetween(const remat::CrossingGraph &g,
                                               const remat::Crossing &less,
                                               const remat::Crossing &more) {
  llvm::EquivalenceClasses<int32_t> parts;
  auto fresh = [&](int32_t m) {
    return m >= 0 && more.again[m] && !less.again[m];
  };
  for (int32_t m = 0; m < int32_t(g.makers.size()); ++m) {
    if (!fresh(m))
      continue;
    parts.insert(m);
    for (int32_t v : g.makers[m].reads)
      if (fresh(g.values[v].maker))
        parts.unionSets(m, g.values[v].maker);
  }
  std::vector<std::vector<int32_t>> steps;
  for (const auto *part : parts)
    if (part->isLeader())
      steps.emplace_back(parts.member_begin(*part), parts.member_end());
  // Earliest first: when backward reaches it, the least is still kept.
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Variants of `set` that move the first one, two, ... of its saved values to
/// the host, or one alone. Values of less than a 64th of all bytes make no
/// variant of their own: they move along with others.
std::vector<OpSet> crossingMoves(const BlockCrossing &crossing, OpSet set) {
  for (unsigned i = crossing.bodySize; i < crossing.setSize; ++i)
    set.reset(i);
  int64_t all = 0;
  std::vector<int32_t> saved = crossing.saved(set);
  for (int32_t v : saved)
    all += crossing.graph.values[v].bytes;
  std::vector<OpSet> out;
  OpSet prefix = set;
  for (int32_t v : saved) {
    const auto &value = crossing.graph.values[v];
    if (value.move < 0)
      continue;
    prefix.set(crossing.bodySize + crossing.numbers[v]);
    if (value.bytes < all / 64)
      continue;
    out.push_back(prefix);
    OpSet alone = set;
    alone.set(crossing.bodySize + crossing.numbers[v]);
    out.push_back(alone);
  }
  return out;
}

/// Collects different sets, up to a limit, as each is measured. What must not
/// be missing is added first: the empty set, then the corners.
class SetCollector {
public:
  explicit SetCollector(const BlockCrossing &crossing) : crossing(crossing) {
    add(OpSet(crossing.setSize));
  }

  void add(OpSet set) {
    set.resize(crossing.setSize);
    if (sets.size() < limit && !llvm::is_contained(sets, set))
      sets.push_back(set);
  }

  void addCorners() {
    auto corners = remat::frontier(crossing.graph);
    for (const remat::Crossing &c : corners)
      add(crossing.set(c));
    for (size_t i = 0; i + 1 < corners.size(); ++i)
      walk(corners[i], corners[i + 1],
           [&](const auto &alone, const auto &prefix) {
             add(crossing.set(alone));
             add(crossing.set(prefix));
           });
  }

  /// From corner to corner, one step at a time: each set contains the one
  /// before.
  void addWay() {
    auto corners = remat::frontier(crossing.graph);
    for (size_t i = 0; i + 1 < corners.size(); ++i)
      walk(corners[i], corners[i + 1], [&](const auto &, const auto &prefix) {
        sets.push_back(crossing.set(prefix));
      });
  }

  /// Adds the predicted Pareto frontier.
  void addPredicted(const Predictor &predictor) {
    for (const OpSet &set : predictedFrontier(predictor, sets, crossing.places,
                                              choiceLimit - sets.size()))
      add(set);
  }

  /// Adds each of the first sets with some saved values moved: the earliest
  /// ones, which stay away longest, and each alone.
  void addMoves() {
    std::vector<OpSet> before(sets.begin(),
                              sets.begin() + std::min(sets.size(), moveLimit));
    limit += moveLimit * moveLimit;
    for (const OpSet &set : before)
      for (const OpSet &moved : crossingMoves(crossing, set))
        add(moved);
  }

  std::vector<OpSet> sets;

private:
  size_t limit = choiceLimit;

  /// Calls visit(`from` plus one step, `from` plus all steps so far).
  template <typename Visit>
  void walk(const remat::Crossing &from, const remat::Crossing &to,
            Visit visit) {
    std::vector<char> prefix = from.again;
    for (const auto &step : stepsBetween(crossing.graph, from, to)) {
      std::vector<char> alone = from.again;
      for (int32_t m : step)
        alone[m] = prefix[m] = true;
      visit(alone, prefix);
    }
  }

  const BlockCrossing &crossing;
};

/// Fills in BodyChoices::parts and apart. A place is narrow if few bytes are
/// alive there, as between two layers. With n of these as cuts, only the values
/// that cross them are kept:
///
///   ops    o-o-o-o|o-o-o-o|o-o-o-o      | narrow places
///   kept          x       x
///
/// `apart` marks the ops that make no value at a narrow place: those inside the
/// parts.
void findParts(const BlockCrossing &crossing, BodyChoices &choices) {
  const remat::CrossingGraph &g = crossing.graph;
  const size_t makers = g.makers.size();
  std::vector<int32_t> lastRead(g.values.size(), -1);
  for (size_t m = 0; m < makers; ++m)
    for (int32_t v : g.makers[m].reads)
      lastRead[v] = int32_t(m);
  // The values alive after each maker, and their bytes.
  auto alive = [&](size_t v, size_t m) {
    return g.values[v].maker >= 0 && size_t(g.values[v].maker) <= m &&
           lastRead[v] > int32_t(m);
  };
  std::vector<int64_t> bytes(makers);
  for (size_t v = 0; v < g.values.size(); ++v)
    for (size_t m = 0; m < makers; ++m)
      if (alive(v, m))
        bytes[m] += g.values[v].bytes;
  std::vector<int64_t> order;
  llvm::copy_if(bytes, std::back_inserter(order), [](auto b) { return b > 0; });
  llvm::sort(order);
  choices.apart.resize(choices.apartBegin + crossing.bodySize);
  if (order.empty())
    return;
  // The places with the fewest live bytes, a twentieth of all, are narrow.
  int64_t narrow = order[order.size() / 20];
  std::vector<size_t> at;
  for (size_t m = 0; m < makers; ++m)
    if (bytes[m] > 0 && bytes[m] <= narrow)
      at.push_back(m);
  std::vector<char> between(makers); // makes a value alive at a narrow place
  for (size_t v = 0; v < g.values.size(); ++v)
    for (size_t m : at)
      if (alive(v, m))
        between[g.values[v].maker] = true;
  for (size_t k = 0; k < makers; ++k)
    if (!between[k])
      choices.apart.set(choices.apartBegin + crossing.places[k]);
  // The number of cuts grows by a quarter: the need hardly differs between two
  // neighbours of a large number.
  for (size_t n = 1; n <= at.size(); n += std::max<size_t>(1, n / 4)) {
    std::vector<char> again(makers, true);
    for (size_t i = 1; i <= n; ++i)
      for (size_t v = 0; v < g.values.size(); ++v)
        if (alive(v, at[i * at.size() / (n + 1)]))
          again[g.values[v].maker] = false;
    OpSet set = crossing.set(again);
    choices.parts.push_back(set);
    set.resize(choices.apart.size());
    choices.parts.push_back(set |= choices.apart);
  }
}

OpSet placesOf(Block &body, const DenseSet<Operation *> &ops) {
  OpSet set = allOps(body);
  for (auto [i, op] : llvm::enumerate(body.without_terminator()))
    if (!ops.contains(&op))
      set.reset(i);
  return set;
}

int64_t layersOf(const MeasuredRun &r) {
  return r.run.segment ? r.run.layers : 1;
}

/// Whether `a` is at least as expensive as `b` per layer in every figure, and
/// `b` fits wherever `a` does. A segment of m layers may be replaced by m/n
/// units of b: while the last of these runs, the others have saved theirs.
bool above(const MeasuredRun &a, const MeasuredRun &b) {
  const UnitFigures &x = a.figures, &y = b.figures;
  int64_t m = layersOf(a), n = layersOf(b);
  return m % n == 0 && x.cost >= y.cost * (m / n) &&
         x.saved >= y.saved * (m / n) &&
         x.working >= y.working + y.saved * (m / n - 1);
}

// Of two equal runs, the first is kept.
void keepFrontier(std::vector<MeasuredRun> &runs) {
  std::vector<MeasuredRun> kept;
  for (size_t i = 0; i < runs.size(); ++i) {
    bool needless = false;
    for (size_t j = 0; j < runs.size() && !needless; ++j)
      needless = i != j && above(runs[i], runs[j]) &&
                 (!above(runs[j], runs[i]) || j < i);
    if (!needless)
      kept.push_back(runs[i]);
  }
  runs = std::move(kept);
}

} // namespace

FailureOr<std::vector<PairChoices>>
act::findPairChoices(ModuleOp module, RematMeter &meter, const Rates &rates) {
  auto pairs = findSavedPairs(module.lookupSymbol<func::FuncOp>(gradName));
  if (failed(pairs))
    return failure();
  SymbolTable symbols(module);
  std::vector<PairChoices> out;
  for (size_t p = 0; p < pairs->size(); ++p) {
    RepeatOp forward = (*pairs)[p].forward;
    auto fwd = symbols.lookup<func::FuncOp>(forward.getCallee());
    Block &body = fwd.getBody().front();
    unsigned carried = forward.getCarried().size();
    // What backward needs is what forward saves now.
    SmallVector<Value> needed(
        body.getTerminator()->getOperands().drop_front(carried));
    auto shared = body.getArguments().take_back(forward.getShared().size());
    BlockCrossing crossing = crossingOf(
        body, body.getTerminator(), needed,
        SmallVector<Value>(shared.begin(), shared.end()), false, rates);
    if (auto status = crossing.graph.check(); !status)
      return emitError(fwd.getLoc())
             << "cannot be planned: " << status.error().str();
    SetCollector collector(crossing);
    collector.addCorners();
    collector.add(placesOf(body, attentionModule(body, false)));
    collector.add(placesOf(body, attentionModule(body, true)));
    collector.add(allOps(body));
    auto predictor = meter.predictor(int(p));
    if (failed(predictor))
      return failure();
    collector.addPredicted(*predictor);

    PairChoices choices;
    choices.layers = forward.getCount();
    choices.all = allOps(body);
    SmallVector<LayerRun> units(pairs->size());
    auto tryUnit = [&](const LayerRun &unit) -> LogicalResult {
      units[p] = unit;
      auto figures = meter.units(units, OpSet());
      if (failed(figures))
        return failure();
      choices.choices.push_back({unit, figures->pairs[p]});
      return success();
    };
    for (const OpSet &set : collector.sets)
      if (failed(tryUnit({1, set, false})))
        return failure();
    keepFrontier(choices.choices);
    if (rates.moves) {
      std::vector<OpSet> sets;
      // Moving multiplies the sets, so only some of the frontier are varied,
      // spread evenly over what they save.
      std::vector<MeasuredRun> order = choices.choices;
      std::stable_sort(order.begin(), order.end(),
                       [](const MeasuredRun &a, const MeasuredRun &b) {
                         return a.figures.saved > b.figures.saved;
                       });
      size_t count = std::min(order.size(), moveLimit);
      for (size_t i = 0; i < count; ++i)
        for (OpSet &set : crossingMoves(
                 crossing,
                 order[count < 2 ? 0 : i * (order.size() - 1) / (count - 1)]
                     .run.recompute))
          if (!llvm::is_contained(sets, set))
            sets.push_back(set);
      for (const OpSet &set : sets)
        if (failed(tryUnit({1, set, false})))
          return failure();
      keepFrontier(choices.choices);
    }
    std::vector<MeasuredRun> single = choices.choices;
    for (const MeasuredRun &inner : single) {
      if (inner.run.recompute.find_first_in(crossing.bodySize,
                                            inner.run.recompute.size()) >= 0)
        continue; // a segment runs again at once, so moving gains nothing
      if (choices.layers < 6 || forward.getReverse())
        break;
      // Longer segments are extrapolated from those of two and three layers.
      // The whole plan is measured later.
      for (int64_t k : {2, 3})
        if (failed(tryUnit({k, inner.run.recompute, true})))
          return failure();
      UnitFigures three = choices.choices.back().figures,
                  two = choices.choices[choices.choices.size() - 2].figures;
      for (int64_t k = 4;
           k <= std::min<int64_t>(segmentLimit, choices.layers / 2); ++k) {
        auto further = [&](int64_t a, int64_t b) {
          return b + (k - 3) * (b - a);
        };
        choices.choices.push_back({{k, inner.run.recompute, true},
                                   {further(two.saved, three.saved),
                                    further(two.working, three.working),
                                    further(two.cost, three.cost)}});
      }
    }
    keepFrontier(choices.choices);
    out.push_back(std::move(choices));
  }
  return out;
}

FailureOr<BodyChoices> act::findBodyChoices(ModuleOp module, RematMeter &meter,
                                            bool alone, const Rates &rates) {
  Block &body = module.lookupSymbol<func::FuncOp>(gradName).getBody().front();
  BodyChoices none;
  none.sets = {OpSet()};
  Operation *boundary = nullptr;
  for (auto phase : body.getOps<PhaseOp>())
    if (phase.getName() == "backward")
      boundary = phase;
  if (!boundary)
    return none;
  SmallVector<Value> needed;
  for (Operation &op : body) {
    if (&op == boundary)
      break;
    if (isa<RepeatOp>(op) || isReplayed(&op))
      continue;
    for (Value r : op.getResults())
      if (llvm::any_of(r.getUsers(), [&](Operation *u) {
            return boundary->isBeforeInBlock(u) &&
                   !u->hasTrait<OpTrait::IsTerminator>();
          }))
        needed.push_back(r);
  }
  BlockCrossing crossing = crossingOf(body, boundary, needed, {}, true, rates);
  if (!crossing.graph.check())
    return none;
  SetCollector collector(crossing);
  BodyChoices out;
  // Measuring takes time in proportion to the ops, so a long function gets sets
  // along one way, and the planner samples those.
  if (alone && crossing.places.size() > wayLimit) {
    out.way = true;
    out.places = crossing.places;
    out.apartBegin = apartBegin(body);
    findParts(crossing, out);
    collector.addWay();
    if (!rates.moves) {
      out.sets = std::move(collector.sets);
      return out;
    }
    Rates still = rates;
    still.moves = false;
    BlockCrossing staying = crossingOf(body, boundary, needed, {}, true, still);
    SetCollector recomputed(staying);
    recomputed.addWay();
    // Corners with some values moved, and with all saved values moved.
    auto some = [&](const std::vector<OpSet> &sets, bool all) {
      size_t stride = llvm::divideCeil(sets.size(), movedLimit);
      for (size_t i = 0; i < sets.size(); i += stride) {
        OpSet set = sets[i];
        set.resize(crossing.setSize);
        for (size_t v = 0; all && v < crossing.graph.values.size(); ++v)
          if (crossing.graph.values[v].move >= 0)
            set.set(crossing.bodySize + crossing.numbers[v]);
        out.moved.push_back(set);
      }
    };
    some(collector.sets, false);
    some(recomputed.sets, true);
    out.sets = std::move(recomputed.sets);
    return out;
  }
  collector.addCorners();
  if (alone) {
    auto predictor = meter.predictor(-1);
    if (failed(predictor))
      return failure();
    collector.addPredicted(*predictor);
    if (rates.moves)
      collector.addMoves();
  }
  out.sets = std::move(collector.sets);
  return out;
}
