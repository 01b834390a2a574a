// SPDX-License-Identifier: Apache-2.0
//
// The rounds that Solver.h describes: a first schedule, then relaxations with
// more and more moments. The linear algebra is in Milp.cpp, the program in
// Relaxation.cpp, repairs in Greedy.cpp.
#include "act/Remat/Solver.h"
#include "act/Remat/LowerBound.h"
#include "lib/Remat/Greedy.h"
#include "lib/Remat/Relaxation.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace act::remat {
namespace {

constexpr int64_t none = INT64_MAX;
constexpr int64_t greedySteps = 20'000'000;
constexpr double unitOfEffort = 1e7; // iterations times rows

class Search {
public:
  Search(const Graph &graph, int64_t budget, const SolverOptions &options)
      : in(graph), budget(budget / in.byteStep * in.byteStep), options(options),
        greedy(in, budget) {}
  Answer run(int64_t leastPeak);

private:
  void offer(const Recomputations &again);
  void firstSchedule();
  bool round();
  MilpAnswer spend(const Relaxation &relaxation, MilpLimits limits);
  double rootEffort(const Milp &problem) const;
  void tighten(int64_t peak);
  void raiseBound(double cost);
  std::string describe(const Relaxation &relaxation,
                       const MilpAnswer &answer) const;
  bool refine(const Recomputations &again, const Timeline &line);
  bool done() const {
    // The programs are solved in floating point.
    return bestCost != none &&
           (options.gap >= 1e6 ||
            static_cast<double>(bestCost) <=
                static_cast<double>(bound) * (1 + options.gap + 1e-7));
  }
  /// Moments added in a round: programs stay small.
  int32_t atOnce() const { return std::clamp(4000 / in.size, 1, 40); }
  double secondsLeft() const {
    return options.seconds > 0
               ? options.seconds - double(std::clock() - start) / CLOCKS_PER_SEC
               : 1e9;
  }

  Instance in;
  int64_t budget;
  SolverOptions options;
  Greedy greedy;
  Recomputations best;
  int64_t bestCost = none, bound = 0;
  Recomputations lowest;
  int64_t lowestPeak = none;
  bool impossible = false;
  Moments moments;
  int64_t nodes = 0, rounds = 0;
  double effort = 0, share = 0.1;
  double perNode = 60; // iterations
  std::clock_t start = std::clock();
};

/// Keeps the schedule if it is the cheapest under the budget, or the one with
/// the lowest peak.
void Search::offer(const Recomputations &again) {
  Timeline line(in, again);
  if (line.peak <= budget && line.extraCost < bestCost) {
    bestCost = line.extraCost;
    best = again;
  }
  if (line.peak < lowestPeak) {
    lowestPeak = line.peak;
    lowest = again;
  }
}

/// Chooses the first moments, the peaks of the schedule without recomputation,
/// and finds a first schedule greedily. Its cost bounds what any node may cost
/// in the programs.
void Search::firstSchedule() {
  Recomputations again(in.size);
  Timeline line(in, again);
  std::vector<int32_t> tops;
  for (int32_t t = 0; t < in.size; ++t)
    if (line.bytes[t] > budget &&
        (t == 0 || line.bytes[t - 1] < line.bytes[t]) &&
        (t + 1 == in.size || line.bytes[t + 1] <= line.bytes[t]))
      tops.push_back(t);
  // The highest ones that are not too close to each other.
  std::sort(tops.begin(), tops.end(), [&](int32_t a, int32_t b) {
    return std::make_pair(-line.bytes[a], a) <
           std::make_pair(-line.bytes[b], b);
  });
  const int32_t count = atOnce(), apart = in.size / (8 * count);
  for (int32_t t : tops) {
    auto near = moments.stages.lower_bound(t - apart);
    if (near != moments.stages.end() && *near <= t + apart)
      continue;
    moments.stages.insert(t);
    if (moments.stages.size() == static_cast<size_t>(count))
      break;
  }
  moments.stages.insert(in.size - 1);
  offer(again);
  greedy.allow(greedySteps);
  if (greedy.descend(again)) {
    greedy.allow(greedySteps);
    greedy.prune(again);
    offer(again);
    greedy.improve(again, 30);
  }
  offer(again);
}

/// Adds the worst steps of each run of steps above the budget; false if the
/// relaxation has them all already.
bool Search::refine(const Recomputations &again, const Timeline &line) {
  std::vector<std::pair<int64_t, size_t>> worst; // the highest first
  for (size_t s = 0; s < line.steps.size(); ++s) {
    if (line.bytes[s] <= budget)
      continue;
    size_t top = s;
    for (; s < line.steps.size() && line.bytes[s] > budget; ++s)
      if (line.bytes[s] > line.bytes[top])
        top = s;
    worst.push_back({-line.bytes[top], top});
  }
  std::sort(worst.begin(), worst.end());
  size_t known = moments.stages.size() + moments.events.size();
  int32_t added = 0;
  for (auto [bytes, step] : worst) {
    int32_t stage = line.stage[step], node = line.steps[step];
    if (node == stage) {
      added += moments.stages.insert(stage).second;
    } else {
      moments.isolate(stage);
      added += moments.events.insert({stage, node}).second;
    }
    if (added >= atOnce())
      break;
  }
  return moments.stages.size() + moments.events.size() > known;
}

/// Effort until the first branch, fitted to measurements of programs with 1,000
/// to 80,000 rows and columns.
double Search::rootEffort(const Milp &p) const {
  return 6 * std::pow(double(p.rowLower.size() + p.cost.size()), 1.5) /
         unitOfEffort;
}

/// Solves the program with a share of the remaining effort. Effort is simplex
/// iterations times rows, plus that of the root.
MilpAnswer Search::spend(const Relaxation &relaxation, MilpLimits limits) {
  const Milp &p = relaxation.problem();
  const auto rows = static_cast<double>(p.rowLower.size() + 1);
  const double left = share * (options.effort - effort) * unitOfEffort;
  limits.nodes = std::max<int64_t>(10, std::llround(left / (perNode * rows)));
  limits.seconds = secondsLeft();
  MilpAnswer answer = minimize(p, limits);
  nodes += answer.nodes;
  if (answer.nodes > 50)
    perNode = std::max(2.0, double(answer.iterations) / double(answer.nodes));
  effort += (static_cast<double>(answer.iterations) * rows) / unitOfEffort +
            rootEffort(p);
  return answer;
}

void Search::raiseBound(double cost) {
  // Costs are multiples of a step: round up, with a tolerance for noise.
  double steps = cost / static_cast<double>(in.costStep);
  steps = std::ceil(steps - 1e-8 * std::max(1.0, std::abs(steps)));
  if (steps > 0)
    bound = std::max(
        bound, std::min(bestCost, static_cast<int64_t>(steps) * in.costStep));
}

std::string Search::describe(const Relaxation &relaxation,
                             const MilpAnswer &answer) const {
  auto percent = [&](double cost) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.4f",
                  100 * cost / std::max(1.0, double(in.totalCost)));
    return std::string(buffer);
  };
  return "round " + std::to_string(rounds) + ": " +
         std::to_string(moments.stages.size()) + " moments, " +
         std::to_string(moments.events.size()) + " events, " +
         std::to_string(relaxation.problem().cost.size()) + " variables, " +
         std::to_string(relaxation.problem().rowLower.size()) +
         " rows; bound " + percent(answer.bound * relaxation.unit()) +
         " %, relaxed cost " + percent(answer.cost * relaxation.unit()) +
         " %, best known " +
         (bestCost == none ? "none" : percent(double(bestCost)) + " %") + "; " +
         std::to_string(answer.nodes) + " nodes, " +
         std::to_string(answer.iterations) + " iterations" +
         (answer.complete ? "" : ", not finished") + "; effort " +
         std::to_string(effort) + ", " +
         std::to_string(double(std::clock() - start) / CLOCKS_PER_SEC) + " s";
}

/// For a schedule that exceeds the budget between the moments: solves again
/// with a lower budget at the moments.
void Search::tighten(int64_t peak) {
  int64_t target = budget;
  for (int turn = 0; turn < 3 && peak > budget; ++turn) {
    target -= peak - budget;
    if (target < 0 || effort >= options.effort)
      return;
    Relaxation relaxation(in, target, moments, none);
    if (!relaxation.possible())
      return;
    MilpLimits limits;
    limits.gap = 1e-3;
    MilpAnswer answer = spend(relaxation, limits);
    if (answer.values.empty())
      return;
    Recomputations again = relaxation.schedule(answer.values);
    peak = Timeline(in, again).peak;
    if (peak <= budget) {
      greedy.allow(greedySteps);
      greedy.prune(again);
    }
    offer(again);
  }
}

/// False when nothing is left to do.
bool Search::round() {
  // A better schedule is cheaper by at least a step of cost.
  int64_t dearest = bestCost == none ? none : bestCost - in.costStep;
  Relaxation relaxation(in, budget, moments, dearest);
  if (!relaxation.possible()) {
    impossible = bestCost == none;
    bound = impossible ? bound : bestCost;
    return false;
  }
  if (rootEffort(relaxation.problem()) > 4 * options.effort)
    return false; // would exceed the effort by far
  MilpLimits limits;
  limits.gap = options.gap;
  if (bestCost != none)
    // Half a step of cost below the best schedule: every better one is below
    // that, and rounding errors are smaller.
    limits.cutoff = (static_cast<double>(bestCost) -
                     0.5 * static_cast<double>(in.costStep)) /
                    relaxation.unit();
  MilpAnswer answer = spend(relaxation, limits);
  if (options.log)
    options.log(describe(relaxation, answer));
  const bool more = effort < options.effort && secondsLeft() > 0;
  if (answer.values.empty()) {
    if (!answer.complete) {
      raiseBound(answer.bound * relaxation.unit());
      share = 1;
      return more;
    }
    impossible = bestCost == none;
    bound = impossible ? bound : bestCost;
    return false;
  }
  raiseBound(answer.bound * relaxation.unit());
  Recomputations again = relaxation.schedule(answer.values);
  Timeline line(in, again);
  offer(again);
  if (done())
    return false;
  bool refined = refine(again, line);
  if (line.peak > budget) {
    greedy.allow(greedySteps);
    if (greedy.shift(again) || greedy.descend(again))
      greedy.prune(again);
    offer(again);
    // A moment may exceed the budget within the program's tolerance.
    if (bestCost == none || !refined)
      tighten(line.peak);
  }
  if (!refined && !answer.complete)
    share = 1;
  return more && !done() && (refined || !answer.complete);
}

Answer Search::run(int64_t leastPeak) {
  firstSchedule();
  impossible = leastPeak > budget;
  if (!impossible && bestCost > 0)
    while (effort < options.effort && (++rounds, round()))
      ;
  Answer out;
  out.outcome = done()            ? Outcome::Optimal
                : bestCost < none ? Outcome::Feasible
                : impossible      ? Outcome::Impossible
                                  : Outcome::NotFound;
  Timeline line(in, bestCost < none ? best : lowest);
  out.schedule = line.steps;
  out.peakBytes = line.peak;
  out.extraCost = line.extraCost;
  out.lowerBound = bound;
  if (in.totalCost > 0) {
    out.extraPercent = 100.0 * double(out.extraCost) / double(in.totalCost);
    out.boundPercent = 100.0 * double(bound) / double(in.totalCost);
  }
  out.effort = effort;
  out.nodes = nodes;
  out.rounds = rounds;
  return out;
}

/// Bisects between the smallest known peak and the proven lower bound. Peaks
/// are multiples of `step`.
void lowerPeak(const Graph &graph, int64_t step, SolverOptions options,
               Answer &answer) {
  options.gap = 1e9; // any schedule will do
  const double most = answer.effort + options.effort / 2;
  options.effort /= 10;
  int64_t low = answer.leastPeak;
  const std::clock_t start = std::clock();
  for (int turn = 0;
       turn < 24 && low < answer.peakBytes && answer.effort < most; ++turn) {
    const int64_t middle = low + (answer.peakBytes - low) / step / 2 * step;
    if (options.seconds > 0 &&
        double(std::clock() - start) > options.seconds * CLOCKS_PER_SEC)
      return;
    Answer found = Search(graph, middle, options).run(low);
    answer.effort += found.effort;
    answer.nodes += found.nodes;
    answer.rounds += found.rounds;
    if (found.outcome == Outcome::Impossible && answer.leastPeak == low)
      answer.leastPeak = middle + step;
    if (found.peakBytes <= middle) {
      answer.schedule = std::move(found.schedule);
      answer.peakBytes = found.peakBytes;
      answer.extraCost = found.extraCost;
      answer.extraPercent = found.extraPercent;
    } else {
      low = middle + step;
    }
  }
}

} // namespace

Result<Answer> solve(const Graph &graph, int64_t budget,
                     const SolverOptions &options) {
  if (auto s = graph.check(); !s)
    return s.error();
  if (budget < 0)
    return Error{"expected at least 0 bytes, found " + std::to_string(budget),
                 "budget"};
  const int64_t floor = leastPeak(graph), step = Instance(graph).byteStep;
  Answer answer = Search(graph, budget, options).run(floor);
  answer.leastPeak = floor;
  if (answer.outcome == Outcome::Impossible)
    answer.leastPeak = std::max(floor, budget / step * step + step);
  if (answer.peakBytes > budget)
    lowerPeak(graph, step, options, answer);
  return answer;
}

} // namespace act::remat
