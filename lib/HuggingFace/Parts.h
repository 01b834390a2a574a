// SPDX-License-Identifier: Apache-2.0
//
// Readers of parts of a config.json, one source file each. Errors go to the
// Fields, as for single fields; `file` is its name in messages.
#ifndef ACT_HUGGINGFACE_PARTS_H
#define ACT_HUGGINGFACE_PARTS_H
#include "act/HuggingFace/ModelConfig.h"
#include "lib/HuggingFace/Fields.h"

namespace act::hf {

/// Rope's base and scaling. `c` has its positions and the type's base already.
void readRope(Fields &f, const std::string &file, ModelConfig &c);

/// Reads `quantization_config`; nothing if it is absent or quantises nothing.
std::optional<Quantization> readQuantization(Fields &f,
                                             const std::string &file);

/// A type as PyTorch spells it: float32, bfloat16 or float16.
artifact::DType readDtype(Fields &f, const char *name, artifact::DType absent);

} // namespace act::hf
#endif
