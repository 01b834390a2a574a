// SPDX-License-Identifier: Apache-2.0
//
// Local search for sets of ops to recompute in a function without layers. It
// starts from a set that needs too much memory or costs too much, and adds or
// removes one or two ops at a time, among those involved in the predicted peak
// (RematPredict.h). The results still have to be measured.
#ifndef ACT_PASSES_REMAT_REMATDESCENT_H
#define ACT_PASSES_REMAT_REMATDESCENT_H
#include "passes/remat/RematPredict.h"

namespace act {

class Descent {
public:
  /// Only ops at `places` may run again.
  Descent(const Predictor &predictor, llvm::ArrayRef<unsigned> places);

  /// Changes `set` until its predicted peak is within `budget`, each time by
  /// the step that lowers Need::tightness most for its cost. False: it got
  /// stuck, and `set` is the last one reached.
  bool descend(OpSet &set, int64_t budget);

  /// Removes bits from a set that is within `budget`, most expensive first, as
  /// long as it stays within: ops that run again, or that run apart.
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
