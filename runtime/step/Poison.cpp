// SPDX-License-Identifier: Apache-2.0
//
// The pattern by which measure mode sees which bytes a run has written.
#include "runtime/step/Poison.h"
#include <cstring>

using namespace act;

/// A quiet NaN with a hash of the place in its low bits. As f16 and bf16, the
/// upper half is a NaN too.
static uint32_t word(uint64_t i) {
  return 0x7fc00000u | (static_cast<uint32_t>(i * 0x9e3779b1u) >> 10);
}

void runtime::fillPattern(uint8_t *memory, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / 4; ++i) {
    uint32_t w = word(i);
    std::memcpy(memory + 4 * i, &w, 4);
  }
}

uint64_t runtime::highestChange(const uint8_t *memory, uint64_t bytes) {
  for (uint64_t i = bytes / 4; i-- > 0;) {
    uint32_t w = word(i);
    if (std::memcmp(memory + 4 * i, &w, 4) == 0)
      continue;
    for (int b = 3; b >= 0; --b)
      if (memory[4 * i + b] != static_cast<uint8_t>(w >> (8 * b)))
        return 4 * i + b + 1;
  }
  return 0;
}
