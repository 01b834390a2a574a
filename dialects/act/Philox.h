// SPDX-License-Identifier: Apache-2.0
//
// Dropout's random numbers as scalar IR: Philox4x32-10 (Salmon et al., Parallel
// Random Numbers: As Easy as 1, 2, 3, SC 2011).
//
//   key      the seed's low and high 32 bits
//   counter  (index low, index high + 2^20 * site high, step low, site low),
//            32 bits each: an index is below 2^52, and the site's high half,
//            the micro-batch, below 2^12
//   result   the first of the four output words, as a fraction of 2^32
//
// The counter names the element and nothing else, so the bits do not depend on
// tiles, threads, or the order in which elements are visited.
#ifndef ACT_DIALECTS_ACT_PHILOX_H
#define ACT_DIALECTS_ACT_PHILOX_H
#include "dialects/act/LinalgBuilder.h"

namespace act {

/// Values shared by all elements: i32 scalars.
struct PhiloxKey {
  mlir::Value keyLow, keyHigh, step, site;
  mlir::Value microBatch; // 2^20 times it
};

/// From the i64 operands `seed`, `step` and `site` of an op.
PhiloxKey preparePhilox(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value seed, mlir::Value step, mlir::Value site);

/// The first output word (i32) for the element `index` (i64).
mlir::Value philoxWord(Scalars &s, const PhiloxKey &key, mlir::Value index);

/// i1: whether the number drawn for `index` is at least `p`; the comparison is
/// exact, as integers.
mlir::Value philoxAtLeast(Scalars &s, const PhiloxKey &key, mlir::Value index,
                          double p);

} // namespace act
#endif
