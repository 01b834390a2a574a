// SPDX-License-Identifier: Apache-2.0
//
// Predicts the effect of recomputing a set of a layer's ops, in microseconds
// and without rewriting the step. Values that backward reads are traced back to
// kept ones, ops run again just before backward first needs them, and lifetimes
// follow.
//
//   live   forward  ____|----|____  backward        |----| no longer kept
//                              |--|                 |--|   made again
//
// It assumes that kernels do not change and that each recomputed op is a kernel
// of its own, so the result is not exact. It selects which of thousands of sets
// to measure (RematMeasure.h): the Pareto frontier in cost, saved bytes and
// working bytes.
#ifndef ACT_PASSES_REMAT_REMATPREDICT_H
#define ACT_PASSES_REMAT_REMATPREDICT_H
#include "passes/remat/LayerRuns.h"
#include "passes/remat/StepOps.h"

namespace act {

/// Figures of one layer, or of a whole function.
struct UnitFigures {
  int64_t saved = 0, working = 0, cost = 0;
};

class Predictor {
public:
  /// `unitOf`: by launch, the unit whose ops may run again, or -1; `units`: the
  /// number of equal units. Sets contain places (placeAttr) of ops in these
  /// launches. `apartBegin` (LayerRuns.h) is given for @grad's own body; then
  /// results after an op's first are not recomputed, except those of tables
  /// (crossingOf).
  Predictor(const Program &program, const Rates &rates, std::vector<int> unitOf,
            int64_t units, std::optional<unsigned> apartBegin);

  UnitFigures predict(const OpSet &set) const;

  /// The need of the whole function in which `set` runs again.
  struct Need {
    int64_t peak = 0, cost = 0;
    /// The sum over all moments of exp(sharpness * (bytes / budget - 1)): a
    /// smooth substitute for the peak that falls when any moment near the peak
    /// does.
    double tightness = 0;
  };
  Need need(const OpSet &set, int64_t budget) const;

  /// The cost of one run of the op that a bit of a set stands for.
  int64_t costOf(unsigned bit) const;

  /// `set` plus the op at `place` and, transitively, the producers of what it
  /// reads and nothing keeps, as far as they are `allowed`.
  OpSet with(OpSet set, unsigned place, const OpSet &allowed) const;

  /// The ops involved in the peak: those whose values are alive there, and
  /// those that run again there.
  std::vector<unsigned> placesAtPeak(const OpSet &set) const;

private:
  /// A step of backward: a launch, or an op that runs again for it.
  struct Event {
    int32_t launch, op; // op -1: the launch itself
  };
  /// The replay of a set. Its moments are the launches of forward, then the
  /// events of backward.
  struct Replay {
    int64_t cost = 0;
    std::vector<Event> events;
    std::vector<int32_t> ends; // by value: its last launch, if it is kept
    /// A recomputed value, from the event that makes it to the last event that
    /// reads it, or -1.
    struct Instance {
      int32_t value, begin, end = -1;
    };
    std::vector<Instance> instances;
    std::vector<int64_t> change; // by launch: bytes that begin to be alive
    std::vector<int64_t> bytes;  // by moment
  };
  bool isMadeAgain(const OpSet &set, int32_t value) const;
  bool runsApart(const OpSet &set, int32_t op) const;
  void runAgain(const OpSet &set, Replay &out) const;
  void follow(Replay &out) const;
  Replay replay(const OpSet &set) const;
  int32_t madeAt(size_t value) const {
    return maker[value] < 0 ? -1 : step.ops[maker[value]].launch;
  }

  StepOps step;
  std::vector<int> unitOf;
  int64_t units;
  unsigned launches, boundary;
  std::vector<int64_t> live, fresh; // by launch: bytes alive; those made there
  /// By value: its op; the last launch that touches it, overall and in forward;
  /// whether another value takes over its memory when it dies.
  std::vector<int32_t> maker, last, lastForward;
  std::vector<char> takenOver;
  std::optional<unsigned> apartBegin;
  std::vector<char> isStatistic; // by value
};

/// The predicted Pareto frontier, found from `seeds` by adding or removing one
/// or two of `places`; at most `limit` sets.
std::vector<OpSet> predictedFrontier(const Predictor &predictor,
                                     const std::vector<OpSet> &seeds,
                                     llvm::ArrayRef<unsigned> places,
                                     size_t limit);

} // namespace act
#endif
