// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_IMPORT_IMPORTOPTIONS_H
#define ACT_PASSES_IMPORT_IMPORTOPTIONS_H
#include "act/HuggingFace/ModelConfig.h"
#include <optional>
#include <string>
#include <vector>

namespace act {

/// What a config does not say about the module to be made of it
/// (ImportModel.h).
struct ImportOptions {
  std::string name = "model"; // the module's
  int64_t batch = 1;
  std::optional<int64_t> seq; // else min(max positions, 2048)
  std::vector<std::string> symbolic;
  bool packed = false;
  bool attentionMask = false;          // for causal models; bert always has one
  std::optional<int64_t> maxSequences; // packed; else one per token
  std::optional<artifact::DType> dtype; // else the config's
  bool train = true;
  bool kvCache = false; // only for inference of causal models
  /// Generation of text: inference of a causal model whose earlier tokens are
  /// in a cache of keys and values, in blocks. Not with `train`.
  struct Cache {
    int64_t context = 0;           // earlier tokens of a row, at most
    int64_t block = 16;            // tokens of a block
    std::optional<int64_t> blocks; // of all rows; else as many as they need
  };
  std::optional<Cache> cache;
  std::optional<int64_t> loraRank;
  std::optional<double> loraAlpha;      // else 2 * rank
  std::vector<std::string> loraTargets; // else query and value
  /// Modules that train beside the adapters, by the end of their name.
  std::vector<std::string> trained;
  /// Parameters that do not, by patterns of their name in files.
  std::vector<std::string> frozen;
  bool nf4 = false;       // weights of the layers' linear ops
  bool nf4Nested = false; // and their scales in 8 bits
  // Without nf4, the config's quantization_config applies.
};

} // namespace act
#endif
