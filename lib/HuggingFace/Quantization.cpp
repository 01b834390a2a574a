// SPDX-License-Identifier: Apache-2.0
// `quantization_config` as transformers writes it for bitsandbytes.
#include "lib/HuggingFace/Parts.h"

namespace act::hf {
namespace {

// Advice for messages about unsupported quantisation.
const std::string wayOut =
    " is not supported, only load_in_4bit of bitsandbytes with nf4 is; without "
    "quantization_config the model is imported as it was before it was "
    "quantised, and --quantize nf4 or nf4-nested quantises it";

void refuse(Fields &q, const char *name, const std::string &what) {
  q.fail(name, what + wayOut);
}

} // namespace

std::optional<Quantization> readQuantization(Fields &f,
                                             const std::string &file) {
  const char *name = "quantization_config";
  const nlohmann::json *value = f.find(name);
  if (!value)
    return std::nullopt;
  if (!value->is_object()) {
    f.expected(name, "an object or null");
    return std::nullopt;
  }
  Fields q(*value, file, std::string(name) + ".");
  std::optional<Quantization> out;
  // Files older than the other methods have no quant_method.
  const nlohmann::json *method = q.find("quant_method");
  if (method && *method != "bitsandbytes")
    refuse(q, "quant_method", show(*method));
  else if (q.flag("load_in_8bit", false))
    refuse(q, "load_in_8bit", "a weight in 8 bits");
  else if (q.flag("load_in_4bit", false)) {
    out.emplace();
    // Absent means fp4, as in transformers' class.
    const nlohmann::json *kind = q.find("bnb_4bit_quant_type");
    if (!kind)
      refuse(q, "bnb_4bit_quant_type",
             "the field is missing, and its default fp4");
    else if (*kind != "nf4")
      refuse(q, "bnb_4bit_quant_type", show(*kind));
    out->nested = q.flag("bnb_4bit_use_double_quant", false);
    if (q.find("bnb_4bit_compute_dtype"))
      out->compute =
          readDtype(q, "bnb_4bit_compute_dtype", artifact::DType::F32);
    if (q.find("llm_int8_skip_modules"))
      out->skipped = q.strings("llm_int8_skip_modules");
  } else if (!method) {
    q.expected("quant_method", "the method's name");
  }
  f.take(q);
  return out;
}

} // namespace act::hf
