// SPDX-License-Identifier: Apache-2.0
//
// The knapsack of Compose.h. A state is a partial sum: what the layers so far
// have saved and what they cost. States that another one beats in both are
// dropped, and so are those whose bound says that they cannot win.
#include "act/Remat/Compose.h"
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace act::remat {
namespace {

constexpr int64_t never = mostCost;

/// The choices of a chain in forward's order: by descending working - saved.
/// Equal ones keep the order of their numbers, so that the answer is unique.
std::vector<int32_t> orderOf(const LayerChain &chain) {
  std::vector<int32_t> order(chain.choices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const UnitChoice &x = chain.choices[a], &y = chain.choices[b];
    return std::pair(y.working - y.saved, a) <
           std::pair(x.working - x.saved, b);
  });
  return order;
}

/// A partial sum: the units so far are the path back through `parent`.
struct State {
  int64_t saved = 0, cost = 0;
  int32_t parent = -1, choice = -1;
  double bound = 0; // lower bound on the final cost
};

class Search {
public:
  Search(const StackProblem &p, int64_t budget) : p(p), budget(budget) {
    for (const LayerChain &chain : p.chains)
      orders.push_back(orderOf(chain));
    prices();
  }

  /// Keeps at most `width` states per number of layers; finds nothing that
  /// costs `limit` or more.
  Stack run(int64_t width, int64_t limit);

private:
  void prices();
  double bound(const State &s, size_t chain, size_t stage,
               int64_t layers) const;
  void thin(std::vector<int32_t> &front, int64_t width) const;
  void merge(std::vector<int32_t> &front, std::vector<int32_t> &fresh) const;

  const StackProblem &p;
  int64_t budget;
  std::vector<std::vector<int32_t>> orders;
  std::vector<double> price;
  /// [price][chain][stage]: minimum of cost plus price of bytes, per layer,
  /// over the choices from that stage on.
  std::vector<std::vector<std::vector<double>>> least;
  std::vector<State> states;
};

// Prices for the bound, which is that of Lagrange: for any price x >= 0 of a
// saved byte, no feasible stack costs less than the minimum of cost + x *
// (saved - room). That minimum splits by layer. As a function of x it bends
// only where two choices change places, so the slopes between choices are the
// candidates. Keeps the one with the best bound at the root, and its
// neighbours: with less room left, another price may be the best.
void Search::prices() {
  std::vector<double> all{0};
  for (const LayerChain &chain : p.chains)
    for (const UnitChoice &a : chain.choices)
      for (const UnitChoice &b : chain.choices) {
        double bytes = double(a.saved) / a.layers - double(b.saved) / b.layers;
        double cost = double(b.cost) / b.layers - double(a.cost) / a.layers;
        if (bytes > 0 && cost > 0)
          all.push_back(cost / bytes);
      }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  auto table = [&](double x) {
    std::vector<std::vector<double>> t;
    for (size_t c = 0; c < p.chains.size(); ++c) {
      std::vector<double> from(orders[c].size() + 1, 1e300);
      for (size_t i = orders[c].size(); i-- > 0;) {
        const UnitChoice &u = p.chains[c].choices[orders[c][i]];
        from[i] = std::min(from[i + 1],
                           (double(u.cost) + x * double(u.saved)) / u.layers);
      }
      t.push_back(std::move(from));
    }
    return t;
  };
  std::vector<std::pair<double, size_t>> value;
  for (size_t i = 0; i < all.size(); ++i) {
    auto t = table(all[i]);
    double sum =
        -all[i] *
        double(budget - (p.chains.empty() ? 0 : p.chains.back().behind));
    for (size_t c = 0; c < p.chains.size(); ++c)
      sum += double(p.chains[c].layers) * t[c][0];
    value.push_back({-sum, i});
  }
  std::sort(value.begin(), value.end());
  for (size_t k = 0; k < std::min<size_t>(6, value.size()); ++k) {
    price.push_back(all[value[k].second]);
    least.push_back(table(price.back()));
  }
}

/// A lower bound on a state's final cost, from the linear relaxation. It knows
/// only that everything saved has to fit at the end, not what runs in between.
double Search::bound(const State &s, size_t chain, size_t stage,
                     int64_t layers) const {
  const double room = double(budget - p.chains.back().behind - s.saved);
  double best = 0;
  for (size_t k = 0; k < price.size(); ++k) {
    double sum = double(s.cost) - price[k] * room;
    if (layers)
      sum += double(layers) * least[k][chain][stage];
    for (size_t c = chain + 1; c < p.chains.size(); ++c)
      sum += double(p.chains[c].layers) * least[k][c][0];
    best = std::max(best, sum);
  }
  return best;
}

/// Keeps the `width` states with the smallest bounds.
void Search::thin(std::vector<int32_t> &front, int64_t width) const {
  std::vector<int32_t> some = front;
  std::nth_element(some.begin(), some.begin() + width, some.end(),
                   [&](int32_t a, int32_t b) {
                     return std::pair(states[a].bound, a) <
                            std::pair(states[b].bound, b);
                   });
  some.resize(width);
  std::sort(some.begin(), some.end(), [&](int32_t a, int32_t b) {
    return states[a].saved < states[b].saved;
  });
  front = std::move(some);
}

/// Both lists are sorted by saved bytes, with falling costs. Keeps the
/// undominated states of both.
void Search::merge(std::vector<int32_t> &front,
                   std::vector<int32_t> &fresh) const {
  if (fresh.empty())
    return;
  std::vector<int32_t> all;
  std::merge(front.begin(), front.end(), fresh.begin(), fresh.end(),
             std::back_inserter(all), [&](int32_t a, int32_t b) {
               return std::pair(states[a].saved, states[a].cost) <
                      std::pair(states[b].saved, states[b].cost);
             });
  front.clear();
  int64_t cost = never;
  for (int32_t s : all)
    if (states[s].cost < cost) {
      cost = states[s].cost;
      front.push_back(s);
    }
}

/// fronts[l] holds the undominated states with l layers of the chain decided,
/// by ascending saved bytes. Choices are taken in forward's order, one stage
/// after the other, so a state never goes back to an earlier choice.
Stack Search::run(int64_t width, int64_t limit) {
  Stack out;
  out.complete = true;
  states.assign(1, State{});
  std::vector<int32_t> starts{0};
  for (size_t c = 0; c < p.chains.size(); ++c) {
    const LayerChain &chain = p.chains[c];
    std::vector<std::vector<int32_t>> fronts(chain.layers + 1);
    fronts[0] = starts;
    for (size_t stage = 0; stage < orders[c].size(); ++stage) {
      const int32_t choice = orders[c][stage];
      const UnitChoice &u = chain.choices[choice];
      // Ascending, so a front already has the states that this choice made: it
      // can be taken any number of times.
      for (int64_t l = u.layers; l <= chain.layers; ++l) {
        std::vector<int32_t> fresh;
        for (int32_t from : fronts[l - u.layers]) {
          const State s = states[from];
          if (s.saved > budget - u.working)
            break; // the others have saved more
          State next{s.saved + u.saved, s.cost + u.cost, from, choice, 0};
          if (next.cost >= limit)
            continue;
          next.bound = bound(next, c, stage, chain.layers - l);
          // The bound is a sum in floating point. The margin keeps its rounding
          // from dropping the optimum.
          if (next.bound >= double(limit) * (1 + 1e-12))
            continue;
          states.push_back(next);
          fresh.push_back(int32_t(states.size()) - 1);
        }
        merge(fronts[l], fresh);
        if (int64_t(fronts[l].size()) <= width)
          continue;
        out.complete = false;
        thin(fronts[l], width);
      }
    }
    starts.clear();
    for (int32_t s : fronts[chain.layers])
      if (states[s].saved <= budget - chain.behind)
        starts.push_back(s);
  }
  if (starts.empty() || budget < p.apart)
    return out;
  int32_t at = starts.back(); // saves most, so costs least
  out.found = true;
  out.cost = states[at].cost;
  std::vector<int32_t> choices;
  for (; states[at].parent >= 0; at = states[at].parent)
    choices.push_back(states[at].choice);
  std::reverse(choices.begin(), choices.end());
  size_t next = 0;
  for (const LayerChain &chain : p.chains) {
    auto &runs = out.chains.emplace_back();
    for (int64_t l = 0; l < chain.layers;) {
      int32_t choice = choices[next++];
      l += chain.choices[choice].layers;
      if (runs.empty() || runs.back().choice != choice)
        runs.push_back({choice, 0});
      ++runs.back().units;
    }
  }
  out.peak = peakOf(p, out);
  return out;
}

} // namespace

/// A narrow search comes first. If it is complete, its stack is the cheapest;
/// if not, its cost is a limit that makes the wide search shorter.
Stack compose(const StackProblem &problem, int64_t budget, int64_t states,
              int64_t limit) {
  Search search(problem, budget);
  Stack quick = search.run(std::min<int64_t>(64, states), limit);
  if (quick.complete)
    return quick;
  Stack better = search.run(states, quick.found ? quick.cost : limit);
  if (better.found)
    return better;
  quick.complete = better.complete;
  return quick;
}

/// Bisects: what fits in a budget fits in a larger one. For a budget it is
/// enough to know the fewest bytes saved by each number of layers, because
/// fewer saved bytes never make a later unit impossible.
int64_t leastBudget(const StackProblem &problem) {
  std::vector<std::vector<int32_t>> orders;
  int64_t low = problem.apart, high = problem.apart;
  for (const LayerChain &chain : problem.chains) {
    orders.push_back(orderOf(chain));
    int64_t most = 0;
    for (const UnitChoice &u : chain.choices)
      most = std::max(most, u.working + u.saved);
    high += std::max(chain.behind, int64_t(0)) + most * (chain.layers + 1);
  }
  auto feasible = [&](int64_t budget) {
    int64_t saved = 0;
    for (size_t c = 0; c < problem.chains.size(); ++c) {
      const LayerChain &chain = problem.chains[c];
      std::vector<int64_t> least(chain.layers + 1, never);
      least[0] = saved;
      for (int32_t choice : orders[c]) {
        const UnitChoice &u = chain.choices[choice];
        for (int64_t l = u.layers; l <= chain.layers; ++l)
          if (least[l - u.layers] <= budget - u.working)
            least[l] = std::min(least[l], least[l - u.layers] + u.saved);
      }
      saved = least[chain.layers];
      if (saved > budget - chain.behind)
        return false;
    }
    return true;
  };
  if (!feasible(high))
    return -1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (feasible(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

int64_t peakOf(const StackProblem &problem, const Stack &stack) {
  int64_t peak = problem.apart, saved = 0;
  for (size_t c = 0; c < problem.chains.size(); ++c) {
    for (const UnitRun &run : stack.chains[c])
      for (int64_t i = 0; i < run.units; ++i) {
        const UnitChoice &u = problem.chains[c].choices[run.choice];
        peak = std::max(peak, saved + u.working);
        saved += u.saved;
      }
    peak = std::max(peak, saved + problem.chains[c].behind);
  }
  return peak;
}

} // namespace act::remat
