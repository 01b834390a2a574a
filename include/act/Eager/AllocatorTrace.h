// SPDX-License-Identifier: Apache-2.0
//
// A run of PyTorch eager as the allocator sees it.
//
//   auto run = act::eager::run(model, {});
//   cuda_caching::Options card;
//   card.deviceBytes = 24'000'000'000;
//   auto replay = cuda_caching::replay(allocatorTrace(*run), card);
//   replay.reservedPeak;
//
// The residents are allocated first, in order, as when a model is made on the
// CPU and moved to the device. Then come the run's events, one for one. The
// trace excludes what kernels other than matrix products borrow (flash
// attention's backward an f32 gradient of the queries, embeddings a sort), and
// the optimizer's state and step.
#ifndef ACT_EAGER_ALLOCATORTRACE_H
#define ACT_EAGER_ALLOCATORTRACE_H
#include "act/CudaCaching/Replay.h"
#include "act/Eager/Eager.h"

namespace act::eager {

/// Event i of the run is event run.resident.size() + i of the trace, and
/// allocation i is storage run.resident.size() + i.
cuda_caching::Trace allocatorTrace(const Run &run);

} // namespace act::eager
#endif
