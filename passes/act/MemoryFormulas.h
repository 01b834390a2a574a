// SPDX-License-Identifier: Apache-2.0
//
// What a program holds, as sums in letters.
//
// A program is written out for one size. Its sums hold for others because what
// is alive at a moment is said as "of the saved values of a layer, those of all
// but the last layer" instead of "27 of them": a value of which the first k of
// N layers' are alive counts L - (N - k) times. Cut into segments, n stands for
// the segments and m for the layers of the longest, in the same way.
//
//   run of N layers, moment in layer l = 2        alive of value v
//     v0  v1  v2  .   .                           3 of 5: L - 2
//                 ^ l                             of a temporary: 1
//
// In the first layer numbers stay numbers: it is there whatever L is.
//
// Every moment is a candidate for the peak. In a run of layers it is enough to
// look at the first layer and the last two, in the order of the run as in
// reverse: in between, layers differ by what one more layer saves, so that each
// is below its neighbour.
#ifndef ACT_PASSES_ACT_MEMORYFORMULAS_H
#define ACT_PASSES_ACT_MEMORYFORMULAS_H
#include "act/Symbolic/Expr.h"
#include "passes/act/Flatten.h"
#include <map>

namespace act {

/// Bytes of a value in letters, without padding.
symbolic::Polynomial bytesInLetters(mlir::RankedTensorType type);

struct MemoryFormulas {
  symbolic::Polynomial retained; // what forward hands to backward
  symbolic::Expr peak;           // the candidate that wins for this size first
  size_t shown = 0;              // report::Formula::shown, of the peak
  symbolic::Expr alignment;      // what it adds to the peak at most
  /// The most that values of a layer hold at a time, by the layer's number.
  std::map<int, symbolic::Expr> layerPeak;
  /// Letters of segments, with what they are worth and what they mean.
  symbolic::Letters letters;
  std::map<std::string, std::string> meaning;
  /// Layers run in pieces of their own choice: the sums are of so many layers.
  bool layersAreCut = false;
  /// Values are moved, and of so few layers it does not show what their number
  /// decides: the sums are of so many.
  bool layersAreTooFew = false;
};

/// `letters` are those of the program's types and repeats.
MemoryFormulas deriveFormulas(const Program &program,
                              const symbolic::Letters &letters);

} // namespace act
#endif
