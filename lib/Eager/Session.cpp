// SPDX-License-Identifier: Apache-2.0
//
// The thread's session, and what its log records.
#include "lib/Eager/Session.h"

namespace act::eager {

thread_local Session *session = nullptr;

int64_t Log::born(int64_t bytes, const char *op) {
  Allocation a;
  a.bytes = bytes;
  a.op = op;
  a.born = now;
  a.died = -1;
  a.phase = phase;
  a.layer = layer;
  // Backward formulas run without recording. Only a checkpoint that runs its
  // function again records in backward.
  a.recomputed = phase == Phase::Backward && session->gradEnabled;
  allocations.push_back(std::move(a));
  happened(Event::Kind::Born, allocations.size() - 1);
  return allocations.size() - 1;
}

void Log::apart(const Tensor &tensor) {
  if (tensor && tensor->storage->number >= 0)
    allocations[tensor->storage->number].apart = true;
}

} // namespace act::eager
