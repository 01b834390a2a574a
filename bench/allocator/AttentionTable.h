// SPDX-License-Identifier: Apache-2.0
//
// torch.cuda.memory_allocated() in the forward of an attention module, as
// published, and as the replay gives it.
//
// The module has B = 64, L = 32, C = 512, H = 8 and runs in fp32 with attention
// in single steps. The readings are of a PyTorch whose cuBLAS took nothing from
// the allocator and whose cublasLt borrowed 1 MiB, so those are the settings.
#ifndef ACT_BENCH_ALLOCATOR_ATTENTIONTABLE_H
#define ACT_BENCH_ALLOCATOR_ATTENTIONTABLE_H
#include "act/Eager/AllocatorTrace.h"
#include "act/Eager/AttentionModule.h"
#include <algorithm>

namespace act::attention_table {

struct Published {
  const char *after;
  double allocatedMiB; // to two digits
  double changeMiB;
};
constexpr Published published[] = {
    {"before", 8.00, 0},
    {"qkv", 21.00, 13},
    {"rearrange", 21.00, 0},
    {"matmul, scale", 31.00, 10},
    {"softmax", 31.00, 0},
    {"attn_drop", 31.00, 0},
    {"attn @ v, transpose, reshape", 39.00, 8},
    {"proj", 43.00, 4},
    {"proj_drop", 43.00, 0},
    {"return", 30.00, -13},
};
constexpr double publishedPeakMiB = 44.00; // while proj runs
/// Live after the return beside input and parameters, and of that saved for
/// backward.
constexpr double publishedLiveMiB = 22, publishedSavedMiB = 18;
/// Live after the return with a kernel: memory-efficient in fp32, flash in
/// fp16.
constexpr double publishedEfficientMiB = 28.06, publishedFlashMiB = 14.06;

struct Reading {
  std::string after;
  int64_t allocated = 0, reserved = 0, requested = 0;
  int64_t peak = 0; // the most allocated since the reading before
};

inline cuda_caching::Options readAtTheTime() {
  cuda_caching::Options options;
  options.cublasLtWorkspace = 1 * cuda_caching::MiB;
  return options;
}

/// A reading behind each statement; the first is before all.
inline Result<std::vector<Reading>>
readings(const eager::AttentionModule &module,
         const cuda_caching::Options &options) {
  auto run = eager::run(module);
  if (!run)
    return run.error();
  auto trace = eager::allocatorTrace(run->run);
  auto replay = cuda_caching::replay(trace, options);
  if (replay.outOfMemory)
    return Error{"the card is full", ""};
  std::vector<Reading> out;
  int64_t peak = 0;
  for (size_t i = 0; i < replay.points.size(); ++i) {
    const cuda_caching::Point &p = replay.points[i];
    peak = std::max(peak, p.allocated);
    bool before = i + 1 == run->run.resident.size();
    bool mark = trace.events[i].kind == cuda_caching::Event::Kind::Mark;
    if (!before && !mark)
      continue;
    out.push_back({before ? "before" : run->marks[trace.events[i].value],
                   p.allocated, p.reserved, p.requested, peak});
    peak = 0;
  }
  return out;
}

} // namespace act::attention_table
#endif
