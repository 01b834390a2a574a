// SPDX-License-Identifier: Apache-2.0
//
// The problem at chosen moments only, as a mixed-integer program. Moment t is
// the step in which t is computed first. Between two moments lies an interval
// of stages, for which the program only has which nodes are computed again in
// it at least once:
//
//      interval 0          interval 1            interval 2
//   |0 1 2 ... t0|t0+1 ............... t1|t1+1 .............. t2|
//               keep[0]                 keep[1]                keep[2]
//                     again[1]                again[2]
//
//   minimise  sum of cost(i) * again[k][i]
//   keep[k][i] <= keep[k-1][i] + again[k][i]     only what exists can be kept
//   again[k][j] <= keep[k-1][a] + again[k][a]    for each input a of j
//            1 <= keep[k-1][a] + again[k][a]     if j is computed first in k
//   sum of bytes(i) * keep[k][i]
//       <= budget - bytes(t) - inputs(t) - workspace(t)
//
// where first computations in an interval are free. Every schedule satisfies
// this, whatever it does between the moments, so the minimum is a lower bound
// for all schedules. More moments raise it.
//
// A stage that is an interval by itself can be modelled in detail. Its
// recomputations are in ascending order, so the tensors alive when k is
// computed in it are known: those kept into it or made in it that are needed
// later. These constraints are `events`. With every moment and every event,
// this is the stage-wise formulation itself.
#ifndef ACT_LIB_REMAT_RELAXATION_H
#define ACT_LIB_REMAT_RELAXATION_H
#include "lib/Remat/Milp.h"
#include "lib/Remat/Timeline.h"
#include <set>

namespace act::remat {

struct Moments {
  std::set<int32_t> stages;                     // always has the last one
  std::set<std::pair<int32_t, int32_t>> events; // (stage, node again in it)

  /// Makes the stage an interval by itself.
  void isolate(int32_t stage) {
    stages.insert(stage);
    if (stage > 0)
      stages.insert(stage - 1);
  }
};

class Relaxation {
public:
  /// Nodes that cost more than `dearest` are computed only once.
  Relaxation(const Instance &in, int64_t budget, const Moments &moments,
             int64_t dearest);

  const Milp &problem() const { return milp; }
  /// The graph's cost for a cost of 1 in the program.
  double unit() const { return costUnit; }
  /// False if some moment exceeds the budget even with nothing kept.
  bool possible() const { return fits; }
  /// A schedule with the solution's recomputations, each as late as possible.
  Recomputations schedule(const std::vector<double> &values) const;

private:
  struct Interval {
    int32_t first, last;              // stages
    std::vector<int32_t> again, keep; // variables by node, or -1
  };
  void addInterval(Interval &now, const Interval *before);
  void addMoment(const Interval &now);
  void addEvent(const Interval &before, const Interval &now, int32_t node);
  bool useful(int32_t node, int32_t stage) const {
    return horizon[node] > stage;
  }

  const Instance &in;
  int64_t budget;
  double costUnit;
  double scale; // of bytes
  bool fits = true;
  std::vector<char> once;
  std::vector<int32_t> horizon;
  std::vector<Interval> intervals;
  Milp milp;
};

} // namespace act::remat
#endif
