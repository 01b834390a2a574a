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
/// The target in the text's `.target` directive.
Result<PtxTarget> ptxTarget(std::string_view text);

} // namespace act::runtime
#endif
