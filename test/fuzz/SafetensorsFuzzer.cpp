// SPDX-License-Identifier: Apache-2.0
//
// Whatever `parse` accepts tiles the data: every byte belongs to one tensor.
#include "act/Safetensors/Safetensors.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto header = act::safetensors::parse(data, size);
  if (!header)
    return 0;
  uint64_t covered = 0;
  for (const auto &t : header->tensors) {
    if (t.begin != covered || t.end < t.begin)
      abort();
    covered = t.end;
  }
  if (header->dataStart + covered != size)
    abort();
  return 0;
}
