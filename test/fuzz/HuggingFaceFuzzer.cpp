// SPDX-License-Identifier: Apache-2.0
//
// Whatever `parse` accepts is a model that can be built: dimensions that are
// positive and divide each other, and a number of weights that fits.
#include "act/HuggingFace/ModelConfig.h"
#include <cmath>
#include <cstdlib>

using namespace act::hf;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto c = parse({reinterpret_cast<const char *>(data), size}, "config.json");
  if (!c) {
    // An error names the file, and is one line for a terminal.
    std::string message = c.error().str();
    if (message.rfind("config.json", 0) != 0 || c.error().message.empty())
      abort();
    for (unsigned char byte : message)
      if (byte < 32)
        abort();
    return 0;
  }
  for (int64_t n : {c->vocab, c->hidden, c->layers, c->heads, c->kvHeads,
                    c->headDim, c->intermediate, c->maxPositions})
    if (n < 1)
      abort();
  if (c->heads % c->kvHeads != 0 || (c->rope && c->headDim % 2 != 0))
    abort();
  if (c->slidingWindow && (*c->slidingWindow < 1 || c->firstWindowLayer < 0 ||
                           c->firstWindowLayer > c->layers))
    abort();
  for (double p :
       {c->embeddingDropout, c->attentionDropout, c->residualDropout})
    if (!(p >= 0 && p < 1))
      abort();
  if (!std::isfinite(c->normEps) || !std::isfinite(c->ropeTheta) ||
      !std::isfinite(c->ropeScaling.factor))
    abort();
  if (parameterCount(*c) < 1)
    abort();
  return 0;
}
