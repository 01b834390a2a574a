// SPDX-License-Identifier: Apache-2.0
//
// Sets of ops to run again in a function without layers, found from a set that
// needs too much memory, or that costs too much: one or two ops at a time are
// added or left out, of those that have to do with the moment at which most is
// needed, as predicted (RematPredict.h). What is found is to be measured.
#ifndef ACT_PASSES_ACT_REMATDESCENT_H
#define ACT_PASSES_ACT_REMATDESCENT_H
#include "passes/act/RematPredict.h"

namespace act {

class Descent {
public:
  /// Ops at other places than `places` never run again.
  Descent(const Predictor &predictor, llvm::ArrayRef<unsigned> places);

  /// Changes `set` until `budget` is kept to, each time by what makes
  /// it less tight (Need::tightness) by most for its cost. False: it could not,
  /// and `set` is as far as it came.
  bool descend(OpSet &set, int64_t budget);

  /// Leaves out what can be left out of a set that keeps to `budget`, the
  /// dearest first: ops that run again, or that they run apart.
  void economise(OpSet &set, int64_t budget);

  int64_t peak(const OpSet &set) { return predictor.predict(set).working; }

private:
  Predictor::Need need(const OpSet &set, int64_t budget);
  struct Step {
    OpSet set;
    Predictor::Need need;
    double gain = 0;
  };
  void look(OpSet set, const Predictor::Need &from, int64_t budget, Step &best);

  const Predictor &predictor;
  OpSet allowed;
  size_t left; // predictions that may still be made
};

} // namespace act
#endif
