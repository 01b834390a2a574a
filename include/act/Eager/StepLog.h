// SPDX-License-Identifier: Apache-2.0
//
// The log of a step that real PyTorch ran on the meta device, as the Python
// package's act.torch_memory writes it: any module, and its optimizer.
//
//   {"format": "act-torch-log", "version": 1, "model": "LlamaForCausalLM",
//    "parameter_bytes": 86656, ..., "moments": 812, "backward": 301,
//    "residents": [6144, ...],              bytes, before the step
//    "storages": [[4096, "mm", 12, 340, "forward", false], ...],
//        bytes, operator, moments at which it is born and dies, phase (forward,
//        backward, optimizer), whether it is a parameter's gradient
//    "saved": [3, 8, ...],                  storages that live when backward
//    begins "products": [[12, "forward", true], ...],  of matrices; true: with
//    a bias "notes": ["..."]}
#ifndef ACT_EAGER_STEPLOG_H
#define ACT_EAGER_STEPLOG_H
#include "act/CudaCaching/Replay.h"
#include "act/Result.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace act::eager {

struct StepLog {
  enum class Phase : uint8_t { Forward, Backward, Optimizer };
  struct Storage {
    int64_t bytes = 0;
    std::string op;
    int64_t born = 0, died = 0; // alive at [born, died)
    Phase phase = Phase::Forward;
    bool apart = false; // a parameter's gradient
  };
  struct Product {
    int64_t moment = 0;
    Phase phase = Phase::Forward;
    bool biased = false;
  };
  std::string model, attention;
  int64_t parameterBytes = 0, bufferBytes = 0, inputBytes = 0,
          gradientBytes = 0, optimizerBytes = 0, retainedBytes = 0,
          totalPeakBytes = 0;
  int64_t moments = 0, backward = 0;
  std::vector<int64_t> residents;
  std::vector<Storage> storages; // by their births
  std::vector<size_t> saved;
  std::vector<Product> products; // by moment
  std::vector<std::string> notes;
};

/// Fails with what is missing or wrong, and where.
Result<StepLog> readStepLog(std::string_view json);

/// The log as the allocator sees it: residents, then births and deaths, and
/// products after what they make. `moments` has each event's; -1: before the
/// step.
cuda_caching::Trace allocatorTrace(const StepLog &log,
                                   std::vector<int64_t> &moments);

} // namespace act::eager
#endif
