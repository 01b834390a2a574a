// SPDX-License-Identifier: Apache-2.0
#include "act/Npy/Npy.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto array = act::npy::parse(data, size);
  if (!array)
    return 0;
  uint64_t n = 1;
  for (int64_t d : array->shape)
    n *= static_cast<uint64_t>(d);
  if (array->elements() != n || array->bytes.size() > size)
    abort();
  if (auto i = act::npy::integers(*array); i && i->size() != n)
    abort();
  return 0;
}
