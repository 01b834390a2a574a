// SPDX-License-Identifier: Apache-2.0
//
// Memory use of a program as formulas in letters.
//
// A program is written out for one size. The formulas hold for other sizes
// because they count live values relative to the number of layers L: a value
// alive in the first k of N layers counts L - (N - k) times, not k times. With
// segments, n is the number of segments and m the layers of the longest one, in
// the same way.
//
//   run of N layers, moment in layer l = 2        alive of value v
//     v0  v1  v2  .   .                           3 of 5: L - 2
//                 ^ l                             of a temporary: 1
//
// At the first layer numbers stay numbers: that layer exists for every L.
//
// Every moment is a candidate for the peak. In a run of layers the first layer
// and the last two suffice, for forward and reverse runs. Between them, each
// layer differs from the next by what one layer saves, so an end is the peak.
#ifndef ACT_PASSES_MEMORY_MEMORYFORMULAS_H
#define ACT_PASSES_MEMORY_MEMORYFORMULAS_H
#include "act/Symbolic/Expr.h"
#include "passes/kernels/Flatten.h"
#include <map>

namespace act {

/// Bytes of a value in letters, excluding padding.
symbolic::Polynomial bytesInLetters(mlir::RankedTensorType type);

struct MemoryFormulas {
  symbolic::Polynomial retained; // what forward saves for backward
  symbolic::Expr peak;           // the largest candidate at this size first
  size_t shown = 0;              // report::Formula::shown, of the peak
  symbolic::Expr alignment;      // the most that padding adds to the peak
  /// The peak bytes of each layer's own values, by layer number.
  std::map<int, symbolic::Expr> layerPeak;
  /// Letters for segments, with their values and meanings.
  symbolic::Letters letters;
  std::map<std::string, std::string> meaning;
  /// Runs of layers make different choices, so the sums hold only for this
  /// number of layers.
  bool layersAreCut = false;
  /// Values are moved to the host, and there are too few layers to see how
  /// counts depend on L, so the sums hold only for this number of layers.
  bool layersAreTooFew = false;
};

/// `letters` are those of the program's types and repeats.
MemoryFormulas deriveFormulas(const Program &program,
                              const symbolic::Letters &letters);

} // namespace act
#endif
