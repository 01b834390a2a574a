// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch eager does, as an allocator gets to see it.
//
//   auto run = act::eager::run(model, {});
//   cuda_caching::Options card;
//   card.deviceBytes = 24'000'000'000;
//   auto replay = cuda_caching::replay(allocatorTrace(*run), card);
//   replay.reservedPeak;
//
// First the residents are allocated, in their order, as a model that is made on
// the CPU and moved to the device does; then come the run's events, one for
// one. Not in them: what other kernels than those of products borrow (flash
// attention's backward an f32 gradient of the queries, embeddings a sort), and
// an optimizer's state and step.
#ifndef ACT_EAGER_ALLOCATORTRACE_H
#define ACT_EAGER_ALLOCATORTRACE_H
#include "act/CudaCaching/Replay.h"
#include "act/Eager/Eager.h"

namespace act::eager {

/// Event i of the run is event run.resident.size() + i of the trace, allocation
/// i is storage run.resident.size() + i.
cuda_caching::Trace allocatorTrace(const Run &run);

} // namespace act::eager
#endif
