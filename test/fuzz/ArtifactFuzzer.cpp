// SPDX-License-Identifier: Apache-2.0
//
// Whatever `read` accepts must be valid and must survive being written.
#include "act/Artifact/Format.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto step = act::artifact::read(data, size);
  if (!step)
    return 0;
  auto bytes = act::artifact::write(*step);
  if (!bytes || !act::artifact::read(bytes->data(), bytes->size()))
    abort();
  return 0;
}
