// SPDX-License-Identifier: Apache-2.0
#include "runtime/capi/Errors.h"

const char *actrt_last_error(void) { return act::lastError(); }

uint32_t actrt_version(void) {
  return ACTRT_VERSION_MAJOR << 16 | ACTRT_VERSION_MINOR;
}
