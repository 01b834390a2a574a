// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a report through PyTorch's CUDA caching allocator.
//
// In view torch what is replayed is what PyTorch does, in its order. In view
// act it is a thought: a step of this compiler has one arena and asks for
// nothing while it runs; the replay says what the same buffers would take if
// they were PyTorch's tensors, each allocated by itself where the step begins
// to use it. Beside them lies what the step keeps: parameters, their gradients,
// optimizer state, inputs and outputs.
#ifndef ACT_PASSES_ACT_ALLOCATORREPLAY_H
#define ACT_PASSES_ACT_ALLOCATORREPLAY_H
#include "act/CudaCaching/Replay.h"
#include "act/Report/MemoryReport.h"
#include "mlir/Support/LLVM.h"

namespace act {

/// As the options of --memory-report have them.
struct AllocatorOptions {
  std::string allocator; // empty: none
  std::string conf, deviceMemory, cublasWorkspace, cublasLtWorkspace;
};

/// What they say, read and checked.
struct AllocatorChoice {
  std::string allocator, conf;
  cuda_caching::Options options;
};
Result<std::optional<AllocatorChoice>>
chooseAllocator(const AllocatorOptions &options, const std::string &view);

/// A trace, and for each of its events the point of the timeline to which it
/// belongs; -1: before the first.
struct PlacedTrace {
  cuda_caching::Trace trace;
  std::vector<int64_t> points;
};

/// Of the report's residents and buffers.
PlacedTrace traceOf(const report::MemoryReport &report);

/// Fills in report.replay.
void replayAllocator(report::MemoryReport &report, const PlacedTrace &trace,
                     const AllocatorChoice &choice);

} // namespace act
#endif
