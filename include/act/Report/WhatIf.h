// SPDX-License-Identifier: Apache-2.0
//
// What would fit on a GPU: the longest sequence and the largest batch for each
// policy, and how the peak grows with the sequence.
#ifndef ACT_REPORT_WHATIF_H
#define ACT_REPORT_WHATIF_H
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace act::report {

/// The largest multiple of `step` that fits for a letter, the others unchanged.
struct LargestFit {
  std::string letter; // s, b, or t of a packed model
  int64_t step = 1;
  int64_t size = 0;  // 0: not even one step fits
  int64_t bytes = 0; // total peak at that size, of the program written out
  /// Total peak at the next size; nothing if there is no such program (out of
  /// positions), or if the search ended there (`cut`).
  std::optional<int64_t> nextBytes;
  /// With an allocator: the bytes reserved at both sizes, which have to fit.
  int64_t reserved = 0, nextReserved = 0;
  /// With a budget: the time of recomputation there, in percent of the step.
  /// Nothing where budgets were not searched: the size is the best policy's.
  std::optional<double> again;
  /// The search for a budget ended at mostBudgetTokens: more may fit.
  bool cut = false;
};

/// Budgets are searched up to this many tokens in a batch. A fused loss has a
/// launch for each chunk of rows, and beyond this a plan takes minutes.
constexpr int64_t mostBudgetTokens = int64_t(1) << 20;

struct PolicyFit {
  std::string policy;
  std::vector<LargestFit> largest;
  /// Sequence length, and total peak by the formula or, with an allocator, the
  /// bytes it reserves, measured.
  std::vector<std::pair<int64_t, int64_t>> curve;
};

struct WhatIf {
  int64_t deviceBytes = 0;
  std::string along; // the letter of the curves; empty: none
  std::string
      allocator; // its reserved bytes have to fit; empty: the total peak has to
  std::vector<PolicyFit> policies;
};

/// The curves with the GPU's limit, as an SVG document.
std::string toSvg(const WhatIf &whatIf);

} // namespace act::report
#endif
