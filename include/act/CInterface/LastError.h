// SPDX-License-Identifier: Apache-2.0
//
// Errors of a C interface. A call returns a code; the caller asks for the
// thread's last message. Each library that links this keeps its own messages.
#ifndef ACT_CINTERFACE_LASTERROR_H
#define ACT_CINTERFACE_LASTERROR_H
#include <exception>
#include <new>
#include <string>

namespace act {

/// Records the message of the calling thread's last failure.
void recordError(const std::string &message);
/// Valid until the thread's next failure.
const char *lastError();

/// Standard containers throw when memory runs out; no exception may leave a C
/// call. `failed` is the code of a call that one ended.
template <typename Code, typename Body> Code guarded(Code failed, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    recordError("out of memory");
  } catch (const std::exception &e) {
    recordError(e.what());
  }
  return failed;
}

} // namespace act
#endif
