// SPDX-License-Identifier: Apache-2.0
//
// act-import's options and their checks.
#include "compiler/ImportCommand.h"
#include "tools/arguments/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <set>

namespace act {

const char *importHelp() {
  return R"(usage: act-import CONFIG.json [options] -o FILE

Writes the model of a Hugging Face config.json as a module in the act dialect.

  --batch N            sequences per step (1)
  --seq N              tokens per sequence (the config's positions, at most 2048)
  --symbolic b,s,...   dimensions to keep as letters, without a size
  --packed[=MAXSEQS]   one row of batch * seq tokens; the boundaries of sequences
                       are an input of the step
  --attention-mask     causal models take a padding mask, as BERT does
  --dtype TYPE         bf16, f16 or f32 (the config's, else f32)
  --mode MODE          train: returns the loss; infer: logits or hidden states;
                       generate: logits after each row's last token, whose
                       earlier tokens are in a cache (train)
  --context N          generate: cached tokens of a row, at most
  --cache-block N      generate: tokens of a block of the cache (16)
  --cache-blocks N     generate: blocks of all rows (as many as they need)
  --kv-cache           infer: also returns the keys and values of all layers,
                       which later tokens attend to
  --lora-rank R        low-rank adapters on a frozen model
  --lora-alpha A       adapters are scaled by A / R (2 R)
  --lora-targets q,..  the linear layers that get an adapter (query and value);
                       all-linear: all of the layers
  --train NAME,..      modules that train beside the adapters (lm_head)
  --freeze PATTERN,..  parameters that do not train, by their names in files
                       (*.bias, model.layers.*.mlp.*)
  --quantize nf4       4-bit weights in the layers; nf4-nested: also 8-bit scales
                       (QLoRA's double quantisation). The default follows the
                       config's quantization_config (bitsandbytes' nf4)
  -o FILE              the output (standard output)
  --version            act's version, and LLVM's
)";
}

namespace {
struct Parser {
  ImportCommand command;
  std::set<std::string> seen;
  bool generates = false;
  std::optional<int64_t> context, cacheBlock, cacheBlocks;
  Status option(const std::string &name, std::optional<std::string> value);
  Status cache();
};
} // namespace

static Error expected(const std::string &option, const std::string &what,
                      const std::string &found) {
  return Error{"expected " + what + ", found '" + found + "'", option};
}

static Status number(const std::string &option, const std::string &text,
                     std::optional<int64_t> &out) {
  int64_t value;
  if (llvm::StringRef(text).getAsInteger(10, value))
    return expected(option, "a number", text);
  out = value;
  return ok();
}

static std::vector<std::string> list(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  std::vector<std::string> out;
  for (llvm::StringRef part : parts)
    out.push_back(part.trim().str());
  return out;
}

static bool isFlag(llvm::StringRef name) {
  return name == "--kv-cache" || name == "--attention-mask";
}

// `value` is present for every option except flags and --packed.
Status Parser::option(const std::string &name,
                      std::optional<std::string> value) {
  ImportOptions &o = command.options;
  if (name == "--packed") {
    o.packed = true;
    return value ? number(name, *value, o.maxSequences) : ok();
  }
  if (name == "--kv-cache") {
    o.kvCache = true;
    return ok();
  }
  if (name == "--attention-mask") {
    o.attentionMask = true;
    return ok();
  }
  const std::string &v = *value;
  if (name == "--batch") {
    std::optional<int64_t> batch;
    Status s = number(name, v, batch);
    o.batch = batch.value_or(1);
    return s;
  }
  if (name == "--seq")
    return number(name, v, o.seq);
  if (name == "--lora-rank")
    return number(name, v, o.loraRank);
  if (name == "--context")
    return number(name, v, context);
  if (name == "--cache-block")
    return number(name, v, cacheBlock);
  if (name == "--cache-blocks")
    return number(name, v, cacheBlocks);
  if (name == "--lora-alpha") {
    double alpha;
    if (llvm::StringRef(v).getAsDouble(alpha))
      return expected(name, "a number", v);
    o.loraAlpha = alpha;
  } else if (name == "--symbolic") {
    o.symbolic = list(v);
  } else if (name == "--lora-targets") {
    o.loraTargets = list(v);
  } else if (name == "--train") {
    o.trained = list(v);
  } else if (name == "--freeze") {
    o.frozen = list(v);
  } else if (name == "--dtype") {
    if (v == "bf16")
      o.dtype = artifact::DType::BF16;
    else if (v == "f16")
      o.dtype = artifact::DType::F16;
    else if (v == "f32")
      o.dtype = artifact::DType::F32;
    else
      return expected(name, "bf16, f16 or f32", v);
  } else if (name == "--mode") {
    if (v != "train" && v != "infer" && v != "generate")
      return expected(name, "train, infer or generate", v);
    o.train = v == "train";
    generates = v == "generate";
  } else if (name == "--quantize") {
    if (v != "nf4" && v != "nf4-nested")
      return expected(name, "nf4 or nf4-nested", v);
    o.nf4 = true;
    o.nf4Nested = v == "nf4-nested";
  } else if (name == "-o") {
    command.output = v;
  }
  return ok();
}

Status Parser::cache() {
  for (auto [option, value] : {std::pair("--context", context),
                               {"--cache-block", cacheBlock},
                               {"--cache-blocks", cacheBlocks}})
    if (value && !generates)
      return Error{"needs --mode generate", option};
  if (!generates)
    return ok();
  if (!context)
    return Error{"needs --context, the cached tokens of a row", "--mode"};
  ImportOptions::Cache found;
  found.context = *context;
  found.block = cacheBlock.value_or(found.block);
  found.blocks = cacheBlocks;
  command.options.cache = found;
  if (!command.options.seq)
    command.options.seq = 1;
  return ok();
}

Result<ImportCommand>
parseImportCommand(const std::vector<std::string> &words) {
  static const std::set<std::string> known = {
      "--batch",        "--seq",      "--symbolic",  "--packed",
      "--dtype",        "--mode",     "--lora-rank", "--lora-alpha",
      "--lora-targets", "--quantize", "--kv-cache",  "--attention-mask",
      "--train",        "--freeze",   "--context",   "--cache-block",
      "--cache-blocks", "-o"};
  Parser parser;
  ImportCommand &command = parser.command;
  for (size_t i = 0; i < words.size(); ++i) {
    llvm::StringRef word = words[i];
    if (word == "--help" || word == "-h") {
      command.help = true;
      return command;
    }
    if (word == "--version") {
      command.version = true;
      return command;
    }
    if (!word.starts_with("-") || word == "-") {
      if (!command.config.empty())
        return Error{"expected one config, found '" + command.config +
                         "' and '" + words[i] + "'",
                     ""};
      command.config = words[i];
      continue;
    }
    auto [key, text] = word.split('=');
    std::string name = key.str();
    if (!known.count(name))
      return Error{"unknown option '" + name + "'" +
                       tools::suggestion(name, {known.begin(), known.end()},
                                         "the options"),
                   ""};
    if (!parser.seen.insert(name).second)
      return Error{"is given twice", name};
    std::optional<std::string> value;
    const bool flag = isFlag(name);
    if (flag && word.contains('='))
      return Error{"takes no value", name};
    if (word.contains('='))
      value = text.str();
    else if (!flag && name != "--packed" && i + 1 < words.size())
      value = words[++i];
    if ((!value && !flag && name != "--packed") || (value && value->empty()))
      return Error{"expected a value", name};
    if (auto s = parser.option(name, value); !s)
      return s.error();
    if (name != "-o")
      command.shown.push_back(name + (!value               ? ""
                                      : name == "--packed" ? "=" + *value
                                                           : " " + *value));
  }
  if (command.config.empty())
    return Error{"expected a config.json; --help shows the usage", ""};
  if (auto s = parser.cache(); !s)
    return s.error();
  for (auto [letter, option] : {std::pair("b", "--batch"), {"s", "--seq"}})
    if (llvm::is_contained(command.options.symbolic, letter) &&
        parser.seen.count(option))
      command.warnings.push_back(std::string(option) +
                                 " is not used: --symbolic " + letter +
                                 " leaves its size open");
  command.options.name = llvm::sys::path::stem(command.config).str();
  return command;
}

} // namespace act
