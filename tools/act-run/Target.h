// SPDX-License-Identifier: Apache-2.0
//
// Chooses the compiler's target for a device.
#ifndef ACT_TOOLS_ACTRUN_TARGET_H
#define ACT_TOOLS_ACTRUN_TARGET_H
#include "act/Result.h"
#include <string>

namespace act::run {

/// "host", or the newest of the compiler's GPU targets whose code `device`
/// ("sim:sm_80", "cuda:0") runs. Opens the device to query it.
Result<std::string> targetOf(const std::string &device);

/// The same for a device with that architecture. sm_87 runs code for sm_86.
/// Newer devices than sm_90a run code for sm_89, since sm_90a code runs nowhere
/// else.
Result<std::string> targetFor(const std::string &device,
                              const std::string &architecture);

} // namespace act::run
#endif
