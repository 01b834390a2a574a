// SPDX-License-Identifier: Apache-2.0
//
// act-run train|infer|generate: runs a compiled step, or compiles a module and
// runs it.
#include "tools/act-run/Options.h"
#include <CLI/CLI.hpp>

using namespace act::run;

int act::run::fail(const std::string &message) {
  fprintf(stderr, "act-run: error: %s\n", message.c_str());
  return 1;
}

static void addShared(CLI::App &c, Options &o) {
  c.add_option("FILE", o.file, "an artifact, or a .mlir that is compiled first")
      ->required();
  c.add_option("--device", o.device, "host, cuda:N or sim:sm_XX")
      ->capture_default_str();
  c.add_option("--threads", o.threads, "threads of the host device (0: all)")
      ->check(CLI::Range(0, 1024));
  c.add_option("--init", o.init,
               "weights under Hugging Face names (.safetensors)");
  c.add_option("--seed", o.seed, "of initial weights, data order, dropout");
  c.add_flag("--allow-native", o.allowNative,
             "run native code of an artifact made elsewhere");
  c.add_flag("--debug", o.debug, "fill memory with NaN when a buffer dies");
}

static void addTrain(CLI::App &c, Options &o) {
  auto *data = c.add_option("--data", o.data, "a text, by characters");
  auto *tokens =
      c.add_option("--tokens", o.tokens, "int32 [steps, b, s] (.npy)");
  auto *pack = c.add_option("--pack", o.pack,
                            "samples to pack: JSON lines of {tokens, labels}");
  data->excludes(tokens)->excludes(pack);
  tokens->excludes(pack);
  c.add_option("--labels", o.labels,
               "int32 like the tokens, -100 ignored; default: tokens shifted")
      ->needs(tokens);
  c.add_option("--segments", o.segments, "int32 like the tokens")
      ->needs(tokens);
  c.add_option("--pack-length", o.packLength,
               "cut a packed model's tokens into rows of this length")
      ->needs(pack);
  c.add_option("--steps", o.steps, "how many in all, a resumed run's included")
      ->required()
      ->check(CLI::PositiveNumber);
  c.add_option("--lr", o.learningRate, "learning rate")
      ->required()
      ->check(CLI::NonNegativeNumber);
  c.add_option("--optimizer", o.optimizer, "adamw or sgd")
      ->check(CLI::IsMember({"adamw", "sgd"}));
  c.add_option("--micro-batches", o.microBatches,
               "a step adds up the gradients of so many batches")
      ->check(CLI::Range(1, 4096));
  c.add_option("--log", o.log, "one JSON object per step");
  c.add_flag("--log-times", o.logTimes, "put tokens per second into the log");
  c.add_option("--eval-every", o.evalEvery,
               "steps between held-out losses (always after the last)");
  c.add_option("--save", o.save, "checkpoint: FILE and FILE.state");
  c.add_option("--save-every", o.saveEvery,
               "steps between checkpoints (always after the last)");
  auto *resume =
      c.add_option("--resume", o.resume, "a checkpoint to go on from");
  resume->excludes("--init");
  c.add_option("--dump-gradients", o.dumpGradients,
               "the last step's gradients (.safetensors)");
  c.add_flag("--measure", o.measure, "predicted beside measured memory");
  c.add_option("--measure-json", o.measureJson, "the same table as JSON")
      ->needs("--measure");
  c.callback([&o] {
    if (o.data.empty() && o.tokens.empty() && o.pack.empty())
      throw CLI::RequiredError("--data, --tokens or --pack");
  });
}

int main(int argc, char **argv) {
  CLI::App app("runs compiled training steps");
  app.require_subcommand(1);
  Options o;
  auto *trainCommand = app.add_subcommand("train", "trains a model");
  addShared(*trainCommand, o);
  addTrain(*trainCommand, o);
  auto *inferCommand = app.add_subcommand("infer", "one forward pass");
  addShared(*inferCommand, o);
  inferCommand->add_option("--tokens", o.tokens, "int32 [b, s] or [n, b, s]")
      ->required();
  inferCommand->add_option("--attention-mask", o.attentionMask,
                           "integers like the tokens, 0 hides");
  inferCommand->add_option("--out", o.out, "the first output (.npy)")
      ->required();
  auto *generateCommand = app.add_subcommand("generate", "writes text");
  addShared(*generateCommand, o);
  generateCommand->add_option("--prompt", o.prompt, "how the text begins")
      ->required();
  generateCommand->add_option("--tokens", o.count, "how many to add")
      ->required();
  generateCommand
      ->add_option("--temperature", o.temperature, "0: the likeliest always")
      ->check(CLI::NonNegativeNumber);
  generateCommand->add_option("--top-k", o.topK, "only the k likeliest");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    // CLI11 numbers its errors from 100; a tool's user expects 1.
    return app.exit(e) == 0 ? 0 : 1;
  }
  if (*trainCommand)
    return train(o);
  return *inferCommand ? infer(o) : generate(o);
}
