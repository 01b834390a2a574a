// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that are simulated: limits that are checked, and rates for the
// profile.
#include "runtime/sim/program/Target.h"

namespace act::runtime::sim {

namespace {

// Sizes: CUDA C++ Programming Guide, "Compute Capabilities". Rates: the
// whitepapers of A100, GA102, AD102 and H100 for the cards A100 SXM, RTX 3090,
// RTX 4090 and H100 SXM; bytes per clock are the card's bandwidth over its
// clock, for the whole card divided by its SMs.
const Target targets[] = {
    {"sm_80", 80, 0, 108, 163 * 1024, 164 * 1024, 65536, 64, 32, 1.41,
     1555.0 / 1.41 / 108, 128, 2048, 128},
    {"sm_86", 86, 0, 82, 99 * 1024, 100 * 1024, 65536, 48, 16, 1.695,
     936.0 / 1.695 / 82, 128, 512, 256},
    {"sm_89", 89, 0, 128, 99 * 1024, 100 * 1024, 65536, 48, 24, 2.52,
     1008.0 / 2.52 / 128, 128, 512, 256},
    {"sm_90", 90, 0, 132, 227 * 1024, 228 * 1024, 65536, 64, 32, 1.83,
     3350.0 / 1.83 / 132, 128, 4096, 256},
    {"sm_90a", 90, 'a', 132, 227 * 1024, 228 * 1024, 65536, 64, 32, 1.83,
     3350.0 / 1.83 / 132, 128, 4096, 256},
};

} // namespace

Result<Target> targetNamed(const std::string &name) {
  for (const Target &t : targets)
    if (t.name == name)
      return t;
  return Error{"unknown simulated target '" + name +
                   "', expected sm_80, sm_86, sm_89, sm_90 or sm_90a",
               ""};
}

Result<Target> targetFor(uint32_t sm, char suffix) {
  const Target *best = nullptr;
  if (suffix == 0)
    for (const Target &t : targets)
      if (!best && t.sm >= sm)
        best = &t;
  // Architecture-specific code runs on its own architecture only.
  if (sm == 90)
    best = &targets[4];
  if (best && (suffix == 0 || best->sm == sm))
    return *best;
  return Error{"no simulated target runs code for sm_" + std::to_string(sm) +
                   (suffix ? std::string(1, suffix) : ""),
               ""};
}

} // namespace act::runtime::sim
