// SPDX-License-Identifier: Apache-2.0
//
// The last error of each thread.
#include "compiler/capi/Errors.h"

using namespace act;

static thread_local std::string lastError;

actc_status capi::fail(actc_status code, const std::string &message) {
  try {
    lastError = message;
  } catch (const std::bad_alloc &) {
    lastError.clear();
  }
  return code;
}

const char *actc_last_error(void) { return lastError.c_str(); }

uint32_t actc_version(void) {
  return ACTC_VERSION_MAJOR << 16 | ACTC_VERSION_MINOR;
}
