// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_CAPI_ERRORS_H
#define ACT_RUNTIME_CAPI_ERRORS_H
#include "act-c/Runtime.h"
#include "act/CInterface/LastError.h"
#include "act/Result.h"
#include <algorithm>
#include <cstring>

namespace act::runtime {

/// Records the message for actrt_last_error and returns the code.
inline actrt_status fail(actrt_status code, const std::string &message) {
  recordError(message);
  return code;
}
inline actrt_status invalid(const std::string &message) {
  return fail(ACTRT_INVALID_ARGUMENT, message);
}
inline actrt_status finish(const Status &status) {
  return status ? ACTRT_SUCCESS : fail(ACTRT_FAILED, status.error().str());
}

template <typename Body> actrt_status guarded(Body body) {
  return act::guarded(ACTRT_FAILED, body);
}

/// Copies as much of `full` as fits the caller's struct. The first field,
/// struct_size, stays unchanged.
template <typename T> actrt_status fillStruct(T *target, T full) {
  if (!target || target->struct_size < sizeof(size_t))
    return fail(ACTRT_INVALID_ARGUMENT,
                "an information struct is null or has no struct_size");
  full.struct_size = target->struct_size;
  std::memcpy(target, &full, std::min(sizeof full, full.struct_size));
  return ACTRT_SUCCESS;
}

/// The caller's struct, with zeros for fields beyond its struct_size.
template <typename T> T readStruct(const T *source) {
  T out{};
  if (source)
    std::memcpy(&out, source, std::min(sizeof out, source->struct_size));
  return out;
}

} // namespace act::runtime
#endif
