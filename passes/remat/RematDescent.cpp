// SPDX-License-Identifier: Apache-2.0
//
// Greedy steps on predictions, with a limit on their number so that the time
// does not grow with the function.
#include "passes/remat/RematDescent.h"

using namespace mlir;
using namespace act;

// Limits on predictions: in total, and per step that tries pairs of ops.
static constexpr size_t predictionLimit = 10000;
static constexpr size_t pairLimit = 300;

Descent::Descent(const Predictor &predictor, ArrayRef<unsigned> places)
    : predictor(predictor), left(predictionLimit) {
  for (unsigned p : places) {
    allowed.resize(std::max(allowed.size(), p + 1));
    allowed.set(p);
  }
}

Predictor::Need Descent::need(const OpSet &set, int64_t budget) {
  left -= left > 0;
  return predictor.need(set, budget);
}

/// Makes `set` the best so far if it lowers tightness most per cost. A set
/// without extra cost comes first.
void Descent::look(OpSet set, const Predictor::Need &from, int64_t budget,
                   Step &best) {
  Predictor::Need n = need(set, budget);
  if (n.tightness >= from.tightness)
    return;
  double gain = (from.tightness - n.tightness) /
                double(std::max<int64_t>(n.cost - from.cost, 1));
  if (gain > best.gain)
    best = {std::move(set), n, gain};
}

// Only ops at the peak can lower it, so only those are flipped. Pairs are tried
// when no single op helps: dropping a value alone may only make another one
// live longer.
bool Descent::descend(OpSet &set, int64_t budget) {
  Predictor::Need now = need(set, budget);
  while (now.peak > budget && left) {
    std::vector<unsigned> places = predictor.placesAtPeak(set);
    llvm::erase_if(places, [&](unsigned p) {
      return p >= allowed.size() || !allowed.test(p) || p >= set.size();
    });
    Step best;
    // Flips p alone, and if it is not set, also adds the ops it needs to run
    // again.
    auto steps = [&](const OpSet &from, unsigned p) {
      SmallVector<OpSet, 2> out{from};
      out[0].flip(p);
      if (!from.test(p))
        out.push_back(predictor.with(from, p, allowed));
      return out;
    };
    for (unsigned p : places)
      for (OpSet &one : steps(set, p))
        look(std::move(one), now, budget, best);
    size_t pairs = 0;
    for (size_t i = 0; i < places.size() && best.gain == 0; ++i)
      for (const OpSet &one : steps(set, places[i]))
        for (size_t j = 0; j < places.size() && pairs < pairLimit; ++j)
          for (OpSet &two : steps(one, places[j])) {
            look(std::move(two), now, budget, best);
            ++pairs;
          }
    if (best.gain == 0)
      return false;
    set = std::move(best.set);
    now = best.need;
  }
  return now.peak <= budget;
}

void Descent::economise(OpSet &set, int64_t budget) {
  int64_t cost = need(set, budget).cost;
  std::vector<std::pair<int64_t, unsigned>> savings;
  for (unsigned p : set.set_bits())
    if (p >= allowed.size() || allowed.test(p))
      savings.push_back({predictor.costOf(p), p});
  std::sort(savings.begin(), savings.end(), [](auto &a, auto &b) {
    return std::pair(-a.first, a.second) < std::pair(-b.first, b.second);
  });
  for (auto [saving, p] : savings) {
    if (saving <= 0 || !left)
      continue;
    OpSet without = set;
    without.reset(p);
    Predictor::Need n = need(without, budget);
    if (n.peak > budget || n.cost >= cost)
      continue;
    cost = n.cost;
    set = std::move(without);
  }
}
