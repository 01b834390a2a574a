// SPDX-License-Identifier: Apache-2.0
//
// The files that act-run reads and writes: checkpoints, weights, tokens,
// outputs.
#include "act/Npy/Npy.h"
#include "act/Safetensors/Set.h"
#include "test/runtime/RunActRun.h"
#include "tools/act-run/Checkpoint.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::run;

TEST_F(ActRun, ResumedRunEqualsTheUninterruptedOne) {
  std::string data = "--data text --seed 11 ";
  ASSERT_EQ(run(train + data + "--steps 9 --log whole --save whole.w").code, 0);
  ASSERT_EQ(run(train + data + "--steps 4 --log half --save half.w").code, 0);
  ASSERT_EQ(run(train + "--data text --steps 9 --log half --resume half.w "
                        "--save rest.w --threads 1")
                .code,
            0);
  EXPECT_EQ(content("half"), content("whole"));
  EXPECT_EQ(content("rest.w"), content("whole.w"));
  EXPECT_EQ(content("rest.w.state"), content("whole.w.state"));
  EXPECT_FALSE(exists("rest.w.state.next"));
  // The order of the data is the seed's.
  ASSERT_EQ(run(train + "--data text --seed 12 --steps 9 --log other").code, 0);
  EXPECT_NE(content("other"), content("whole"));
}

TEST_F(ActRun, ResumeChecksItsFiles) {
  ASSERT_EQ(run(train + "--data text --steps 3 --save a").code, 0);
  ASSERT_EQ(run(train + "--data text --steps 4 --save b").code, 0);
  std::string again = train + "--data text --steps 9 --resume ";
  expectError(train + "--data text --steps 3 --resume a", "asks for no more");
  expectError(again + "a --seed 4", "contradicts");
  expectError(again + "nothing", "cannot read");
  std::string state = content("b.state");
  ASSERT_TRUE(file::writeFile(folder + "a.state", state));
  expectError(again + "a", "belongs to different weights");
  // As after a kill between the two renames.
  ASSERT_TRUE(file::writeFile(folder + "b.state.next", state));
  ASSERT_TRUE(file::writeFile(folder + "b.state", content("a.state") + "x"));
  EXPECT_EQ(run(again + "b").code, 0);
  float w = 1;
  ASSERT_TRUE(safetensors::write(folder + "plain", {{"x", "F32", {1}, &w}}));
  expectError(again + "plain", "not a checkpoint");
}

TEST_F(ActRun, KilledWhileSavingLeavesAUsablePair) {
  for (int round = 0; round < 12; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (chdir(folder.c_str()) != 0 || !freopen("/dev/null", "w", stderr))
        _exit(9);
      execl(ACT_RUN, "act-run", "train", "m.act", "--allow-native", "--lr", "1",
            "--data", "text", "--steps", "1000000", "--save-every", "1",
            "--save", "k", nullptr);
      _exit(9);
    }
    while (!exists("k.state"))
      usleep(1000);
    usleep(static_cast<useconds_t>(5000 + 3700 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto source = openStepSource(folder + "m.act", {});
    ASSERT_TRUE(source);
    ModelOptions options;
    options.allowNative = true;
    auto model = Model::load(**source, options);
    ASSERT_TRUE(model) << model.error().str();
    auto checkpoint = Checkpoint::open(folder + "k");
    ASSERT_TRUE(checkpoint) << round << " " << checkpoint.error().str();
    EXPECT_GT(checkpoint->position.step, 0u);
    auto fits = checkpoint->check(**model);
    EXPECT_TRUE(fits) << fits.error().str();
  }
}

TEST_F(ActRun, InterruptEndsTheStepAndSaves) {
  Outcome o = run(train + "--data text --steps 100000000 --save k & "
                          "sleep 0.3; kill -INT $!; wait $!");
  EXPECT_EQ(o.code, 130);
  EXPECT_TRUE(exists("k"));
  EXPECT_TRUE(exists("k.state"));
  EXPECT_FALSE(exists("k.state.next"));
}

TEST_F(ActRun, SavesToWhatIsNoFile) {
  EXPECT_EQ(run(train + "--data text --steps 1 --save /dev/null").code, 0);
  EXPECT_NE(access("/dev/null.state", F_OK), 0);
  // A folder is where a model's file goes.
  ASSERT_TRUE(std::filesystem::create_directory(folder + "sub"));
  EXPECT_EQ(run(train + "--data text --steps 1 --save sub").code, 0);
  EXPECT_TRUE(exists("sub/model.safetensors"));
  EXPECT_TRUE(exists("sub/model.safetensors.state"));
  EXPECT_EQ(run(train + "--data text --steps 2 --resume sub --save sub/").code,
            0);
  expectError(train + "--data text --steps 1 --save no/such/w", "no/such/w");
}

// Before the first step, and with nothing left behind.
TEST_F(ActRun, OutputsAreCheckedFirst) {
  std::string endless = train + "--data text --steps 100000000 ";
  std::ptrdiff_t before = entries();
  expectError(endless + "--log log --save no/such/w",
              "no/such/w: cannot write");
  expectError(endless + "--save w --log no/such/log",
              "no/such/log: cannot write");
  expectError(endless + "--save w --log .", "folder");
  expectError(endless + "--save w --measure --measure-json no/j",
              "no/j: cannot");
  expectError(endless + "--save w --dump-gradients no/g", "no/g: cannot");
  // Nobody, root included, makes files there.
  expectError(endless + "--log log --save /proc/w", "/proc/w: cannot write");
  expectError(endless + "--save w --log /proc/log", "/proc/log: cannot write");
  EXPECT_EQ(entries(), before);
  expectError("infer m.act --allow-native --init w --tokens t --out no/o",
              "no/o: cannot write");
}

TEST_F(ActRun, OutputsOverwriteNothing) {
  std::string two = train + "--data text --steps 1 ";
  std::string same = "would write the same file";
  expectError(two + "--save x --log x", "--save and --log " + same);
  expectError(two + "--save x --log ./x", same);
  expectError(two + "--save x --log x.state", same);
  expectError(two + "--save x --dump-gradients x", same);
  ASSERT_EQ(symlink("x", (folder + "link").c_str()), 0);
  expectError(two + "--save x --log link", same); // x is not there yet
  ASSERT_TRUE(file::writeFile(folder + "x", "kept"));
  expectError(two + "--save link --log x", same);
  ASSERT_EQ(::link((folder + "x").c_str(), (folder + "hard").c_str()), 0);
  expectError(two + "--save hard --log x", same);
  EXPECT_EQ(content("x"), "kept");
  std::string model = content("m.act"), text = content("text");
  expectError(two + "--log text", "--log would overwrite the file that --data");
  expectError(two + "--save ./m.act", "overwrite the file that FILE reads");
  expectError("infer m.act --allow-native --tokens text --out text",
              "--out would overwrite the file that --tokens");
  EXPECT_EQ(content("m.act"), model);
  EXPECT_EQ(content("text"), text);
  // A run may go on in its own checkpoint, and write two logs to nowhere.
  EXPECT_EQ(run(two + "--save w --log /dev/null").code, 0);
  EXPECT_EQ(run(train + "--data text --steps 2 --resume w --save w").code, 0);
  EXPECT_EQ(run(two + "--save /dev/null --log /dev/null").code, 0);
}

TEST_F(ActRun, TokensFromFiles) {
  std::vector<int32_t> tokens(3 * 2 * 8), labels;
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(i * 7 % 30);
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {3, 2, 8}, tokens.data()));
  for (size_t i = 0; i < tokens.size(); ++i)
    labels.push_back(i % 8 == 7 ? -100 : tokens[i + 1]);
  ASSERT_TRUE(npy::write(folder + "l.npy", "i4", {3, 2, 8}, labels.data()));
  ASSERT_EQ(run(train + "--tokens t.npy --steps 3 --log a").code, 0);
  ASSERT_EQ(run(train + "--tokens t.npy --labels l.npy --steps 3 --log b "
                        "--dump-gradients g")
                .code,
            0);
  EXPECT_EQ(content("a"), content("b"));
  auto g = safetensors::File::open(folder + "g");
  ASSERT_TRUE(g);
  EXPECT_TRUE(g->find("model.embed_tokens.weight"));

  expectError(train + "--tokens t.npy --steps 4", "for 3 steps");
  expectError(train + "--tokens t.npy --segments t.npy --steps 1",
              "not packed");
  tokens[5] = 30;
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {3, 2, 8}, tokens.data()));
  expectError(train + "--tokens t.npy --steps 1", "vocabulary of 30");
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {6, 8}, tokens.data()));
  expectError(train + "--tokens t.npy --steps 1", "tokens: i32[2,8]");
  ASSERT_TRUE(npy::write(folder + "t.npy", "f4", {3, 2, 8}, tokens.data()));
  expectError(train + "--tokens t.npy --steps 1", "holds floats");
}

TEST_F(ActRun, InferWritesTheFirstOutput) {
  ASSERT_EQ(run(train + "--data text --steps 2 --save w").code, 0);
  std::vector<int32_t> tokens(3 * 2 * 8, 4);
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {3, 2, 8}, tokens.data()));
  ASSERT_EQ(
      run("infer m.act --allow-native --init w --tokens t.npy --out o.npy")
          .code,
      0);
  auto o = npy::read(folder + "o.npy");
  ASSERT_TRUE(o);
  EXPECT_EQ(o->shape, (std::vector<int64_t>{3, 2, 8, 30}));
  auto w = safetensors::File::open(folder + "w");
  ASSERT_TRUE(w);
  // A bigram's logits are its table's rows.
  EXPECT_EQ(std::memcmp(o->bytes.data() + 4 * 30 * 47,
                        w->data(w->tensors()[0]) + 4 * 30 * 4, 4 * 30),
            0);
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {2, 8}, tokens.data()));
  EXPECT_EQ(
      run("infer m.act --allow-native --init w --tokens t.npy --out o.npy")
          .code,
      0);
  expectError("infer m.act --allow-native --init w --tokens t.npy "
              "--attention-mask t.npy --out o.npy",
              "no input 'attention_mask'); import it with --attention-mask, or "
              "with --packed");
  // Padding in front of a row and behind it is a packed model's; inside it is
  // no sequence's end.
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {2, 8}, tokens.data()));
  std::vector<int32_t> mask(16, 1);
  mask[0] = mask[1] = mask[15] = 0;
  ASSERT_TRUE(npy::write(folder + "m.npy", "i4", {2, 8}, mask.data()));
  std::string packed = "infer p.act --allow-native --init w --tokens t.npy "
                       "--attention-mask m.npy --out o.npy";
  EXPECT_EQ(run(packed).code, 0) << content("err");
  mask[4] = 0;
  ASSERT_TRUE(npy::write(folder + "m.npy", "i4", {2, 8}, mask.data()));
  expectError(packed, "m.npy: the mask hides tokens inside a sequence (which "
                      "continues at position 5)");
}

TEST_F(ActRun, WeightsMustFit) {
  std::vector<float> w(30 * 30, 0.5f);
  auto put = [&](std::vector<safetensors::Source> t) {
    ASSERT_TRUE(safetensors::write(folder + "init", std::move(t)));
  };
  std::string command = train + "--data text --steps 1 --init init";
  put({{"model.embed_tokens.weight", "F32", {30, 30}, w.data()}});
  EXPECT_EQ(run(command).code, 0);
  put({{"embed_tokens.weight", "F32", {30, 30}, w.data()}});
  EXPECT_EQ(run(command).code, 0) << "a base model's names";
  put({{"model.embed_tokens.weight", "F32", {30, 30}, w.data()},
       {"lm_head.weight", "F32", {30, 30}, w.data()}});
  EXPECT_EQ(run(command).code, 0) << "a tied head";
  put({{"lm_head.weight", "F32", {30, 30}, w.data()}});
  EXPECT_EQ(run(command).code, 0) << "only the tied head";
  put({{"model.embed_tokens.weight", "F32", {30, 30}, w.data()},
       {"pooler.dense.bias", "F32", {30}, w.data()}});
  Outcome o = run(command);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err.substr(0, o.err.find("1720")),
            "not needed from init:\n    pooler.dense.bias\n");
  std::vector<float> other(30 * 30, 0.25f);
  put({{"model.embed_tokens.weight", "F32", {30, 30}, w.data()},
       {"lm_head.weight", "F32", {30, 30}, other.data()}});
  expectError(command, "tied in the model, not in the file:\n    lm_head");
  put({{"model.embed_tokens.weight", "F32", {15, 60}, w.data()}});
  expectError(command, "model.embed_tokens.weight: f32[30,30], in the file "
                       "[15,60]");
  put({{"model.norm.weight", "F32", {30}, w.data()}});
  expectError(command, "missing in the file");
  expectError(command, "unknown to the model");
}

namespace {

/// A model that is trained in part, as one with LoRA is: its table stands in
/// for an adapter's matrix, beside two frozen tensors of its base.
artifact::Step adaptedStep() {
  artifact::Step step = test::bigramStep({2, 8, 30, false});
  step.parameters[0].name = "model.layers.0.q_proj.lora_A.weight";
  step.parameters[0].tied = {};
  for (const char *name :
       {"model.layers.0.q_proj.weight", "model.norm.weight"}) {
    artifact::Parameter p;
    p.name = name;
    p.type.shape = {20, 20};
    p.frozen = true;
    step.parameters.push_back(p);
  }
  return step;
}

std::vector<std::string> namesIn(const std::string &path) {
  auto set = safetensors::Set::open(path);
  std::vector<std::string> names;
  if (set)
    for (const auto &e : set->tensors())
      names.push_back(e.tensor->name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

// --save writes the trained parameters under PEFT's names, and the whole model
// on request.
TEST_F(ActRun, SavesWhatWasTrained) {
  ASSERT_TRUE(artifact::writeFile(folder + "a.act", adaptedStep()));
  const std::string adapt = "train a.act --allow-native --lr 5 --data text ";
  ASSERT_EQ(run(adapt + "--seed 4 --steps 9 --log log --save adapters").code,
            0);
  EXPECT_EQ(namesIn(folder + "adapters"),
            (std::vector<std::string>{
                "base_model.model.model.layers.0.q_proj.lora_A.weight"}));
  ASSERT_EQ(run(adapt + "--seed 4 --steps 9 --save whole --save-whole "
                        "--max-shard-size 2KB")
                .code,
            0);
  EXPECT_EQ(namesIn(folder + "whole.index.json"),
            (std::vector<std::string>{"model.layers.0.q_proj.lora_A.weight",
                                      "model.layers.0.q_proj.weight",
                                      "model.norm.weight"}));
  EXPECT_TRUE(exists("whole-00003-of-00003.safetensors"));
  EXPECT_FALSE(exists("whole"));
  // A run of the adapters goes on as one of the whole does, and as neither.
  ASSERT_EQ(run(adapt + "--seed 4 --steps 12 --log all").code, 0);
  std::string expected = content("all");
  for (const char *from : {"adapters", "whole"}) {
    ASSERT_TRUE(file::writeFile(folder + "again", content("log")));
    Outcome o = run(adapt + "--steps 12 --log again --resume " + from);
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(content("again"), expected) << from;
  }
}

// A base and adapters are one set of names.
TEST_F(ActRun, SeveralFilesAreOneSetOfNames) {
  ASSERT_TRUE(artifact::writeFile(folder + "a.act", adaptedStep()));
  std::vector<float> w(900, 0.5f);
  auto put = [&](const std::string &name,
                 std::vector<safetensors::Source> tensors, uint64_t most) {
    std::filesystem::create_directories(
        std::filesystem::path(folder + name).parent_path());
    ASSERT_TRUE(
        safetensors::writeSet(folder + name, std::move(tensors), {}, most));
  };
  safetensors::Source q{
      "model.layers.0.q_proj.weight", "F32", {20, 20}, w.data(), {}},
      norm{"model.norm.weight", "F32", {20, 20}, w.data(), {}},
      lora{"base_model.model.model.layers.0.q_proj.lora_A.weight",
           "F32",
           {30, 30},
           w.data(),
           {}};
  put("base/model.safetensors", {q, norm}, 1000); // two shards
  put("lora/adapter_model.safetensors", {lora}, 10000);
  ASSERT_TRUE(exists("base/model.safetensors.index.json"));
  const std::string adapt =
      "train a.act --allow-native --lr 0 --data text --steps 1 --save w "
      "--save-whole ";
  auto saved = [&](const std::string &name) {
    auto file = safetensors::File::open(folder + "w");
    float v = -1;
    if (const safetensors::Tensor *t = file ? file->find(name) : nullptr)
      std::memcpy(&v, file->data(*t), 4);
    return v;
  };
  Outcome o = run(adapt + "--init base --init lora");
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char *name : {"model.layers.0.q_proj.lora_A.weight",
                           "model.layers.0.q_proj.weight", "model.norm.weight"})
    EXPECT_EQ(saved(name), 0.5f) << name;
  o = run(adapt + "--init base/model.safetensors.index.json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("1 LoRA matrices are not in base/model"),
            std::string::npos)
      << o.err;
  EXPECT_NE(saved("model.layers.0.q_proj.lora_A.weight"), 0.5f);
  expectError(adapt + "--init lora",
              "missing in the file:\n    model.layers.0.q_proj.weight\n    "
              "model.norm.weight\n  adapters come beside their base");
  expectError(adapt +
                  "--init base --init base/model-00002-of-00002.safetensors",
              "base, base/model-00002-of-00002.safetensors: the weights do not "
              "fit the model\n  given twice:\n    model.norm.weight, in base "
              "and in base/model-00002-of-00002.safetensors");
  put("odd", {q, norm, {"x", "F32", {1}, w.data(), {}}}, 10000);
  expectError(adapt + "--init odd --init lora", "unknown to the model:\n    x");
  std::filesystem::remove(folder + "base/model-00001-of-00002.safetensors");
  expectError(adapt + "--init base",
              "the index names the shard model-00001-of-00002.safetensors, "
              "which is not there");
  expectError(adapt + "--init .", "the folder holds no .safetensors file");
  // What was trained beside files goes on beside them.
  put("base/model.safetensors", {q, norm}, 10000);
  const std::string tune = "train a.act --allow-native --lr 5 --data text ";
  ASSERT_EQ(run(tune + "--steps 3 --init base --save t").code, 0);
  expectError(tune + "--steps 5 --resume t", "missing in the file");
  EXPECT_EQ(run(tune + "--steps 5 --resume t --init base").code, 0);
}

// Nothing is loaded, compiled or drawn for a file that is not there: a step
// from elsewhere, which nobody allows to run, is not looked into yet.
TEST_F(ActRun, InputsAreCheckedFirst) {
  const std::string shut = "train m.act --lr 1 --steps 1 ";
  expectError(shut + "--tokens nosuch.npy", "nosuch.npy: cannot read");
  ASSERT_TRUE(file::writeFile(folder + "no.npy", "no array"));
  expectError(shut + "--tokens no.npy", "no.npy: ");
  expectError(shut + "--data nosuch", "nosuch: cannot read");
  expectError(shut + "--pack nosuch", "nosuch: cannot read");
  expectError(shut + "--data text --init nosuch", "nosuch: cannot read");
  expectError(shut + "--data text --resume nosuch", "nosuch: cannot read");
  expectError(shut + "--data text --log no/such/log", "no/such/log: cannot");
  expectError("infer m.act --seed 1 --tokens nosuch.npy --out o",
              "nosuch.npy: cannot read");
  expectError(shut + "--data text", "--allow-native");
}
