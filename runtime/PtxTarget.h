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
/// The lowest simulated device that runs code for the target of the module, PTX
/// or a fat binary that carries some: "sim:sm_90a".
Result<std::string> simulatorFor(std::string_view image);

} // namespace act::runtime
#endif
