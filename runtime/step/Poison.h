// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_STEP_POISON_H
#define ACT_RUNTIME_STEP_POISON_H
#include <cstdint>

namespace act::runtime {

/// Fills [0, bytes) with words that are NaN as f32 and, in their upper half, as
/// bf16 and f16. They differ from place to place, so a kernel's values rarely
/// coincide with them. `bytes` is a multiple of 4.
void fillPattern(uint8_t *memory, uint64_t bytes);
/// One past the last byte that no longer holds the pattern; 0 if all do.
uint64_t highestChange(const uint8_t *memory, uint64_t bytes);

} // namespace act::runtime
#endif
