// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_RUNTIME_PTXTARGET_H
#define ACT_RUNTIME_PTXTARGET_H
#include "act/Result.h"
#include <string>
#include <string_view>

namespace act::runtime {

struct PtxTarget {
  uint32_t sm = 0; // 90
  char suffix = 0; // 'a', 'f' or 0
};
/// What the text's `.target` directive says.
Result<PtxTarget> ptxTarget(std::string_view text);
/// The lowest simulated device that runs code for the text's target:
/// "sim:sm_90a".
Result<std::string> simulatorFor(std::string_view text);

} // namespace act::runtime
#endif
