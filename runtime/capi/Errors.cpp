// SPDX-License-Identifier: Apache-2.0
//
// The last error of each thread.
#include "runtime/capi/Errors.h"

using namespace act;

static thread_local std::string lastError;

actrt_status runtime::fail(actrt_status code, const std::string &message) {
  try {
    lastError = message;
  } catch (const std::bad_alloc &) {
    lastError.clear();
  }
  return code;
}

const char *actrt_last_error(void) { return lastError.c_str(); }

uint32_t actrt_version(void) {
  return ACTRT_VERSION_MAJOR << 16 | ACTRT_VERSION_MINOR;
}
