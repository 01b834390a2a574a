// SPDX-License-Identifier: Apache-2.0
//
// config.json to a ModelConfig. What the importer does not build is refused
// here, with the field that asks for it; a field that is ignored would give
// another model without a word.
#include "act/HuggingFace/ModelConfig.h"
#include "lib/HuggingFace/Fields.h"
#include "lib/HuggingFace/Json.h"
#include "lib/HuggingFace/ModelType.h"
#include <algorithm>
#include <cstdio>
#include <fstream>

using nlohmann::json;

namespace act::hf {
namespace {

const std::vector<std::string> dtypeNames = {"float32", "bfloat16", "float16"};
constexpr artifact::DType dtypes[] = {
    artifact::DType::F32, artifact::DType::BF16, artifact::DType::F16};

// `torch_dtype` is the older name; files from the transition carry both.
artifact::DType readModelDtype(Fields &f) {
  artifact::DType older = readDtype(f, "torch_dtype", artifact::DType::F32);
  artifact::DType newer = readDtype(f, "dtype", older);
  auto name = [](artifact::DType type) {
    return dtypeNames[std::find(dtypes, std::end(dtypes), type) - dtypes];
  };
  if (f.find("torch_dtype") && older != newer)
    f.fail("torch_dtype",
           "contradicts dtype: " + name(older) + " and " + name(newer));
  return newer;
}

// The first architecture is the one that transformers would load.
Head readHead(Fields &f, const ModelType &type) {
  std::vector<std::string> stated = f.strings("architectures");
  if (stated.empty())
    return type.family == Family::Bert ? Head::HiddenStates : type.head;
  if (stated.front() == type.headed)
    return type.head;
  if (stated.front() != type.bare)
    f.fail("architectures", "expected " + std::string(type.headed) + " or " +
                                type.bare + ", found " + show(stated.front()));
  return Head::HiddenStates;
}

void readPadToken(Fields &f, ModelConfig &c) {
  // gpt2 does not pass it to its embedding.
  if (c.family == Family::Gpt2)
    return;
  if (!f.find("pad_token_id")) {
    if (f.has("pad_token_id") || (c.padToken && *c.padToken >= c.vocab))
      c.padToken.reset();
    return;
  }
  // PyTorch counts a negative index from the end.
  int64_t token = f.integer("pad_token_id", -c.vocab, 0);
  if (token >= c.vocab)
    f.expected("pad_token_id",
               "a token below vocab_size " + std::to_string(c.vocab));
  c.padToken = token < 0 ? token + c.vocab : token;
}

// Every dimension is below 2^31; their products are checked in floating point,
// where they cannot wrap.
void checkSize(Fields &f, const ModelConfig &c) {
  double attention = 2.0 * c.hidden * c.headDim * (double(c.heads) + c.kvHeads);
  double weights =
      double(c.layers) * (attention + 3.0 * c.hidden * c.intermediate) +
      2.0 * c.vocab * c.hidden + double(c.maxPositions) * c.hidden;
  if (weights < 1e15)
    return;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", weights);
  f.fail(c.family == Family::Gpt2 ? "n_embd" : "hidden_size",
         "expected a model of less than 1e15 weights, found about " +
             std::string(text) + " from the dimensions together");
}

} // namespace

artifact::DType readDtype(Fields &f, const char *name, artifact::DType absent) {
  size_t word = f.word(name, dtypeNames, dtypeNames.size());
  return word < dtypeNames.size() ? dtypes[word] : absent;
}

std::string_view name(Family family) {
  return modelTypes[static_cast<size_t>(family)]->name;
}

Result<ModelConfig> parse(std::string_view text, const std::string &file) {
  auto object = parseObject(text, file);
  if (!object)
    return object.error();
  Fields f(*object, file);
  ModelConfig c;
  if (!f.find("model_type"))
    f.expected("model_type", "the model's type");
  std::vector<std::string> names;
  for (const ModelType *type : modelTypes)
    names.push_back(type->name);
  const ModelType &type = *modelTypes[f.word("model_type", names, 0)];
  c.family = type.family;
  // Without a valid type, the errors below would be about another type's
  // fields.
  if (f.error())
    return *f.error();
  if (f.find("per_layer_config"))
    f.fail("per_layer_config", "is not supported");

  c.vocab = f.dimension("vocab_size");
  type.read(f, file, c);
  c.head = readHead(f, type);
  c.dtype = readModelDtype(f);
  c.quantization = readQuantization(f, file);
  c.initializerRange = f.nonNegative("initializer_range", 0.02);
  readPadToken(f, c);
  checkSize(f, c);
  if (f.error())
    return *f.error();
  return c;
}

Result<ModelConfig> load(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error{"cannot be opened", path};
  // Reads at most one byte more than the limit, enough for parse() to refuse:
  // an endless device must not be read to its end.
  std::string text(maxJsonBytes + 1, '\0');
  in.read(text.data(), text.size());
  if (in.bad())
    return Error{"cannot be read", path};
  text.resize(in.gcount());
  return parse(text, path);
}

} // namespace act::hf
