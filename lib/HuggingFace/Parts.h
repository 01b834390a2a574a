// SPDX-License-Identifier: Apache-2.0
//
// Parts of a config.json that take a file each to read. Errors are left in the
// Fields, as for single fields; `file` is the name that messages use.
#ifndef ACT_HUGGINGFACE_PARTS_H
#define ACT_HUGGINGFACE_PARTS_H
#include "act/HuggingFace/ModelConfig.h"
#include "lib/HuggingFace/Fields.h"

namespace act::hf {

/// Rope's base and scaling. `c` has its positions already.
void readRope(Fields &f, const std::string &file, ModelConfig &c);

/// What `quantization_config` asks for; nothing if it is absent or quantises
/// nothing.
std::optional<Quantization> readQuantization(Fields &f,
                                             const std::string &file);

/// A type as PyTorch spells it: float32, bfloat16 or float16.
artifact::DType readDtype(Fields &f, const char *name, artifact::DType absent);

} // namespace act::hf
#endif
