// SPDX-License-Identifier: Apache-2.0
//
// The options of act-run's commands.
#include "tools/act-run/CommandLine.h"
#include "tools/Numbers.h"
#include "tools/arguments/ParseArguments.h"
#include <utility>
#include <vector>

using namespace act;
using namespace act::run;
using act::tools::finite;
using act::tools::whole;

// A bound for steps and tokens: beyond any practical run, far from overflow.
constexpr uint64_t many = 1'000'000'000'000;

static void addShared(CLI::App &c, Options &o) {
  c.add_option("FILE", o.file, "an artifact, or a .mlir that is compiled first")
      ->required();
  c.add_option("--device", o.device, "host, cuda:N or sim:sm_XX")
      ->capture_default_str();
  c.add_option("--threads", o.threads, "threads of the host device (0: all)")
      ->transform(whole(0, 1024));
  c.add_option("--init", o.init,
               "weights under Hugging Face names: a .safetensors file, the "
               ".index.json of a sharded model, or a folder with either; "
               "repeat it for a base and its adapters")
      ->allow_extra_args(false);
  c.add_option("--seed", o.seed,
               "seed of initial weights, data order and dropout")
      ->transform(whole(0));
  c.add_flag("--allow-native", o.allowNative,
             "run native code of an artifact made elsewhere");
  c.add_flag("--any-memory", o.anyMemory,
             "run even if the step needs more memory than is free");
  c.add_flag("--debug", o.debug,
             "fill a buffer's memory with NaN when its lifetime ends");
}

// Options for models that are fed with token files.
static void addPadding(CLI::App &c, Options &o, CLI::Option *tokens) {
  c.add_option("--segments", o.segments,
               "for a packed model: each token's sequence number, int32 in the "
               "shape of the tokens; negative means padding")
      ->needs(tokens);
  c.add_option(
       "--attention-mask", o.attentionMask,
       "integers like the tokens, 0 hides one: of a bert, of a model "
       "imported with --attention-mask, or of a packed one, for padding "
       "between sequences. Where the tokens are their own labels, what "
       "is hidden is none")
      ->needs(tokens);
}

static void addTrain(CLI::App &c, Options &o) {
  addShared(c, o);
  auto *data = c.add_option("--data", o.data, "a text, by characters");
  auto *tokens =
      c.add_option("--tokens", o.tokens, "int32 [steps, b, s] (.npy)");
  auto *pack = c.add_option(
      "--pack", o.pack,
      "samples to pack: JSON lines of {tokens, labels}, or "
      "{input_ids, attention_mask, labels} as tokenizers "
      "write them; labels stand at their own tokens, as in Hugging "
      "Face's data sets, and are shifted here");
  data->excludes(tokens)->excludes(pack);
  tokens->excludes(pack);
  c.add_option(
       "--labels", o.labels,
       "what to predict at each token (already shifted), int32 in the shape of "
       "the tokens; -100 is ignored (default: the tokens, shifted)")
      ->needs(tokens);
  addPadding(c, o, tokens);
  c.add_option("--pack-length", o.packLength,
               "cut a packed model's tokens into rows of this length")
      ->needs(pack)
      ->transform(whole(1, many));
  c.add_option("--steps", o.steps,
               "total steps, including those of the run that is resumed")
      ->required()
      ->transform(whole(1, many));
  c.add_option("--lr", o.learningRate, "learning rate")
      ->required()
      ->check(finite());
  c.add_option("--optimizer", o.optimizer, artifact::optimizerNames())
      ->check(CLI::IsMember(artifact::optimizers));
  c.add_option(
       "--micro-batches", o.microBatches,
       "batches per step; their gradients add up to those of one large batch")
      ->transform(whole(1, 4096));
  c.add_option("--loss-average", o.lossAverage,
               "labels: a step's loss is the mean over all its labels; "
               "micro-batches: the mean of its micro-batches' means (default: "
               "as the file says, else labels)")
      ->check(CLI::IsMember({"labels", "micro-batches"}));
  c.add_option("--log", o.log, "one JSON object per step");
  c.add_flag("--log-times", o.logTimes, "put tokens per second into the log");
  c.add_option("--eval-every", o.evalEvery,
               "steps between held-out losses (always after the last)")
      ->transform(whole(0, many));
  c.add_option("--save", o.save,
               "checkpoint: FILE (or FOLDER/model.safetensors) with the "
               "trained parameters (for LoRA, the adapters), and FILE.state");
  c.add_flag("--save-whole", o.saveWhole, "also save frozen parameters")
      ->needs("--save");
  c.add_option("--max-shard-size", o.maxShardBytes,
               "shard larger weights, with an index: 5GB, 500MB, 2GiB")
      ->needs("--save")
      ->transform(CLI::AsSizeValue(true))
      ->default_str("5GB");
  c.add_option("--save-every", o.saveEvery,
               "steps between checkpoints (always after the last)")
      ->transform(whole(0, many));
  c.add_option("--resume", o.resume,
               "continue from this checkpoint; adapters also need --init with "
               "their base");
  c.add_option("--dump-gradients", o.dumpGradients,
               "the last step's gradients (.safetensors)");
  c.add_flag("--measure", o.measure, "print predicted and measured memory");
  c.add_option("--measure-json", o.measureJson, "the same table as JSON")
      ->needs("--measure");
  c.add_flag("--times", o.times,
             "print each kernel's time per step, from the device's events");
  c.add_option("--times-json", o.timesJson, "the same table as JSON")
      ->needs("--times");
  c.callback([&o] {
    if (o.data.empty() && o.tokens.empty() && o.pack.empty())
      throw CLI::RequiredError("--data, --tokens or --pack");
  });
}

static void addInfer(CLI::App &c, Options &o) {
  addShared(c, o);
  auto *tokens =
      c.add_option("--tokens", o.tokens, "int32 [b, s] or [n, b, s]");
  tokens->required();
  addPadding(c, o, tokens);
  c.add_option("--out", o.out, "the first output (.npy)")->required();
}

static void addGenerate(CLI::App &c, Options &o) {
  addShared(c, o);
  c.add_option("--prompt", o.prompt, "how the text begins")->required();
  c.add_option("--tokens", o.count, "how many to add")
      ->required()
      ->transform(whole(0, many));
  c.add_option("--temperature", o.temperature,
               "sampling temperature (0: always the most likely)")
      ->check(finite());
  c.add_option("--top-k", o.topK, "sample from the k most likely (0: all)")
      ->transform(whole(0, many));
}

static void addKernel(CLI::App &c, Options &o) {
  o.launch.tool = "act-run";
  c.add_option("FILE", o.file, "a .mlir with gpu.func kernels")->required();
  c.add_option("--kernel,--entry", o.launch.kernel,
               "its name (default: the only one)");
  c.add_option(
      "--target", o.target,
      "sm_80, sm_86, sm_89 or sm_90a (default: the card's own, else sm_80)");
  c.add_option("--device", o.simulator,
               "sim, sim:sm_XX, host (tile kernels, for debugging: no thread "
               "checks, no profile) or cuda:N (no checks, one time)")
      ->capture_default_str();
  c.add_option("--block-size", o.blockSizes,
               "named block sizes (the kernel's tile.block_sizes): M=64,K=32")
      ->join(',');
  o.launch.grid.clear();
  c.add_option("--grid", o.launch.grid,
               "blocks: X,Y,Z (default: the kernel's tile.grid, or 1)");
  c.add_option("--cache-dir", o.cacheDir,
               "where compiled kernels are kept (default: $XDG_CACHE_HOME/act; "
               "none: nowhere)");
  simtool::addLaunchOptions(c, o.launch);
}

CommandLine run::readCommandLine(int argc, char **argv) {
  CommandLine line;
  Options &o = line.options;
  CLI::App app("runs compiled training steps", "act-run");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App *, int (*)(const Options &)>> commands;
  auto command = [&](const char *name, const char *what,
                     void (*add)(CLI::App &, Options &),
                     int (*run)(const Options &)) {
    CLI::App *c = app.add_subcommand(name, what);
    add(*c, o);
    commands.push_back({c, run});
  };
  command("train", "trains a model", addTrain, train);
  command("infer", "one forward pass", addInfer, infer);
  command("generate", "writes text", addGenerate, generate);
  command("kernel", "compiles one kernel and runs it", addKernel, kernel);
  if (auto status = tools::parseArguments(app, argc, argv, ACT_RUN_LLVM)) {
    line.exitCode = *status;
    return line;
  }
  for (auto &[parsed, run] : commands)
    if (*parsed)
      line.command = run;
  return line;
}
