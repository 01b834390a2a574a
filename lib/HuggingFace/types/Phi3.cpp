// SPDX-License-Identifier: Apache-2.0
// phi3: a llama with one linear op for query, key and value, and one for gate
// and up.
#include "lib/HuggingFace/ModelType.h"

namespace act::hf {

static void read(Fields &f, const std::string &file, ModelConfig &c) {
  DecoderDefaults d;
  d.positions = 4096;
  d.eps = 1e-5;
  readDecoder(f, file, c, d);
  c.padToken = 32000;
  c.fusedProjections = true;
  c.residualDropout = f.probability("resid_pdrop", 0);
  if (f.probability("embd_pdrop", 0) != 0)
    f.expected("embd_pdrop", "0");
  if (f.find("sliding_window"))
    c.slidingWindow = f.dimension("sliding_window");
}

const ModelType phi3 = {Family::Phi3,      "phi3",      Head::CausalLM,
                        "Phi3ForCausalLM", "Phi3Model", read};

} // namespace act::hf
