// SPDX-License-Identifier: Apache-2.0
//
// Replays a report's timeline through PyTorch's CUDA caching allocator.
//
// View torch replays what PyTorch does, in its order. View act is hypothetical:
// a compiled step has one arena and allocates nothing while it runs. The replay
// shows what the same buffers would take as PyTorch tensors, each allocated
// when the step first uses it, together with the persistent tensors:
// parameters, their gradients, optimizer state, inputs and outputs.
#ifndef ACT_PASSES_MEMORY_ALLOCATORREPLAY_H
#define ACT_PASSES_MEMORY_ALLOCATORREPLAY_H
#include "act/CudaCaching/Replay.h"
#include "act/Report/MemoryReport.h"
#include "mlir/Support/LLVM.h"

namespace act {

/// The options of --memory-report, as text.
struct AllocatorOptions {
  std::string allocator; // empty: none
  std::string conf, deviceMemory, cublasWorkspace, cublasLtWorkspace;
};

/// The same options, parsed and checked.
struct AllocatorChoice {
  std::string allocator, conf;
  cuda_caching::Options options;
};
Result<std::optional<AllocatorChoice>>
chooseAllocator(const AllocatorOptions &options, const std::string &view);

/// A trace, and the timeline point of each of its events; -1: before the first.
struct PlacedTrace {
  cuda_caching::Trace trace;
  std::vector<int64_t> points;
};

/// The allocations and frees of the report's residents and buffers.
PlacedTrace traceOf(const report::MemoryReport &report);

/// Fills in report.replay.
void replayAllocator(report::MemoryReport &report, const PlacedTrace &trace,
                     const AllocatorChoice &choice);

} // namespace act
#endif
