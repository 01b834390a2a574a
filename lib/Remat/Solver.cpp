// SPDX-License-Identifier: Apache-2.0
#include "act/Remat/Solver.h"
#include "act/Remat/LowerBound.h"
#include "lib/Remat/Greedy.h"
#include "lib/Remat/Relaxation.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace act::remat {
namespace {

constexpr int64_t none = INT64_MAX;

class Search {
public:
  Search(const Graph &graph, int64_t budget, const SolverOptions &options)
      : in(graph), budget(budget), options(options), greedy(in, budget) {}
  Answer run(int64_t leastPeak);

private:
  void offer(const Recomputations &again);
  void firstSchedule();
  bool round();
  bool refine(const Recomputations &again, const Timeline &line);
  bool done() const {
    return bestCost != none && static_cast<double>(bestCost) <=
                                   static_cast<double>(bound) * (1 + options.gap);
  }
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
  std::clock_t start = std::clock();
};

/// Remembers the schedule if it is the cheapest under the budget, or the lowest.
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

void Search::firstSchedule() {
  Recomputations again(in.size);
  Timeline line(in, again);
  for (size_t s = 0; s < line.steps.size(); ++s) {
    bool top = line.bytes[s] > budget &&
               (s == 0 || line.bytes[s - 1] < line.bytes[s]) &&
               (s + 1 == line.steps.size() ||
                line.bytes[s + 1] <= line.bytes[s]);
    if (top)
      moments.stages.insert(line.stage[s]);
  }
  moments.stages.insert(in.size - 1);
  offer(again);
  if (greedy.descend(again)) {
    greedy.prune(again);
    offer(again);
    greedy.improve(again, 30);
  }
  offer(again);
}

/// Adds the worst steps of the runs of steps above the budget; false if the
/// relaxation knew them all.
bool Search::refine(const Recomputations &again, const Timeline &line) {
  size_t known = moments.stages.size() + moments.events.size();
  for (size_t s = 0; s < line.steps.size(); ++s) {
    if (line.bytes[s] <= budget)
      continue;
    size_t worst = s;
    for (; s < line.steps.size() && line.bytes[s] > budget; ++s)
      if (line.bytes[s] > line.bytes[worst])
        worst = s;
    int32_t stage = line.stage[worst], node = line.steps[worst];
    if (node == stage) {
      moments.stages.insert(stage);
    } else {
      moments.isolate(stage);
      moments.events.insert({stage, node});
    }
  }
  return moments.stages.size() + moments.events.size() > known;
}

/// False when nothing is left to do.
bool Search::round() {
  // Better means better by a step of cost.
  int64_t dearest = bestCost == none ? none : bestCost - in.costStep;
  Relaxation relaxation(in, budget, moments, dearest);
  MilpLimits limits;
  limits.nodes = options.nodes - nodes;
  limits.seconds = secondsLeft();
  if (bestCost != none)
    limits.cutoff = (static_cast<double>(bestCost) -
                     0.5 * static_cast<double>(in.costStep)) /
                    relaxation.unit();
  MilpAnswer answer;
  if (relaxation.possible()) {
    answer = minimize(relaxation.problem(), limits);
  } else {
    answer.complete = true;
    answer.bound = limits.cutoff;
  }
  nodes += answer.nodes;
  const bool debug = getenv("REMAT_DEBUG");
  if (debug)
    fprintf(stderr, "round %ld moments %zu events %zu vars %zu rows %zu best %.4f bound %.4f cost %.4f complete %d nodes %ld t %.2f\n", rounds,
            moments.stages.size(), moments.events.size(),
            relaxation.problem().cost.size(), relaxation.problem().rowLower.size(),
            bestCost == none ? -1 : 100. * bestCost / in.totalCost,
            100. * answer.bound * relaxation.unit() / in.totalCost,
            100. * answer.cost * relaxation.unit() / in.totalCost,
            answer.complete, answer.nodes, double(std::clock() - start) / CLOCKS_PER_SEC);
  if (answer.complete && answer.values.empty()) {
    impossible = bestCost == none;
    bound = impossible ? bound : bestCost;
    return false;
  }
  // Costs come in steps: what is above one by more than noise is the next.
  double least = answer.bound * relaxation.unit() /
                 static_cast<double>(in.costStep);
  least = std::ceil(least - 1e-6 * std::max(1.0, std::abs(least)));
  if (least > 0)
    bound = std::max(bound, std::min(bestCost, static_cast<int64_t>(least) *
                                                   in.costStep));
  if (answer.values.empty())
    return false;
  Recomputations again = relaxation.schedule(answer.values);
  Timeline line(in, again);
  offer(again);
  if (done() || nodes >= options.nodes || secondsLeft() <= 0)
    return false;
  bool more = refine(again, line);
  if (line.peak > budget && greedy.descend(again)) {
    greedy.prune(again);
    offer(again);
  }
  return more && !done();
}

Answer Search::run(int64_t leastPeak) {
  firstSchedule();
  impossible = leastPeak > budget;
  if (!impossible && bestCost > 0)
    while (rounds++ < options.rounds && round())
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
  out.nodes = nodes;
  out.rounds = rounds;
  return out;
}

} // namespace

Result<Answer> solve(const Graph &graph, int64_t budget,
                     const SolverOptions &options) {
  if (auto s = graph.check(); !s)
    return s.error();
  if (budget < 0)
    return Error{"expected at least 0 bytes, found " + std::to_string(budget),
                 "budget"};
  return Search(graph, budget, options).run(leastPeak(graph));
}

} // namespace act::remat
