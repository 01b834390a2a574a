// SPDX-License-Identifier: Apache-2.0
#include "passes/act/RematPredict.h"
#include <set>

using namespace mlir;
using namespace act;

namespace {

constexpr size_t evaluationLimit = 20000;
constexpr size_t frontLimit = 400; // sets whose neighbours are looked at

/// Something that takes memory from one position to another.
struct Event {
  int32_t launch, op; // op -1: the launch itself
};

} // namespace

Predictor::Predictor(const Program &program, const Rates &rates,
                     std::vector<int> unitOf, int64_t units)
    : step(program, rates), unitOf(std::move(unitOf)), units(units),
      launches(program.launches.size()),
      boundary(program.backward.value_or(launches)), live(program.liveBytes()),
      fresh(launches) {
  for (const FlatBuffer &b : program.buffers)
    if (!b.parent && !b.reuses && !b.onHost)
      fresh[b.first] += b.bytes;
  size_t values = step.bytes.size();
  maker.assign(values, -1);
  last.assign(values, -1);
  lastForward.assign(values, -1);
  takenOver.assign(values, false);
  for (auto [i, op] : llvm::enumerate(step.ops))
    for (int32_t v : op.makes)
      if (maker[v] < 0)
        maker[v] = int32_t(i);
  for (unsigned t = 0; t < launches; ++t)
    for (int32_t v : step.touched[t]) {
      last[v] = int32_t(t);
      if (t < boundary)
        lastForward[v] = int32_t(t);
    }
  // In place: less is alive than is touched.
  for (unsigned t = 0; t < launches; ++t) {
    int64_t sum = 0;
    for (int32_t v : step.touched[t])
      sum += step.bytes[v];
    for (int32_t v : step.read[t])
      if (sum > step.touchedBytes[t] && last[v] == int32_t(t) &&
          step.bytes[v] == sum - step.touchedBytes[t])
        takenOver[v] = true;
  }
}

UnitFigures Predictor::predict(const OpSet &set) const {
  auto chosen = [&](int32_t op) {
    if (op < 0)
      return false;
    const StepOp &o = step.ops[op];
    return o.place >= 0 && unsigned(o.place) < set.size() &&
           set.test(o.place) && o.again && unsigned(o.launch) < boundary &&
           unitOf[o.launch] >= 0;
  };
  std::vector<int32_t> ends = lastForward; // of first instances, launches
  std::vector<int32_t> againEnds(step.bytes.size(), -1); // positions in events
  std::vector<char> ran(step.ops.size());
  std::vector<Event> events;
  UnitFigures out;
  std::function<void(int32_t, int32_t)> run = [&](int32_t op, int32_t t) {
    if (ran[op])
      return;
    ran[op] = true;
    auto inside = [&](int32_t v) {
      return chosen(maker[v]) &&
             unitOf[step.ops[maker[v]].launch] == unitOf[step.ops[op].launch];
    };
    for (int32_t v : step.ops[op].reads)
      if (inside(v))
        run(maker[v], t);
    for (int32_t v : step.ops[op].reads) {
      if (inside(v))
        againEnds[v] = int32_t(events.size());
      else
        ends[v] = std::max(ends[v], t);
    }
    out.cost += step.ops[op].cost;
    events.push_back({t, op});
  };
  for (unsigned t = boundary; t < launches; ++t) {
    for (int32_t v : step.read[t])
      if (chosen(maker[v]))
        run(maker[v], int32_t(t));
    for (int32_t v : step.read[t]) {
      if (chosen(maker[v]))
        againEnds[v] = int32_t(events.size());
      else
        ends[v] = std::max(ends[v], int32_t(t));
    }
    events.push_back({int32_t(t), -1});
  }
  out.cost /= units;

  std::vector<int64_t> change(launches + 1);
  for (size_t v = 0; v < step.bytes.size(); ++v) {
    int32_t made = maker[v] < 0 ? -1 : step.ops[maker[v]].launch;
    if (made < 0 || unsigned(made) >= boundary)
      continue;
    int32_t from = last[v] < 0 ? made - 1 : last[v];
    if (ends[v] > from) {
      int32_t first = from + (takenOver[v] ? 0 : 1);
      change[first] += step.bytes[v];
      change[ends[v] + 1] -= step.bytes[v];
    } else if (ends[v] < from) {
      change[ends[v] + 1] -= step.bytes[v];
      change[from + 1] += step.bytes[v];
    }
    if (ends[v] >= int32_t(boundary) &&
        unitOf[made] == std::max<int64_t>(0, units - 2) && !takenOver[v])
      out.saved += step.bytes[v];
  }
  auto beside = [&](unsigned t, int64_t bytes) {
    if (units == 1)
      out.working = std::max(out.working, bytes);
    else if (unitOf[t] >= 0)
      out.working = std::max(out.working, bytes - out.saved * unitOf[t]);
  };
  std::vector<int64_t> now(launches);
  int64_t sum = 0;
  for (unsigned t = 0; t < launches; ++t) {
    now[t] = live[t] + (sum += change[t]);
    if (t < boundary)
      beside(t, now[t]);
  }
  std::vector<std::vector<int32_t>> dies(events.size() + 1);
  int64_t again = 0;
  for (auto [k, event] : llvm::enumerate(events)) {
    unsigned t = event.launch;
    if (event.op < 0) {
      beside(t, now[t] + again);
    } else {
      for (int32_t v : step.ops[event.op].makes)
        if (againEnds[v] >= 0) {
          again += step.bytes[v];
          dies[againEnds[v]].push_back(v);
        }
      beside(t, now[t] - fresh[t] + again);
    }
    for (int32_t v : dies[k])
      again -= step.bytes[v];
  }
  return out;
}

namespace {

struct Point {
  UnitFigures figures;
  OpSet set;
  bool expanded = false;
};

bool notAbove(const UnitFigures &a, const UnitFigures &b) {
  return a.cost <= b.cost && a.saved <= b.saved && a.working <= b.working;
}

class Frontier {
public:
  Frontier(const Predictor &predictor) : predictor(predictor) {}

  void look(const OpSet &set) {
    if (known.size() >= evaluationLimit ||
        !known.insert(std::vector<uintptr_t>(set.getData())).second)
      return;
    UnitFigures f = predictor.predict(set);
    for (const Point &p : points)
      if (notAbove(p.figures, f))
        return;
    llvm::erase_if(points,
                   [&](const Point &p) { return notAbove(f, p.figures); });
    points.push_back({f, set});
  }

  void search(ArrayRef<unsigned> places) {
    for (size_t round = 0; round < frontLimit; ++round) {
      auto next =
          llvm::find_if(points, [](const Point &p) { return !p.expanded; });
      if (next == points.end() || known.size() >= evaluationLimit)
        return;
      next->expanded = true;
      OpSet set = next->set;
      for (size_t i = 0; i < places.size(); ++i) {
        OpSet one = set;
        one.flip(places[i]);
        look(one);
        for (size_t j = 0; j < i; ++j) {
          OpSet two = one;
          two.flip(places[j]);
          look(two);
        }
      }
    }
  }

  /// At most `limit`: those that are best for equal layers, of which there are
  /// one, two, four, ...
  std::vector<OpSet> best(size_t limit) {
    std::sort(points.begin(), points.end(), [](const Point &a, const Point &b) {
      return std::tuple(a.figures.cost, a.figures.saved, a.figures.working) <
             std::tuple(b.figures.cost, b.figures.saved, b.figures.working);
    });
    std::vector<OpSet> out;
    auto add = [&](const OpSet &s) {
      if (out.size() < limit && !llvm::is_contained(out, s))
        out.push_back(s);
    };
    if (points.size() > limit)
      for (int64_t layers : {1, 2, 4, 8, 32, 128}) {
        int64_t least = std::numeric_limits<int64_t>::max();
        for (const Point &p : points) {
          int64_t bytes = p.figures.working + (layers - 1) * p.figures.saved;
          if (bytes < least) {
            least = bytes;
            add(p.set);
          }
        }
      }
    for (const Point &p : points)
      add(p.set);
    return out;
  }

private:
  const Predictor &predictor;
  std::set<std::vector<uintptr_t>> known;
  std::vector<Point> points;
};

} // namespace

std::vector<OpSet> act::predictedFrontier(const Predictor &predictor,
                                          const std::vector<OpSet> &seeds,
                                          ArrayRef<unsigned> places,
                                          size_t limit) {
  Frontier frontier(predictor);
  for (const OpSet &seed : seeds)
    frontier.look(seed);
  frontier.search(places);
  return frontier.best(limit);
}
