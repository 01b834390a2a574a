// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_COMPILER_CAPI_ERRORS_H
#define ACT_COMPILER_CAPI_ERRORS_H
#include "act-c/Compiler.h"
#include "act/CInterface/LastError.h"

namespace act::capi {

/// Records the message for actc_last_error and returns the code.
inline actc_status fail(actc_status code, const std::string &message) {
  recordError(message);
  return code;
}
inline actc_status invalid(const std::string &message) {
  return fail(ACTC_INVALID_ARGUMENT, message);
}
template <typename Body> actc_status guarded(Body body) {
  return act::guarded(ACTC_FAILED, body);
}

} // namespace act::capi
#endif
