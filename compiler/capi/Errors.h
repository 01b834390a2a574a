// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_COMPILER_CAPI_ERRORS_H
#define ACT_COMPILER_CAPI_ERRORS_H
#include "act-c/Compiler.h"
#include "act/Result.h"
#include <exception>
#include <new>

namespace act::capi {

/// Records the message for actc_last_error and returns the code.
actc_status fail(actc_status code, const std::string &message);
inline actc_status invalid(const std::string &message) {
  return fail(ACTC_INVALID_ARGUMENT, message);
}

/// Standard containers throw when memory runs out; no exception may leave a C
/// call.
template <typename Body> actc_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(ACTC_FAILED, "out of memory");
  } catch (const std::exception &e) {
    return fail(ACTC_FAILED, e.what());
  }
}

} // namespace act::capi
#endif
