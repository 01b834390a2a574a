// SPDX-License-Identifier: Apache-2.0
//
// What to compile for, so that a device can run it.
#ifndef ACT_TOOLS_ACTRUN_TARGET_H
#define ACT_TOOLS_ACTRUN_TARGET_H
#include "act/Result.h"
#include <string>

namespace act::run {

/// "host", or the newest of the compiler's GPU targets whose code `device`
/// ("sim:sm_80", "cuda:0") runs. Opens the device to ask it.
Result<std::string> targetOf(const std::string &device);

/// The same of a device with that architecture: sm_87 takes the code of sm_86.
/// What is later and no sm_90a takes that of sm_89, as sm_90a's is for no
/// other.
Result<std::string> targetFor(const std::string &device,
                              const std::string &architecture);

} // namespace act::run
#endif
