// SPDX-License-Identifier: Apache-2.0
//
// The search behind --remat=budget. What a layer's choices cost is measured in
// LayerChoices and RematMeasure, how choices combine over layers is computed in
// act/Remat/Compose.h. This file puts these together: which sets of @grad's own
// ops are tried beside the layers, which composition is measured, and when the
// search stops.
#include "passes/remat/RematBudget.h"
#include "act/Remat/Bytes.h"
#include "act/Remat/Compose.h"
#include "passes/memory/MemoryModel.h"
#include "passes/module/Entries.h"
#include "passes/remat/LayerChoices.h"
#include "passes/remat/RematBound.h"
#include "passes/remat/RematDescent.h"
#include "passes/step/Complete.h"
#include <cmath>
#include <cstdio>
#include <limits>

using namespace mlir;
using namespace act;

namespace {

constexpr int correctionLimit = 6;
constexpr int replaySteps = 16;  // budgets to replay an allocator for
constexpr size_t startLimit = 3; // sets to improve, of each kind
constexpr size_t bodyLimit =
    40; // first sets to measure in a function without layers

/// One choice of what @grad's own body recomputes, and the layers' problem
/// under that choice.
struct BodyChoice {
  OpSet ops;
  int64_t cost = 0;
  remat::StackProblem problem;
};

/// One search on one module, which stays unchanged: every plan is measured on a
/// copy. `pairs` has the layers' choices; `bodies` has one problem for each set
/// of @grad's own ops, since running those again changes how much memory is
/// left for the layers.
class Planner {
public:
  Planner(ModuleOp module, const BudgetOptions &options)
      : module(module), options(options), meter(module, options.rates) {}

  FailureOr<BudgetAnswer> run();
  FailureOr<LeastMemory> least();

private:
  LogicalResult measure(int64_t budget);
  LogicalResult measureBody(const OpSet &ops);
  LogicalResult improveBodies(const BodyChoices &choices);
  struct Choice {
    int64_t cost = 0, predicted = 0;
    bool complete = true;
    RematPlan plan;
  };
  std::optional<Choice> best(int64_t budget);
  Choice smallest();
  std::vector<Choice> equalLayers();
  std::vector<Choice> equalSegments();
  using Excess = function_ref<int64_t(const StepBytes &)>;
  FailureOr<LeastMemory> lastResort(Excess excess);
  FailureOr<std::vector<Choice>> fixedChoices();
  struct Replay {
    std::optional<Choice> chosen;
    StepBytes bytes;   // of `chosen`
    LeastMemory least; // the choice that exceeds the bounds least
  };
  FailureOr<Replay> replay(int64_t most, int64_t budget, Excess excess);
  Choice made(const BodyChoice &body, const remat::Stack &stack);
  LogicalResult refuse(const StepBytes &least);

  ModuleOp module;
  const BudgetOptions &options;
  RematMeter meter;
  std::vector<PairChoices> pairs;
  std::vector<BodyChoice> bodies;
  PlanFigures alone; // with a body that recomputes nothing
};

/// Measures the layers' choices while the body recomputes `ops`. The first call
/// must pass none. The layers' choices were measured beside a body that
/// recomputes nothing. Another body adds the same bytes to each choice of a
/// layer (`shift`), so one measurement of the layer as it is suffices.
LogicalResult Planner::measureBody(const OpSet &ops) {
  auto figures = meter.units(SmallVector<LayerRun>(pairs.size()), ops);
  if (failed(figures))
    return failure();
  if (bodies.empty())
    alone = *figures;
  BodyChoice body;
  body.ops = ops;
  body.cost = figures->cost.again;
  body.problem.apart = figures->apart;
  for (auto [p, pair] : llvm::enumerate(pairs)) {
    remat::LayerChain chain;
    chain.layers = pair.layers;
    chain.behind = figures->behind[p];
    int64_t shift = figures->pairs[p].working - alone.pairs[p].working;
    for (const MeasuredRun &run : pair.choices)
      chain.choices.push_back({run.figures.cost, run.figures.saved,
                               run.figures.working + shift,
                               run.run.segment ? run.run.layers : 1});
    body.problem.chains.push_back(std::move(chain));
  }
  bodies.push_back(std::move(body));
  return success();
}

/// Fills `pairs` and `bodies`. Sets do not depend on the budget, which only
/// decides how many of them are measured.
LogicalResult Planner::measure(int64_t budget) {
  auto found = findPairChoices(module, meter, options.rates);
  if (failed(found))
    return failure();
  pairs = std::move(*found);
  auto choices = findBodyChoices(module, meter, pairs.empty(), options.rates);
  if (failed(choices))
    return failure();
  auto &sets = choices->sets;
  size_t stride = choices->way ? llvm::divideCeil(sets.size(), bodyLimit) : 1;
  // Sample a long way at a stride, then refine where it first meets the budget.
  // A larger budget is met no later, so it costs no more.
  for (size_t i = 0; i < sets.size(); i += stride)
    if (failed(measureBody(sets[i])))
      return failure();
  for (size_t i = 0; i < bodies.size() && stride > 1; ++i) {
    if (bodies[i].problem.apart > budget && i + 1 < bodies.size())
      continue;
    bool after = bodies[i].problem.apart > budget; // none fits: refine the end
    size_t from = (after ? i : i ? i - 1 : 0) * stride;
    for (size_t k = from + 1; k < std::min(from + stride, sets.size()); ++k)
      if (failed(measureBody(sets[k])))
        return failure();
    break;
  }
  // If the step exceeds the budget without recomputation, improve the sets.
  if (choices->way && alone.peak > budget && failed(improveBodies(*choices)))
    return failure();
  for (const OpSet &set : choices->moved)
    if (failed(measureBody(set)))
      return failure();
  return success();
}

/// Adds sets to a way, which considers only one moment:
/// - equal parts, in one level and in two;
/// - from those with the lowest need, sets that need ever less;
/// - between the lowest need and the way's, cheaper sets.
/// They do not depend on the budget, so a larger budget never costs more.
LogicalResult Planner::improveBodies(const BodyChoices &choices) {
  auto predictor = meter.predictor(-1);
  if (failed(predictor))
    return failure();
  struct Known {
    OpSet set;
    UnitFigures figures;
    bool nested;
  };
  std::vector<Known> known;
  auto predict = [&](const OpSet &set) {
    known.push_back({set, predictor->predict(set),
                     set.find_last() >= int(choices.apartBegin)});
  };
  auto add = [&](const OpSet &set) {
    predict(set);
    return measureBody(set);
  };
  auto best = [&](bool nested, auto key) {
    const Known *out = nullptr;
    for (const Known &k : known)
      if (k.nested == nested && (!out || key(k) < key(*out)))
        out = &k;
    return out;
  };
  auto needOf = [](const Known &k) { return k.figures.working; };
  // Lower the need by a sixteenth at a time, then by a 128th.
  auto walk = [&](OpSet set) -> LogicalResult {
    Descent descent(*predictor, choices.places);
    for (int64_t part : {16, 128})
      for (int64_t now = descent.peak(set);;) {
        OpSet less = set;
        bool reached = descent.descend(less, now - now / part);
        if (descent.peak(less) >= now)
          break;
        set = less;
        if (reached)
          descent.economise(less, now - now / part);
        if (failed(add(less)))
          return failure();
        now = descent.peak(set);
      }
    return success();
  };

  for (const OpSet &set : choices.sets)
    predict(set);
  const int64_t wayNeeds = needOf(*best(false, needOf));
  for (const OpSet &set : choices.parts)
    if (failed(add(set)))
      return failure();
  std::vector<Known> starts;
  llvm::copy_if(known, std::back_inserter(starts),
                [](const Known &k) { return !k.nested; });
  llvm::stable_sort(starts, [&](const Known &a, const Known &b) {
    return needOf(a) < needOf(b);
  });
  starts.resize(std::min(starts.size(), startLimit));
  for (const Known &start : starts)
    if (failed(walk(start.set)))
      return failure();
  // Start from the best set of two levels, and from the best of one level
  // turned into two.
  if (const Known *two = best(true, needOf)) {
    OpSet other = two->set, nested = best(false, needOf)->set;
    nested.resize(choices.apartBegin);
    nested.resize(choices.apart.size());
    nested |= choices.apart;
    for (const OpSet &start : {nested, other})
      if (failed(add(start)) || failed(walk(start)))
        return failure();
  }

  int64_t least = wayNeeds;
  for (const Known &k : known)
    least = std::min(least, needOf(k));
  for (int64_t target = least; target < wayNeeds;
       target += std::max<int64_t>(1, target / 40))
    for (bool two : {false, true}) {
      const Known *cheapest = best(two, [&](const Known &k) {
        return std::pair(needOf(k) > target, k.figures.cost);
      });
      if (!cheapest || needOf(*cheapest) > target)
        continue;
      OpSet set = cheapest->set;
      Descent(*predictor, choices.places).economise(set, target);
      if (set != cheapest->set && failed(add(set)))
        return failure();
    }
  return success();
}

/// The plan that a composition describes. A segment is a unit of several
/// layers, and each unit becomes a run of its own, as it keeps its own input.
/// Units of one layer with the same choice become one run.
Planner::Choice Planner::made(const BodyChoice &body,
                              const remat::Stack &stack) {
  Choice out;
  out.cost = body.cost + stack.cost;
  out.predicted = stack.peak;
  out.complete = stack.complete;
  out.plan.body = body.ops;
  for (auto [p, chain] : llvm::enumerate(stack.chains)) {
    auto &runs = out.plan.pairs.emplace_back();
    for (remat::UnitRun run : chain) {
      const LayerRun &unit = pairs[p].choices[run.choice].run;
      if (unit.segment)
        runs.append(run.units, unit);
      else
        runs.push_back({run.units, unit.recompute, false});
    }
    // No runs means that the pair stays unchanged.
    if (runs.size() == 1 && !runs[0].segment && runs[0].recompute.none())
      runs.clear();
  }
  return out;
}

/// The cheapest composition whose predicted memory is within `budget`. A body
/// is composed only as far as it can be cheaper than the best one so far.
std::optional<Planner::Choice> Planner::best(int64_t budget) {
  std::optional<Choice> cheapest;
  bool complete = true;
  for (const BodyChoice &body : bodies) {
    int64_t limit = cheapest ? cheapest->cost - body.cost : remat::mostCost;
    if (limit <= 0)
      continue;
    remat::Stack stack =
        remat::compose(body.problem, budget, options.states, limit);
    complete &= stack.complete;
    if (stack.found)
      cheapest = made(body, stack);
  }
  if (cheapest)
    cheapest->complete = complete;
  return cheapest;
}

/// The composition with the lowest predicted memory, whatever it costs.
Planner::Choice Planner::smallest() {
  const BodyChoice *body = nullptr;
  int64_t least = -1;
  for (const BodyChoice &b : bodies)
    if (int64_t need = remat::leastBudget(b.problem);
        need >= 0 && (least < 0 || need < least)) {
      least = need;
      body = &b;
    }
  return made(*body, remat::compose(body->problem, least, options.states));
}

/// The same choice for every layer, from the one that keeps most to one that
/// runs all ops again. Equal layers reuse each other's memory, so an allocator
/// may reserve less for them than for mixed layers with fewer live bytes.
std::vector<Planner::Choice> Planner::equalLayers() {
  constexpr size_t steps = 12;
  std::vector<Choice> out(pairs.empty() ? 0 : steps + 1);
  for (const PairChoices &pair : pairs) {
    std::vector<const MeasuredRun *> order;
    for (const MeasuredRun &run : pair.choices)
      if (!run.run.segment)
        order.push_back(&run);
    std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
      return a->figures.saved > b->figures.saved;
    });
    for (size_t i = 0; i < out.size(); ++i) {
      size_t at = std::min(i, steps - 1) * (order.size() - 1) / (steps - 1);
      out[i].plan.pairs.push_back(
          {{pair.layers, i == steps ? pair.all : order[at]->run.recompute,
            false}});
    }
  }
  return out;
}

/// All layers in segments of equal length, as --remat=segments=N makes them.
std::vector<Planner::Choice> Planner::equalSegments() {
  int64_t most = 0;
  for (const PairChoices &pair : pairs)
    most = std::max(most, pair.layers);
  std::vector<Choice> out;
  for (int64_t n = 1; n <= most; n += std::max<int64_t>(1, n / 4)) {
    Choice &choice = out.emplace_back();
    for (const PairChoices &pair : pairs) {
      auto &runs = choice.plan.pairs.emplace_back();
      int64_t segments = std::min(n, pair.layers);
      for (int64_t i = 0; i < segments; ++i)
        runs.push_back({segmentEnd(i + 1, segments, pair.layers) -
                            segmentEnd(i, segments, pair.layers),
                        OpSet(), true});
    }
  }
  return out;
}

/// The choice that exceeds the bounds least, among the one with the lowest
/// memory, equal segments and equal layers.
FailureOr<LeastMemory> Planner::lastResort(Excess excess) {
  std::vector<Choice> choices{smallest()};
  llvm::append_range(choices, equalSegments());
  std::optional<LeastMemory> best;
  for (const Choice &choice : choices) {
    auto bytes = measureStep(module, choice.plan);
    if (failed(bytes))
      return failure();
    if (!best || excess(*bytes) < excess(best->bytes))
      best = LeastMemory{choice.plan, *bytes};
  }
  return *best;
}

/// The choices to try with an allocator for every budget, cheapest first: every
/// choice for a body without layers; equal layers and segments.
FailureOr<std::vector<Planner::Choice>> Planner::fixedChoices() {
  std::vector<Choice> out;
  if (pairs.empty()) {
    for (const BodyChoice &body : bodies) {
      out.push_back(made(body, remat::Stack()));
      out.back().complete = true;
    }
  } else {
    out = equalLayers();
    llvm::append_range(out, equalSegments());
    out.push_back(smallest());
    for (const RematPlan &plan : options.plans)
      out.emplace_back().plan = plan;
    for (Choice &choice : out) {
      auto whole = meter.whole(choice.plan);
      if (failed(whole))
        return failure();
      choice.cost = whole->cost.again;
    }
  }
  llvm::stable_sort(
      out, [](const Choice &a, const Choice &b) { return a.cost < b.cost; });
  return out;
}

/// Reserved bytes differ from live bytes, so choices are replayed: compositions
/// for a series of budgets below `most`, the live bytes without recomputation,
/// and the fixed choices. These do not depend on the budget, so a larger budget
/// never costs more.
FailureOr<Planner::Replay> Planner::replay(int64_t most, int64_t budget,
                                           Excess excess) {
  Replay out;
  std::optional<int64_t> leastExcess;
  auto fits = [&](const Choice &choice) -> FailureOr<bool> {
    auto bytes = measureStep(module, choice.plan, options.allocator);
    if (failed(bytes))
      return failure();
    int64_t over = excess(*bytes);
    if (over <= 0 && (!out.chosen || choice.cost < out.chosen->cost)) {
      out.chosen = choice;
      out.bytes = *bytes;
    }
    if (!leastExcess || over < *leastExcess) {
      leastExcess = over;
      out.least = {choice.plan, *bytes};
    }
    return over <= 0;
  };
  // Geometric, from what the step needs as it is down to the smallest need, so
  // that small budgets are told apart as finely as large ones.
  std::vector<int64_t> row; // budgets to compose for, descending
  if (!pairs.empty()) {
    double least = double(std::max<int64_t>(1, smallest().predicted));
    for (int i = 0; i <= replaySteps; ++i)
      row.push_back(int64_t(double(most) * std::pow(least / double(most),
                                                    double(i) / replaySteps)));
  }
  // Tries the row from `from` on until one fits, then bisects between it and
  // the one above.
  auto walkRow = [&](size_t from, size_t to) -> LogicalResult {
    for (size_t i = from; i < to; ++i) {
      auto choice = best(row[i]);
      if (!choice)
        continue;
      auto fit = fits(*choice);
      if (failed(fit))
        return failure();
      if (!*fit)
        continue;
      int64_t low = row[i], high = i ? row[i - 1] : most;
      for (int round = 0; round < 6 && high - low > 1; ++round) {
        int64_t middle = low + (high - low) / 2;
        auto finer = best(middle);
        fit = finer ? fits(*finer) : FailureOr<bool>(false);
        if (failed(fit))
          return failure();
        (*fit ? low : high) = middle;
      }
      break;
    }
    return success();
  };
  // Skip budgets so large that more than `budget` would be alive.
  size_t first = 0;
  while (first + 1 < row.size() && row[first + 1] > budget)
    ++first;
  if (failed(walkRow(first, row.size())))
    return failure();
  auto fixed = fixedChoices();
  if (failed(fixed))
    return failure();
  for (const Choice &choice : *fixed) {
    if (out.chosen && choice.cost >= out.chosen->cost)
      break;
    auto fit = fits(choice);
    if (failed(fit))
      return failure();
  }
  // Only for the error message, which says what would be enough.
  if (!out.chosen && failed(walkRow(0, first)))
    return failure();
  return out;
}

/// Says that no plan keeps to the bounds, and which one would be enough: the
/// total if that is exceeded, else the peak.
LogicalResult Planner::refuse(const StepBytes &least) {
  const RematPolicy &policy = options.policy;
  int64_t all = std::max(least.total, least.reserved);
  bool fit = policy.totalBytes >= 0 && all > policy.totalBytes;
  int64_t asked = fit ? policy.totalBytes : policy.peakBytes;
  int64_t needed = fit ? all : least.peak;
  InFlightDiagnostic error =
      emitError(module.getLoc())
      << "no choice of what to recompute was found that needs at most " << asked
      << " bytes; the smallest feasible budget known is " << (fit ? "fit:" : "")
      << needed << " (" << remat::bytesText(needed) << ")";
  if (fit && least.reserved)
    error << ", which the allocator reserves";
  else if (fit)
    error << ", of which " << least.total - least.peak
          << " are parameters, gradients, optimizer state, inputs and outputs";
  return error;
}

/// Looks for a composition that keeps to the budget when measured, not only
/// when predicted.
FailureOr<BudgetAnswer> Planner::run() {
  const auto &allocator = options.allocator;
  const int64_t total = options.policy.totalBytes;
  auto plain = measureStep(module, RematPlan());
  if (failed(plain))
    return failure();
  // Plans change the arena only. What outlives the step is the same in all, so
  // a bound on the total is one on the arena.
  int64_t budget = std::numeric_limits<int64_t>::max();
  if (options.policy.totalBytes >= 0)
    budget = options.policy.totalBytes - (plain->total - plain->peak);
  if (options.policy.peakBytes >= 0)
    budget = std::min(budget, options.policy.peakBytes);
  // With an allocator, live bytes do not say which sets will fit. Those for the
  // smallest budget are tried for every one.
  if (failed(measure(allocator ? 0 : budget)))
    return failure();
  auto excess = [&](const StepBytes &b) {
    int64_t over = b.peak - budget;
    return allocator && total >= 0 ? std::max(over, b.reserved - total) : over;
  };
  std::optional<Choice> chosen;
  StepBytes bytes;
  if (allocator) {
    auto found = replay(plain->peak, budget, excess);
    if (failed(found))
      return failure();
    if (!found->chosen)
      return refuse(found->least.bytes);
    chosen = std::move(found->chosen);
    bytes = found->bytes;
  }
  // The prediction can be off by what adjacent layers with different choices
  // share. So each composition is measured, and the target lowered by what it
  // is over.
  int64_t target = budget;
  for (int round = 0; round < correctionLimit && !chosen; ++round) {
    auto choice = best(target);
    if (!choice)
      break;
    auto real = measureStep(module, choice->plan);
    if (failed(real))
      return failure();
    if (excess(*real) <= 0) {
      chosen = std::move(choice);
      bytes = *real;
    } else {
      // Go below the last prediction, or the same choice is found again.
      target = std::min(target, choice->predicted) -
               std::max<int64_t>(excess(*real), 1);
    }
  }
  if (!chosen) {
    auto least = lastResort(excess);
    if (failed(least))
      return failure();
    if (excess(least->bytes) > 0)
      return refuse(least->bytes);
    chosen = Choice();
    chosen->plan = least->plan;
    bytes = least->bytes;
  }
  BudgetAnswer answer;
  answer.plan = chosen->plan;
  answer.complete = chosen->complete;
  answer.peakBytes = bytes.peak;
  answer.totalPeakBytes = bytes.total;
  answer.reservedBytes = bytes.reserved;
  auto whole = meter.whole(chosen->plan);
  if (failed(whole))
    return failure();
  answer.cost = whole->cost;
  auto bound = leastRecomputation(module, budget, options.rates);
  if (failed(bound))
    return failure();
  answer.boundCost = *bound;
  return answer;
}

/// The same search with a budget of nothing: the choice that exceeds it least.
FailureOr<LeastMemory> Planner::least() {
  if (failed(measure(0)))
    return failure();
  if (!options.allocator)
    return lastResort([](const StepBytes &bytes) { return bytes.total; });
  auto found =
      replay(alone.peak, 0, [](const StepBytes &b) { return b.reserved; });
  if (failed(found))
    return failure();
  return found->least;
}

} // namespace

// The kernels of the chosen plan are formed anew around the recomputed ops,
// while the bound keeps those of the step without recomputation. So the cost
// may be below the bound, which then is no distance to report.
std::string BudgetAnswer::text(const RematPolicy &policy) const {
  std::string out;
  auto bound = [&](const char *what, int64_t is, int64_t most) {
    if (most >= 0)
      out += std::string(what) + remat::bytesText(is) + " of " +
             remat::bytesText(most) + ", ";
  };
  bound("peak ", peakBytes, policy.peakBytes);
  if (reservedBytes)
    bound("reserved ", reservedBytes, policy.totalBytes);
  else
    bound("total peak ", totalPeakBytes, policy.totalBytes);
  char numbers[128], copies[48] = "";
  if (policy.offloads)
    std::snprintf(copies, sizeof copies, "copies +%.2f %%, ", copiesPercent());
  std::snprintf(numbers, sizeof numbers,
                "recompute +%.2f %%, %soptimal within %.2f %%", percent(),
                copies, std::max(0.0, gapPercent()));
  out += numbers;
  if (boundCost > cost.again)
    out += " (less than the bound: its kernels are others)";
  if (!complete)
    out += " (the search was cut short)";
  return out;
}

FailureOr<StepBytes>
act::measureStep(ModuleOp module, const RematPlan &plan,
                 const std::optional<AllocatorChoice> &allocator) {
  // The whole step is completed, with the optimizer, because the report counts
  // it.
  OwningOpRef<ModuleOp> copy(module.clone());
  if (plan.any() && failed(applyPlan(*copy, plan)))
    return failure();
  if (failed(completeModule(*copy)))
    return failure();
  auto program = flatten(*copy, mainFunction(*copy));
  if (failed(program))
    return failure();
  auto live = program->liveBytes();
  StepBytes out;
  out.peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  out.total = out.peak + persistentBytes(*copy, *program);
  if (allocator) {
    AllocatorChoice roomy = *allocator;
    // On a full card the allocator returns cached blocks and tries again, so
    // the figure would depend on the card. Without a limit it depends on the
    // plan.
    roomy.options.deviceBytes = cuda_caching::unlimited;
    report::MemoryReport tensors = tensorsOf(*copy, *program);
    replayAllocator(tensors, traceOf(tensors), roomy);
    out.reserved = tensors.replay->reservedPeakBytes;
  }
  return out;
}

FailureOr<BudgetAnswer> act::planBudget(ModuleOp module,
                                        const BudgetOptions &options) {
  return Planner(module, options).run();
}

FailureOr<LeastMemory> act::leastMemory(ModuleOp module,
                                        const BudgetOptions &options) {
  return Planner(module, options).least();
}
