// SPDX-License-Identifier: Apache-2.0
//
// Names and sums of counters.
#include "runtime/sim/program/Counters.h"

namespace act::runtime::sim {

const char *nameOf(Class kind) {
  static const char *const names[] = {
      "integer",    "float",   "half",        "double", "conversion",
      "special",    "move",    "compare",     "logic",  "control",
      "barrier",    "shuffle", "load",        "store",  "atomic",
      "async copy", "matrix",  "matrix load", "other"};
  static_assert(sizeof names / sizeof *names == unsigned(Class::Count));
  return names[unsigned(kind)];
}

const char *nameOf(Tensor kind) {
  static const char *const names[] = {"f16", "bf16", "tf32",
                                      "f64", "i8",   "fp8"};
  static_assert(sizeof names / sizeof *names == unsigned(Tensor::Count));
  return names[unsigned(kind)];
}

void Counters::add(const Counters &o) {
  for (unsigned i = 0; i < unsigned(Class::Count); ++i)
    warpInstructions[i] += o.warpInstructions[i];
  for (unsigned i = 0; i < unsigned(Tensor::Count); ++i)
    tensorFlops[i] += o.tensorFlops[i];
  laneInstructions += o.laneInstructions;
  globalLoadBytes += o.globalLoadBytes;
  globalStoreBytes += o.globalStoreBytes;
  globalLoadSectors += o.globalLoadSectors;
  globalStoreSectors += o.globalStoreSectors;
  sharedLoadWavefronts += o.sharedLoadWavefronts;
  sharedStoreWavefronts += o.sharedStoreWavefronts;
  sharedConflicts += o.sharedConflicts;
  wgmmaSharedBytes += o.wgmmaSharedBytes;
  bulkSharedLoadBytes += o.bulkSharedLoadBytes;
  bulkSharedStoreBytes += o.bulkSharedStoreBytes;
  exp2 += o.exp2;
  barrierWaits += o.barrierWaits;
  asyncBytes += o.asyncBytes;
  ctas += o.ctas;
  warps += o.warps;
}

uint64_t Counters::totalWarpInstructions() const {
  uint64_t total = 0;
  for (uint64_t n : warpInstructions)
    total += n;
  return total;
}

} // namespace act::runtime::sim
