// SPDX-License-Identifier: Apache-2.0
//
// Runs the methods from the fastest to the complete one, and keeps the lowest
// plan. Which capacities a search is tried at is decided here; how to search is
// not.
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "lib/Plan/Greedy.h"
#include "lib/Plan/SkylineSearch.h"
#include "lib/Plan/WindowSearch.h"
#include <algorithm>
#include <memory>

namespace act::plan {
namespace {

class Solver {
public:
  Solver(const Problem &problem, const SolverOptions &options)
      : options(options), sections(problem) {
    best.lowerBoundBytes = problem.lowerBound();
    best.provenBytes = std::max(best.lowerBoundBytes, sections.largestBytes());
    best.arenaBytes = INT64_MAX;
  }

  Plan minimise();
  Outcome fit(int64_t capacity);

  Plan best;

private:
  /// Tries the methods that take milliseconds and keeps the lowest plan; stops
  /// at `capacity`.
  bool tryFast(int64_t capacity);
  bool tryOrders(int64_t capacity, bool slow);
  Outcome search(int64_t capacity, uint64_t nodes);
  SkylineSearch &skylineSearch();
  void keep(const std::vector<int64_t> &units, const std::string &method);
  uint64_t left() const {
    return options.nodes - std::min(options.nodes, best.nodes);
  }

  const SolverOptions &options;
  Sections sections;
  std::unique_ptr<SkylineSearch> skyline;
  std::unique_ptr<WindowSearch> window;
};

/// Every plan goes through here, in bytes: two plans of the same height in
/// units can differ in bytes, because the topmost buffer is not rounded up.
void Solver::keep(const std::vector<int64_t> &units,
                  const std::string &method) {
  Plan plan = best;
  sections.finish(units, plan);
  plan.method = method;
  if (plan.arenaBytes < best.arenaBytes)
    best = std::move(plan);
}

SkylineSearch &Solver::skylineSearch() {
  if (!skyline)
    skyline = std::make_unique<SkylineSearch>(sections, options.seed);
  return *skyline;
}

/// Hints are tried first and dropped if they cost height: the second turn
/// places the same orders without them, and a lower plan replaces the first
/// one.
bool Solver::tryOrders(int64_t capacity, bool slow) {
  for (bool hints : {true, false}) {
    if (hints && !sections.hinted())
      continue;
    Greedy greedy(sections, sections.capacityUnits(capacity), hints);
    greedy.tryOrders(slow);
    keep(greedy.offsets(), greedy.method());
    if (best.arenaBytes <= capacity)
      return true;
  }
  return false;
}

/// From the fastest method on: the fast greedy orders, one descent on the
/// skyline, the slow orders. The descent knows no windows.
bool Solver::tryFast(int64_t capacity) {
  if (tryOrders(capacity, false))
    return true;
  if (!sections.windowed() && options.nodes > 0 &&
      skylineSearch().dive(capacity) == Outcome::Found)
    keep(skyline->offsets(), "stacked");
  return best.arenaBytes <= capacity || tryOrders(capacity, true);
}

/// Nodes and proofs are added to `best`, whichever search made them. Only a
/// complete search that ends without a plan raises the proven bound.
Outcome Solver::search(int64_t capacity, uint64_t nodes) {
  auto with = [&](auto &search) {
    uint64_t before = search.nodes();
    Outcome outcome = search.run(capacity, nodes);
    best.nodes += search.nodes() - before;
    if (outcome == Outcome::Found)
      keep(search.offsets(), "searched");
    if (outcome == Outcome::Impossible)
      best.provenBytes = std::max(best.provenBytes, capacity + 1);
    return outcome;
  };
  if (!sections.windowed())
    return with(skylineSearch());
  if (!window)
    window = std::make_unique<WindowSearch>(sections);
  return with(*window);
}

Outcome Solver::fit(int64_t capacity) {
  if (capacity < best.provenBytes)
    return Outcome::Impossible;
  return tryFast(capacity) ? Outcome::Found : search(capacity, options.nodes);
}

/// First searches at the bound, where most problems have a plan. Then bisects
/// between the best plan and the largest capacity that failed.
Plan Solver::minimise() {
  const int64_t step = sections.stepBytes();
  auto roundUp = [&](int64_t x) { return (x + step - 1) / step * step; };
  best.provenBytes = roundUp(best.provenBytes);
  tryFast(best.provenBytes);
  int64_t low = best.provenBytes;
  uint64_t share = options.nodes / 2;
  for (int64_t at = low; at < best.arenaBytes && left() > 0;) {
    Outcome outcome =
        search(at, std::min(left(), std::max<uint64_t>(share, 1)));
    // A search that gave up raises `low` as well: the nodes left are better
    // spent on capacities with more room. It proves nothing, so provenBytes
    // stays.
    if (outcome != Outcome::Found)
      low = roundUp(at + 1);
    best.provenBytes = roundUp(best.provenBytes);
    at = low + (best.arenaBytes - low) / 2 / step * step;
    share = left() / 4;
  }
  best.provenBytes = std::min(best.provenBytes, best.arenaBytes);
  return std::move(best);
}

std::string bytes(int64_t n) { return std::to_string(n) + " bytes"; }

/// Validates the fixed buffers on their own: if they overlap, there is no plan.
Status check(const Problem &problem) {
  if (Status s = problem.check(); !s)
    return s;
  Problem fixed;
  Plan plan;
  for (const Buffer &b : problem.buffers)
    if (b.offset) {
      fixed.buffers.push_back(b);
      plan.offsets.push_back(*b.offset);
      plan.arenaBytes = std::max(plan.arenaBytes, *b.offset + b.bytes);
    }
  if (auto verdict = validate(fixed, plan); !verdict)
    return Error{"no plan keeps the fixed offsets: " + verdict.error().message,
                 ""};
  return ok();
}

} // namespace

Result<Plan> solve(const Problem &problem, const SolverOptions &options) {
  if (Status s = check(problem); !s)
    return s.error();
  return Solver(problem, options).minimise();
}

Result<Plan> fit(const Problem &problem, int64_t capacity,
                 const SolverOptions &options) {
  if (Status s = check(problem); !s)
    return s.error();
  const std::string refusal = "no plan fits in " + bytes(capacity);
  int64_t when = 0, live = problem.lowerBound(&when);
  if (live > capacity)
    return Error{refusal + ": " + bytes(live) + " are live at " +
                     std::to_string(when),
                 ""};
  for (const Buffer &b : problem.buffers)
    if (int64_t at = b.offset.value_or(0); at + b.bytes > capacity)
      return Error{refusal + ": buffer '" + b.name + "' " +
                       (b.offset ? "is fixed at offset " + std::to_string(at) +
                                       " and has "
                                 : "has ") +
                       bytes(b.bytes),
                   ""};
  Solver solver(problem, options);
  switch (solver.fit(capacity)) {
  case Outcome::Found:
    return std::move(solver.best);
  case Outcome::Impossible:
    return Error{refusal + ", though only " + bytes(live) + " are live at " +
                     std::to_string(when) + ": the search was complete, with " +
                     std::to_string(solver.best.nodes) + " nodes",
                 ""};
  case Outcome::GaveUp:
    break;
  }
  return Error{"no plan was found that fits in " + bytes(capacity) + " with " +
                   std::to_string(solver.best.nodes) + " nodes; " +
                   bytes(live) + " are live at " + std::to_string(when) +
                   ", and the lowest plan found needs " +
                   bytes(solver.best.arenaBytes),
               ""};
}

} // namespace act::plan
