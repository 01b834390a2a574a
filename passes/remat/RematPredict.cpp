// SPDX-License-Identifier: Apache-2.0
//
// Replays backward on the list of ops (StepOps) with a set of ops run again,
// and searches sets by such predictions. Nothing here touches the IR. A
// prediction only has to rank sets well: those that matter are measured
// afterwards.
#include "passes/remat/RematPredict.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace act;

namespace {

constexpr size_t evaluationLimit = 20000;
constexpr size_t frontLimit = 400; // sets whose neighbours are tried
constexpr double sharpness = 40;   // of Need::tightness: a factor e for 2.5 %

} // namespace

Predictor::Predictor(const Program &program, const Rates &rates,
                     std::vector<int> unitOf, int64_t units,
                     std::optional<unsigned> apartBegin)
    : step(program, rates), unitOf(std::move(unitOf)), units(units),
      launches(program.launches.size()),
      boundary(program.backward.value_or(launches)), live(program.liveBytes()),
      fresh(launches), apartBegin(apartBegin) {
  for (const FlatBuffer &b : program.buffers)
    if (!b.parent && !b.reuses && !b.onHost)
      fresh[b.first] += b.bytes;
  size_t values = step.bytes.size();
  maker.assign(values, -1);
  last.assign(values, -1);
  lastForward.assign(values, -1);
  takenOver.assign(values, false);
  isStatistic.assign(values, false);
  for (auto [i, op] : llvm::enumerate(step.ops))
    for (auto [k, v] : llvm::enumerate(op.makes))
      if (maker[v] < 0) {
        maker[v] = int32_t(i);
        isStatistic[v] = k > 0 && !op.isTable;
      }
  for (unsigned t = 0; t < launches; ++t)
    for (int32_t v : step.touched[t]) {
      last[v] = int32_t(t);
      if (t < boundary)
        lastForward[v] = int32_t(t);
    }
  // If fewer bytes are touched than the values add up to, a result reuses an
  // operand's memory in place. Which operand is told by its size.
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

/// Whether backward reads a copy of the value. In @grad's own body statistics
/// stay kept, as recomputeAcross keeps them.
bool Predictor::isMadeAgain(const OpSet &set, int32_t value) const {
  if (maker[value] < 0 || (apartBegin && isStatistic[value]))
    return false;
  const StepOp &o = step.ops[maker[value]];
  return o.place >= 0 && unsigned(o.place) < set.size() && set.test(o.place) &&
         o.again && unsigned(o.launch) < boundary && unitOf[o.launch] >= 0;
}

bool Predictor::runsApart(const OpSet &set, int32_t op) const {
  int32_t place = step.ops[op].place;
  return apartBegin && place >= 0 && *apartBegin + place < set.size() &&
         set.test(*apartBegin + place);
}

/// Fills in the events of backward, instances, ends and the cost. As in the
/// rewrite, an op runs again just before the first launch that needs it, and
/// what it reads runs again just before that:
///
///   launches of backward      t0            t1
///   events                    t0   f   g    t1        t1 reads g(f(x))
///
/// A kept value ends at a launch: x at t1, the launch that f runs for. A copy
/// ends at an event: f's result at g.
void Predictor::runAgain(const OpSet &set, Replay &out) const {
  out.ends = lastForward;
  // Instances with no reader of their own; instancesFor: by value and reader,
  // as in recomputeAcross.
  std::vector<int32_t> instances(step.bytes.size(), -1);
  std::vector<char> ran(step.ops.size());
  using Key = std::pair<int32_t, int32_t>;
  llvm::DenseMap<Key, int32_t> instancesFor;
  llvm::DenseSet<Key> ranFor;
  std::vector<char> apart(step.ops.size()), madeAgain(step.bytes.size());
  for (size_t i = 0; i < apart.size(); ++i)
    apart[i] = runsApart(set, int32_t(i));
  for (size_t v = 0; v < madeAgain.size(); ++v)
    madeAgain[v] = isMadeAgain(set, int32_t(v));
  auto whose = [&](int32_t op, int32_t reader) {
    return apart[op] ? reader : -1;
  };
  auto read = [&](int32_t v, int32_t reader) {
    int32_t copyFor = whose(maker[v], reader), at = instances[v];
    if (copyFor >= 0) {
      auto it = instancesFor.find({v, copyFor});
      at = it == instancesFor.end() ? -1 : it->second;
    }
    if (at >= 0)
      out.instances[at].end = int32_t(out.events.size());
  };
  std::function<void(int32_t, int32_t, int32_t)> run =
      [&](int32_t op, int32_t t, int32_t reader) {
        const int32_t copyFor = whose(op, reader);
        if (copyFor < 0 ? ran[op] : !ranFor.insert({op, copyFor}).second)
          return;
        ran[op] |= copyFor < 0;
        int32_t inner = apart[op] ? reader : op;
        // Only within one layer: what the layer before passes on is kept.
        auto inside = [&](int32_t v) {
          return madeAgain[v] && unitOf[step.ops[maker[v]].launch] ==
                                     unitOf[step.ops[op].launch];
        };
        for (int32_t v : step.ops[op].reads)
          if (inside(v))
            run(maker[v], t, inner);
        for (int32_t v : step.ops[op].reads) {
          if (inside(v))
            read(v, inner);
          else
            out.ends[v] = std::max(out.ends[v], t);
        }
        for (int32_t v : step.ops[op].makes) {
          (copyFor < 0 ? instances[v] : instancesFor[{v, copyFor}]) =
              int32_t(out.instances.size());
          out.instances.push_back({v, int32_t(out.events.size())});
        }
        out.cost += step.ops[op].cost;
        out.events.push_back({t, op});
      };
  for (unsigned t = boundary; t < launches; ++t) {
    for (int32_t v : step.read[t])
      if (madeAgain[v])
        run(maker[v], int32_t(t), -1);
    for (int32_t v : step.read[t]) {
      if (madeAgain[v])
        read(v, -1);
      else
        out.ends[v] = std::max(out.ends[v], int32_t(t));
    }
    out.events.push_back({int32_t(t), -1});
  }
  out.cost /= units;
}

/// Fills in the live bytes: those of the step as it is, changed where a value
/// dies earlier or later than before, plus those of the copies. In forward a
/// moment is a launch, in backward an event.
void Predictor::follow(Replay &out) const {
  out.change.assign(launches + 1, 0);
  for (size_t v = 0; v < step.bytes.size(); ++v) {
    int32_t made = madeAt(v), end = out.ends[v];
    if (made < 0 || unsigned(made) >= boundary)
      continue;
    int32_t from = last[v] < 0 ? made - 1 : last[v];
    // A value that lives on needs memory of its own from the launch at which
    // another one would have taken over its memory.
    if (end > from) {
      out.change[from + (takenOver[v] ? 0 : 1)] += step.bytes[v];
      out.change[end + 1] -= step.bytes[v];
    } else if (end < from) {
      out.change[end + 1] -= step.bytes[v];
      out.change[from + 1] += step.bytes[v];
    }
  }
  std::vector<int64_t> now(launches);
  int64_t sum = 0;
  for (unsigned t = 0; t < launches; ++t)
    now[t] = live[t] + (sum += out.change[t]);
  out.bytes.assign(now.begin(), now.begin() + boundary);
  std::vector<int64_t> born(out.events.size() + 1), dies(born.size());
  for (const Replay::Instance &i : out.instances)
    if (i.end >= 0) {
      born[i.begin] += step.bytes[i.value];
      dies[i.end] += step.bytes[i.value];
    }
  int64_t again = 0;
  for (auto [k, event] : llvm::enumerate(out.events)) {
    unsigned t = event.launch;
    again += born[k];
    // While an op runs again for a launch, the launch's results are not there
    // yet.
    out.bytes.push_back(now[t] - (event.op < 0 ? 0 : fresh[t]) + again);
    again -= dies[k];
  }
}

Predictor::Replay Predictor::replay(const OpSet &set) const {
  Replay out;
  runAgain(set, out);
  follow(out);
  return out;
}

// The same figures as RematMeasure reads off a written program: what the last
// unit but one saves, and the most that a unit needs beside what others saved.
UnitFigures Predictor::predict(const OpSet &set) const {
  Replay r = replay(set);
  UnitFigures out;
  out.cost = r.cost;
  for (size_t v = 0; v < step.bytes.size(); ++v)
    if (int32_t made = madeAt(v);
        made >= 0 && unsigned(made) < boundary &&
        r.ends[v] >= int32_t(boundary) &&
        unitOf[made] == std::max<int64_t>(0, units - 2) && !takenOver[v])
      out.saved += step.bytes[v];
  for (auto [m, bytes] : llvm::enumerate(r.bytes)) {
    int unit = unitOf[m < boundary ? m : r.events[m - boundary].launch];
    if (units == 1)
      out.working = std::max(out.working, bytes);
    else if (unit >= 0)
      out.working = std::max(out.working, bytes - out.saved * unit);
  }
  return out;
}

Predictor::Need Predictor::need(const OpSet &set, int64_t budget) const {
  Replay r = replay(set);
  Need out;
  out.cost = r.cost;
  for (int64_t bytes : r.bytes) {
    out.peak = std::max(out.peak, bytes);
    double above = sharpness * (double(bytes) / double(budget) - 1);
    if (above > -8) // below that the term is negligible
      out.tightness += std::exp(above);
  }
  return out;
}

int64_t Predictor::costOf(unsigned bit) const {
  unsigned place = apartBegin && bit >= *apartBegin ? bit - *apartBegin : bit;
  for (const StepOp &op : step.ops)
    if (op.place == int32_t(place) && unsigned(op.launch) < boundary)
      return op.cost;
  return 0;
}

OpSet Predictor::with(OpSet set, unsigned place, const OpSet &allowed) const {
  Replay r = replay(set);
  std::vector<int32_t> work;
  auto add = [&](int32_t op) {
    const StepOp &o = step.ops[op];
    if (o.again && o.place >= 0 && unsigned(o.place) < allowed.size() &&
        allowed.test(o.place) && !set.test(o.place)) {
      set.set(o.place);
      work.push_back(op);
    }
  };
  for (auto [i, op] : llvm::enumerate(step.ops))
    if (op.place == int32_t(place) && unsigned(op.launch) < boundary)
      add(int32_t(i));
  while (!work.empty()) {
    int32_t op = work.back();
    work.pop_back();
    for (int32_t v : step.ops[op].reads)
      if (maker[v] >= 0 && r.ends[v] < int32_t(boundary))
        add(maker[v]);
  }
  return set;
}

std::vector<unsigned> Predictor::placesAtPeak(const OpSet &set) const {
  Replay r = replay(set);
  auto worst = int32_t(std::max_element(r.bytes.begin(), r.bytes.end()) -
                       r.bytes.begin());
  int32_t event = worst - int32_t(boundary);
  int32_t launch = event < 0 ? worst : r.events[event].launch;
  std::set<unsigned> places;
  auto add = [&](int32_t op) {
    if (op >= 0 && step.ops[op].place >= 0 && step.ops[op].again)
      places.insert(unsigned(step.ops[op].place));
  };
  for (const Event &e : r.events)
    if (e.op >= 0 && e.launch == launch)
      add(e.op);
  for (const Replay::Instance &i : r.instances)
    if (event >= 0 && i.begin <= event && i.end >= event)
      add(maker[i.value]);
  for (size_t v = 0; v < step.bytes.size(); ++v)
    if (int32_t made = madeAt(v);
        made >= 0 && made <= launch && r.ends[v] >= launch)
      add(maker[v]);
  return {places.begin(), places.end()};
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

/// Local search from the seeds. A set is a point in cost, saved and working
/// bytes; those that no other point is below are kept, and their neighbours are
/// looked at until none is new.
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

  /// At most `limit` sets: the best for one, two, four, ... equal layers, then
  /// the cheapest. With many layers, bytes saved count many times and working
  /// bytes once, so the best set depends on the number of layers.
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
