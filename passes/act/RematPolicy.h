// SPDX-License-Identifier: Apache-2.0
//
// What may stand behind --remat=, in one place.
#ifndef ACT_PASSES_ACT_REMATPOLICY_H
#define ACT_PASSES_ACT_REMATPOLICY_H
#include "act/Result.h"
#include <cstdint>
#include <string>

namespace act {

struct RematPolicy {
  enum Kind {
    None,
    Selective,
    Attention,
    AttentionCore,
    Layer,
    Segments,
    Offload,
    Budget
  } kind = None;
  /// Of Segments: how many; 0 means round(sqrt(L)).
  int64_t segments = 0;
  /// Of Budget, in bytes, -1 where there is none: bounds on the report's
  /// peak_bytes and on its total_peak_bytes.
  int64_t peakBytes = -1, totalBytes = -1;
  /// Of Budget and Offload: bytes per second of the link to the host; 0:
  /// nothing is moved there.
  double link = 0;
};

/// none, selective, attention, attention-core, layer, sqrt, segments=N,
/// budget=BYTES, budget=fit:BYTES or budget=fit, which leaves both bounds to
/// the caller, offload; the last two kinds with a speed of the link to the
/// host, budget=4GB,offload=25GB/s and offload=25GB/s. The error is a whole
/// message.
Result<RematPolicy> parseRematPolicy(const std::string &text);

/// Into how many segments `layers` layers are cut; they end at
/// round(i * layers / n).
int64_t segmentCount(const RematPolicy &policy, int64_t layers);
int64_t segmentEnd(int64_t i, int64_t n, int64_t layers);

} // namespace act
#endif
