// SPDX-License-Identifier: Apache-2.0
// Which attention runs: by name, or as PyTorch chooses.
#include "act/Eager/Eager.h"
#include <algorithm>
#include <cctype>

namespace act::eager {
namespace {

struct Name {
  const char *text; // lower-case, words joined by _
  Attention attention;
};
constexpr Name names[] = {{"eager", Attention::Eager},
                          {"sdpa_math", Attention::Math},
                          {"math", Attention::Math},
                          {"sdpa_flash", Attention::Flash},
                          {"flash", Attention::Flash},
                          {"flash_attention", Attention::Flash},
                          {"flash_attention_2", Attention::Flash},
                          {"flash_attention_3", Attention::Flash},
                          {"sdpa_efficient", Attention::Efficient},
                          {"efficient", Attention::Efficient},
                          {"efficient_attention", Attention::Efficient},
                          {"mem_efficient", Attention::Efficient}};

// As CUDA's can_use_flash_attention and can_use_mem_efficient_attention.
bool flashTakes(const hf::ModelConfig &c) {
  return c.dtype != artifact::DType::F32 && c.headDim <= 256;
}
bool efficientTakes(const hf::ModelConfig &c) {
  return c.headDim % (c.dtype == artifact::DType::F32 ? 4 : 8) == 0;
}

} // namespace

bool windowHides(const Model &model) {
  const std::optional<int64_t> &window = model.config.slidingWindow;
  return window && model.seq >= *window;
}

const char *name(Attention attention) {
  constexpr const char *all[] = {"eager", "sdpa-math", "sdpa-flash",
                                 "sdpa-efficient"};
  return all[size_t(attention)];
}

Status setAttention(const std::string &text, const Model &model,
                    Options &options) {
  std::string key = text;
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) {
    return c == '-' ? '_' : char(std::tolower(c));
  });
  if (key == "sdpa") {
    choose(model, options);
    return ok();
  }
  for (const Name &n : names)
    if (key == n.text) {
      options.attention = n.attention;
      return ok();
    }
  return Error{"unknown attention '" + text +
                   "': expected sdpa, eager, sdpa-math, sdpa-flash, "
                   "sdpa-efficient or flash_attention_2",
               ""};
}

void choose(const Model &model, Options &options) {
  const hf::ModelConfig &c = model.config;
  const Attention other =
      efficientTakes(c) ? Attention::Efficient : Attention::Math;
  options.attention = flashTakes(c) ? Attention::Flash : other;
  options.masked = other;
  options.chosen = true;
}

std::string describeAttention(const Model &model, const Options &options) {
  if (!options.chosen)
    return name(options.attention);
  const bool plain = !windowHides(model) || model.config.firstWindowLayer > 0;
  std::string text = "sdpa: ";
  if (plain)
    text += name(options.attention);
  if (windowHides(model))
    text +=
        (plain ? ", under a mask " : "") + std::string(name(*options.masked));
  return text;
}

} // namespace act::eager
