// SPDX-License-Identifier: Apache-2.0
//
// The values of --remat=.
#ifndef ACT_PASSES_REMAT_REMATPOLICY_H
#define ACT_PASSES_REMAT_REMATPOLICY_H
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
  /// For Segments: the number of segments; 0 means round(sqrt(L)).
  int64_t segments = 0;
  /// For Budget: bounds in bytes on the report's peak_bytes and
  /// total_peak_bytes; -1: no bound.
  int64_t peakBytes = -1, totalBytes = -1;
  /// For Budget and Offload: whether values are moved to the host, and the bytes
  /// per second of the link there; 0: what the card's link reaches.
  bool offloads = false;
  double link = 0;
};

/// Accepts none, selective, attention, attention-core, layer, sqrt, segments=N,
/// budget=BYTES, budget=fit:BYTES, budget=fit (the caller sets the bounds) and
/// offload. Budget and offload take a link speed: budget=4GB,offload=25GB/s and
/// offload=25GB/s. The error is a complete message.
Result<RematPolicy> parseRematPolicy(const std::string &text);

/// The number of segments n for `layers` layers; segment i ends at round(i *
/// layers / n).
int64_t segmentCount(const RematPolicy &policy, int64_t layers);
int64_t segmentEnd(int64_t i, int64_t n, int64_t layers);

} // namespace act
#endif
