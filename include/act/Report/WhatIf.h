// SPDX-License-Identifier: Apache-2.0
//
// What would fit on a card: the longest sequence and the largest batch, by
// policy, and how the peak grows with the sequence.
#ifndef ACT_REPORT_WHATIF_H
#define ACT_REPORT_WHATIF_H
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace act::report {

/// The largest multiple of `step` for a letter, the others as they are.
struct LargestFit {
  std::string letter; // s, b, or t of a packed model
  int64_t step = 1;
  int64_t size = 0;  // 0: not even one step fits
  int64_t bytes = 0; // total peak there, of the program written out
  /// Of the next size; nothing where there is no such program (positions end).
  std::optional<int64_t> nextBytes;
  /// The same of what the allocator reserves, if there is one: that is what
  /// fits.
  int64_t reserved = 0, nextReserved = 0;
  /// Of a budget: the time of what runs again there, in percent of the step.
  std::optional<double> again;
};

struct PolicyFit {
  std::string policy;
  std::vector<LargestFit> largest;
  /// Length of the sequence and total peak by the formula; with an allocator
  /// what it reserves, measured.
  std::vector<std::pair<int64_t, int64_t>> curve;
};

struct WhatIf {
  int64_t deviceBytes = 0;
  std::string along; // the letter of the curves; empty: none
  std::string
      allocator; // whose reserved bytes are to fit; empty: the total peak
  std::vector<PolicyFit> policies;
};

/// The curves with the card's limit, as an SVG document.
std::string toSvg(const WhatIf &whatIf);

} // namespace act::report
#endif
