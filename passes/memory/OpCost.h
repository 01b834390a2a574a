// SPDX-License-Identifier: Apache-2.0
//
// The cost of running an op again, as a time:
//
//   max(flops / rate of arithmetic, bytes of operands and results / bandwidth)
//
// with the peak rates of a device's data sheet. Each op counts alone, without
// the savings of fusion. Views, parameters and masks are never saved and cost
// nothing. Times are whole femtoseconds, so that sums are exact and the same on
// every machine.
#ifndef ACT_PASSES_MEMORY_OPCOST_H
#define ACT_PASSES_MEMORY_OPCOST_H
#include "act/Result.h"
#include "act/Target/Target.h"
#include "dialects/act/Dialect.h"
#include "passes/kernels/Flatten.h"

namespace act {

/// Per second.
struct Rates {
  Rates(); ///< of sm_80
  explicit Rates(const Card &card)
      : flops(card.tensorFlops), bytes(card.memoryBytes), link(card.linkBytes) {
  }
  double flops, bytes;
  double link; ///< to the host, one direction
  bool moves = false; // whether values may be moved to the host
};

/// A target's card (act/Target/Target.h; dense bf16 with f32 sums) or two
/// numbers, FLOPS:BYTES. Empty: sm_80.
Result<Rates> parseRates(const std::string &text);

/// Femtoseconds of one run. A copy to or from the host takes the link's speed.
int64_t opCost(mlir::Operation *op, const Rates &rates);

/// Femtoseconds of a program without its update: in total, and the part that
/// recomputes or copies.
struct ProgramCost {
  int64_t total = 0, again = 0;
  int64_t copies = 0; // to the host and back; counted in both
};
ProgramCost programCost(const Program &program, const Rates &rates);

} // namespace act
#endif
