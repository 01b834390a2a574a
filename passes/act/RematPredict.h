// SPDX-License-Identifier: Apache-2.0
//
// What recomputing a set of a layer's ops would do, from the step without
// recomputation, in microseconds: the values that backward reads are traced
// back to those that stay, ops run again just before backward first needs them,
// and lifetimes follow.
//
//   live   forward  ____|----|____  backward        |----| no longer kept
//                              |--|                 |--|   made again
//
// Kernels are taken to stay as they are, and what runs again to be kernels of
// its own; so it is a prediction. It says which sets are worth measuring
// (RematMeasure.h): of thousands, those that no other is below in cost, in
// bytes saved and in bytes needed while a layer runs.
#ifndef ACT_PASSES_ACT_REMATPREDICT_H
#define ACT_PASSES_ACT_REMATPREDICT_H
#include "passes/act/StepOps.h"

namespace act {

/// Of one layer, or of a whole function.
struct UnitFigures {
  int64_t saved = 0, working = 0, cost = 0;
};

class Predictor {
public:
  /// `unitOf`: by launch, the unit in which ops may run again, or -1; there are
  /// `units` alike. Sets are of places (placeAttr) in the ops of these
  /// launches. With `apartBegin` (LayerRuns.h) of @grad's own body, results
  /// after an op's first are not made again, those of tables excepted
  /// (crossingOf).
  Predictor(const Program &program, const Rates &rates, std::vector<int> unitOf,
            int64_t units, std::optional<unsigned> apartBegin);

  UnitFigures predict(const OpSet &set) const;

  /// Of the whole function that `set` runs again in.
  struct Need {
    int64_t peak = 0, cost = 0;
    /// How tight it is under a budget: the sum over all moments of
    /// exp(sharpness * (bytes / budget - 1)), a smooth stand-in for the peak
    /// that falls when any of the moments near it does.
    double tightness = 0;
  };
  Need need(const OpSet &set, int64_t budget) const;

  /// Of one run of the op that a bit of a set is about.
  int64_t costOf(unsigned bit) const;

  /// `set` and the op at `place`, with all that it reads and nothing keeps, as
  /// far as they are `allowed`.
  OpSet with(OpSet set, unsigned place, const OpSet &allowed) const;

  /// The ops that have to do with where most is needed: those whose values are
  /// alive there, and those that run again there.
  std::vector<unsigned> placesAtPeak(const OpSet &set) const;

private:
  /// Something that takes memory from one position to another.
  struct Event {
    int32_t launch, op; // op -1: the launch itself
  };
  /// What happens when a set runs again. Moments are the launches of forward,
  /// then the events of backward.
  struct Replay {
    int64_t cost = 0;
    std::vector<Event> events;
    std::vector<int32_t> ends; // by value: its last launch, if it is kept
    /// Values that are made again: from one event to the last that reads them,
    /// or -1.
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
  /// By value: its op, the last launch that touches it, in all and in forward;
  /// whether another value takes its memory over when it dies.
  std::vector<int32_t> maker, last, lastForward;
  std::vector<char> takenOver;
  std::optional<unsigned> apartBegin;
  std::vector<char> isStatistic; // by value
};

/// The sets that no other is below, found from `seeds` by adding or leaving out
/// one or two of `places`; at most `limit`.
std::vector<OpSet> predictedFrontier(const Predictor &predictor,
                                     const std::vector<OpSet> &seeds,
                                     llvm::ArrayRef<unsigned> places,
                                     size_t limit);

} // namespace act
#endif
