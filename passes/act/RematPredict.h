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
  /// launches.
  Predictor(const Program &program, const Rates &rates, std::vector<int> unitOf,
            int64_t units);

  UnitFigures predict(const OpSet &set) const;

private:
  StepOps step;
  std::vector<int> unitOf;
  int64_t units;
  unsigned launches, boundary;
  std::vector<int64_t> live, fresh; // by launch: bytes alive; those made there
  /// By value: its op, the last launch that touches it, in all and in forward;
  /// whether another value takes its memory over when it dies.
  std::vector<int32_t> maker, last, lastForward;
  std::vector<char> takenOver;
};

/// The sets that no other is below, found from `seeds` by adding or leaving out
/// one or two of `places`; at most `limit`.
std::vector<OpSet> predictedFrontier(const Predictor &predictor,
                                     const std::vector<OpSet> &seeds,
                                     llvm::ArrayRef<unsigned> places,
                                     size_t limit);

} // namespace act
#endif
