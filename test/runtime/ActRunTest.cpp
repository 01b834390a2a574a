// SPDX-License-Identifier: Apache-2.0
//
// act-run as a user meets it, on steps made by hand, and its parts.
#include "act/Artifact/Format.h"
#include "act/Artifact/Types.h"
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Set.h"
#include "test/runtime/HandMadeSteps.h"
#include "tools/act-run/Batches.h"
#include "tools/act-run/Checkpoint.h"
#include "tools/act-run/Target.h"
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace act;
using namespace act::run;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ACT_SANITIZED
#endif
#endif

namespace {

#ifdef ACT_SANITIZED
constexpr bool allocationsAreCounted = false;
#else
constexpr bool allocationsAreCounted = true;
#endif

class ActRun : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/act-run-XXXXXX";
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern + "/";
    test::BigramOptions o;
    o.vocabulary = 30;
    ASSERT_TRUE(artifact::writeFile(folder + "m.act", test::bigramStep(o)));
    o.packed = true;
    ASSERT_TRUE(artifact::writeFile(folder + "p.act", test::bigramStep(o)));
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += "the quick brown fox jumps over a lazy dog; ";
    ASSERT_TRUE(file::writeFile(folder + "text", text));
  }
  void TearDown() override {
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(system(command.c_str()), 0);
  }

  struct Outcome {
    int code;
    std::string out, err;
  };
  /// Runs in the folder; single quotes protect nothing here but spaces.
  Outcome run(const std::string &arguments) {
    std::string command =
        "cd '" + folder + "' && " + ACT_RUN + " " + arguments + " >out 2>err";
    int status = system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status,
            content("out"), content("err")};
  }
  std::string content(const std::string &name) {
    auto f = file::MappedFile::open(folder + name);
    return f ? std::string(f->text()) : "(missing)";
  }
  bool exists(const std::string &name) {
    return access((folder + name).c_str(), F_OK) == 0;
  }
  std::ptrdiff_t entries() {
    run("--help"); // the outputs of a run are there, too
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }
  void expectError(const std::string &arguments, const std::string &message) {
    Outcome o = run(arguments);
    EXPECT_EQ(o.code, 1) << arguments << o.err;
    EXPECT_NE(o.err.find(message), std::string::npos) << arguments << "\n"
                                                      << o.err;
  }
  const std::string train = "train m.act --allow-native --lr 5 ";
};

TEST(ActRunTarget, IsTheNewestThatTheDeviceRuns) {
  const std::pair<const char *, const char *> known[] = {
      {"sm_80", "sm_80"},   {"sm_86", "sm_86"}, {"sm_87", "sm_86"},
      {"sm_89", "sm_89"},   {"sm_90", "sm_89"}, {"sm_90a", "sm_90a"},
      {"sm_100a", "sm_89"}, {"sm_120", "sm_89"}};
  for (auto [architecture, target] : known) {
    auto t = targetFor("cuda:0", architecture);
    ASSERT_TRUE(t) << t.error().str();
    EXPECT_EQ(*t, target) << architecture;
  }
  auto old = targetFor("cuda:1", "sm_75");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().str(), "device 'cuda:1' is sm_75, kernels are made for "
                               "sm_80 and later");
  EXPECT_FALSE(targetFor("cuda:0", ""));
  EXPECT_EQ(*targetOf("host"), "host");
  EXPECT_EQ(*targetOf("sim:sm_90a"), "sm_90a");
  EXPECT_EQ(targetOf("elsewhere").error().str(),
            "unknown device 'elsewhere', expected host, cuda:N or sim:sm_XX");
}

} // namespace

TEST_F(ActRun, LearnsFromText) {
  Outcome o = run(train + "--data text --steps 200 --seed 3 --log log "
                          "--save w --eval-every 100");
  ASSERT_EQ(o.code, 0) << o.err << o.out;
  std::string log = content("log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 200);
  auto first = nlohmann::json::parse(log.substr(0, log.find('\n')));
  auto last =
      nlohmann::json::parse(log.substr(log.rfind('\n', log.size() - 2) + 1));
  EXPECT_NEAR(first["loss"].get<double>(), std::log(30), 0.2);
  EXPECT_LT(last["val_loss"].get<double>(), 1.2);
  EXPECT_EQ(last["step"], 200);
  EXPECT_FALSE(last.contains("tokens_per_second"));
  EXPECT_NE(o.err.find("distinct"), std::string::npos);

  Outcome g = run("generate m.act --allow-native --init w --prompt 'the q' "
                  "--tokens 12");
  EXPECT_EQ(g.code, 0) << g.err;
  EXPECT_EQ(g.out.substr(0, 6), "the qu");
  EXPECT_EQ(g.out.size(), 5 + 12 + 1u);
  std::string sampled = "generate m.act --allow-native --init w --prompt t "
                        "--tokens 40 --temperature 2 --top-k 8 --seed ";
  EXPECT_EQ(run(sampled + "1").out, run(sampled + "1").out);
  EXPECT_NE(run(sampled + "1").out, run(sampled + "2").out);
  expectError("generate m.act --allow-native --init w --prompt Q --tokens 1",
              "not in the vocabulary");
}

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

// What was trained, under PEFT's names; the whole when it is asked for.
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

TEST_F(ActRun, SaysWhatDoesNotFit) {
  artifact::Step step = test::bigramStep({2, 8, 30, false});
  artifact::Parameter large;
  large.name = "large.weight";
  large.type.shape = {int64_t{1} << 42};
  step.parameters.push_back(large);
  ASSERT_TRUE(artifact::writeFile(folder + "l.act", step));
  Outcome o = run("train l.act --allow-native --lr 1 --data text --steps 1");
  EXPECT_EQ(o.code, 1);
  for (const char *part :
       {"the step needs 17592186", " bytes: parameters 17592186048016, ",
        "device host has ", " GiB) free (",
        "--remat=budget=fit:", "--emit=l.act", "--any-memory runs it anyway"})
    EXPECT_NE(o.err.find(part), std::string::npos) << part << "\n" << o.err;
  expectError("train l.act --allow-native --lr 1 --data text --steps 1 "
              "--any-memory",
              "for 'large.weight'; the step needs");
}

TEST_F(ActRun, TimesInitialisation) {
  Outcome o = run(train + "--data text --steps 2 --times");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("initialising 3600 bytes of parameters took "),
            std::string::npos)
      << o.out;
  EXPECT_NE(o.out.find(" ms; writing as many takes "), std::string::npos);
}

TEST_F(ActRun, BadCommandsAreErrors) {
  expectError("train m.act --lr 1 --data text --steps 1", "--allow-native");
  expectError("train none.act --lr 1 --data text --steps 1", "none.act");
  expectError("train m.act --lr 1 --steps 1", "--data");
  expectError(train + "--data text --tokens t.npy --steps 1", "excludes");
  expectError(train + "--data text --steps 0", "--steps");
  expectError(train + "--data text --steps 1 --optimizer adamw", "contradicts");
  expectError(train + "--data text --steps 1 --device cuda:99", "cuda:99");
  expectError(train + "--data none --steps 1", "none");
  ASSERT_TRUE(file::writeFile(folder + "bad", "abc\xff"));
  expectError(train + "--data bad --steps 1", "UTF-8");
  ASSERT_TRUE(file::writeFile(folder + "short", "abc"));
  expectError(train + "--data short --steps 1", "a row needs");
  std::string many;
  for (char c = '!'; c < '~'; ++c)
    many += c;
  ASSERT_TRUE(file::writeFile(folder + "many", many));
  expectError(train + "--data many --steps 1", "vocabulary is 30");
  std::string artifact = content("m.act");
  ASSERT_TRUE(file::writeFile(folder + "cut.act",
                              artifact.substr(0, artifact.size() / 2)));
  expectError("train cut.act --lr 1 --data text --steps 1", "damaged");
}

// CLI11 alone would take all of these.
TEST_F(ActRun, NumbersAreReadStrictly) {
  std::string lr = "train m.act --allow-native --data text --steps 1 --lr ";
  for (const char *bad :
       {"nan", "-nan", "inf", "-1", "1e39", "1e999", "1x", "0x1p3", "''"})
    expectError(lr + bad, "--lr: expected a number from 0 to 3.4e38, found '");
  std::string all = train + "--data text --steps ";
  for (const char *bad : {"-1", "0", "1.5", "1e3", "nan", "0x10",
                          "99999999999999999999", "-18446744073709551615"})
    expectError(all + bad, "--steps: expected a whole number from 1 to");
  for (const char *option : {"--threads", "--seed", "--micro-batches",
                             "--eval-every", "--save-every"})
    for (const char *bad : {"-1", "nan", "1.5", "99999999999999999999"})
      expectError(all + "1 " + option + " " + bad,
                  std::string(option) + ": expected a whole number from ");
  expectError("train p.act --lr 1 --pack text --steps 1 --pack-length -8",
              "--pack-length: expected a whole number from 1");
  std::string text = "generate m.act --allow-native --init w --prompt t ";
  for (const char *bad : {"nan", "inf", "-0.5"})
    expectError(text + "--tokens 1 --temperature " + bad, "--temperature: exp");
  expectError(text + "--tokens -1", "--tokens: expected a whole number");
  expectError(text + "--tokens 1 --top-k -1", "--top-k: expected a whole");
  // Ten, not eight.
  EXPECT_EQ(run(all + "010 --log log").code, 0);
  std::string log = content("log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 10);
}

TEST_F(ActRun, WhatIsNotFiniteIsReported) {
  std::string far = "train m.act --allow-native --lr 3e38 ";
  expectError(far + "--data text --steps 9 --save w",
              "the loss of step 2 is not finite; nothing was saved");
  EXPECT_FALSE(exists("w"));
  EXPECT_FALSE(exists("w.state.next"));
  // One step's loss is of the weights before it.
  expectError(far + "--data text --steps 1 --save w",
              "the held-out loss of step 1 is not finite; nothing was saved");
  std::vector<int32_t> tokens(2 * 8, 4);
  ASSERT_TRUE(npy::write(folder + "t.npy", "i4", {1, 2, 8}, tokens.data()));
  std::vector<float> large(30 * 30, 3e38f);
  ASSERT_TRUE(safetensors::write(
      folder + "large",
      {{"model.embed_tokens.weight", "F32", {30, 30}, large.data()}}));
  expectError(far + "--init large --tokens t.npy --steps 1 --save w",
              "model.embed_tokens.weight: f32[30,30]' is not finite after "
              "step 1; nothing was saved");
  EXPECT_FALSE(exists("w"));
  EXPECT_FALSE(exists("w.state.next"));
  std::vector<float> nan(30 * 30, NAN);
  ASSERT_TRUE(safetensors::write(
      folder + "nan",
      {{"model.embed_tokens.weight", "F32", {30, 30}, nan.data()}},
      {{"vocab", "[\"a\",\"b\"]"}}));
  expectError("generate m.act --allow-native --init nan --prompt a --tokens 2",
              "nan: the logits are not finite after 1 characters");
}

TEST_F(ActRun, SaysWhyThereIsNoValidation) {
  ASSERT_TRUE(file::writeFile(folder + "few", std::string(100, 'a') + "bc"));
  Outcome o = run(train + "--data few --steps 1 --eval-every 1 --log log");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.err.find("\nno validation: the last tenth of the text has 10 "
                       "characters, a batch needs 17\n"),
            std::string::npos)
      << o.err;
  EXPECT_EQ(content("log").find("val_loss"), std::string::npos);
  EXPECT_EQ(run(train + "--data text --steps 1").err.find("no validation"),
            std::string::npos);
  artifact::Step step = test::bigramStep({2, 8, 30, false});
  for (size_t f = 0; f < step.functions.size(); ++f)
    if (step.functions[f].name == "eval")
      step.functions.erase(step.functions.begin() + static_cast<long>(f));
  ASSERT_TRUE(artifact::writeFile(folder + "m.act", step));
  EXPECT_NE(run(train + "--data text --steps 1")
                .err.find("no validation: the step has no function 'eval'"),
            std::string::npos);
}

TEST_F(ActRun, PacksSamples) {
  std::string samples;
  for (size_t n : {6, 5, 4, 6, 2, 7}) {
    nlohmann::json s;
    for (size_t i = 0; i < n; ++i)
      s["tokens"].push_back(10 * n % 29);
    samples += s.dump() + "\n";
  }
  ASSERT_TRUE(file::writeFile(folder + "s", samples));
  std::string command = "train p.act --allow-native --lr 1 --pack s "
                        "--pack-length 8 --steps 2 --log log";
  Outcome o = run(command);
  ASSERT_EQ(o.code, 0) << o.err;
  // A row's share of the model's 4 sequences is 2, and padding is one, so
  // 6+2, 5, 4, 6, 7 take five rows; a sixth makes the batches whole.
  EXPECT_NE(o.err.find("6 samples packed into 5 rows of 8 tokens; padding "
                       "37.50 %; effective tokens 30 of 48, 24 with a label"),
            std::string::npos)
      << o.err;
  expectError(train + "--pack s --steps 1",
              "imported with act-import --packed");
  ASSERT_TRUE(file::writeFile(folder + "s", "{\"tokens\":[1,2,99]}\n"));
  expectError(command, "s:1: token 99");
  ASSERT_TRUE(file::writeFile(
      folder + "s", "{\"tokens\":[1,2]}\n{\"tokens\":[1,2],\"labels\":[1]}\n"));
  expectError(command, "s:2: there are 1 labels for 2 tokens");
  ASSERT_TRUE(file::writeFile(folder + "s", "{\"tokens\":[1,2"));
  expectError(command, "s:1: expected a JSON object");
  expectError("train p.act --allow-native --lr 1 --pack s --pack-length 8 "
              "--steps 1",
              "with 'tokens' or 'input_ids'");
  ASSERT_TRUE(
      file::writeFile(folder + "s", "{\"tokens\":[1,1,1,1,1,1,1,1,1]}"));
  expectError(command, "a row holds 1 to 8");
}

// As tokenizers write samples: other names, and padding that a mask shows.
TEST_F(ActRun, PacksWhatTokenizersWrite) {
  const std::string command = "train p.act --allow-native --lr 1 --pack s "
                              "--pack-length 8 --steps 2 --log log";
  auto logOf = [&](const std::string &samples) {
    EXPECT_TRUE(file::writeFile(folder + "s", samples));
    Outcome o = run(command);
    EXPECT_EQ(o.code, 0) << o.err;
    return content("log");
  };
  std::string own = logOf("{\"tokens\":[3,1,4,1,5]}\n"
                          "{\"tokens\":[2,7,1,8],\"labels\":[-100,7,1,8]}\n");
  EXPECT_EQ(logOf("{\"input_ids\":[3,1,4,1,5],\"attention_mask\":[1,1,1,1,1]}\n"
                  "{\"input_ids\":[2,7,1,8],\"labels\":[-100,7,1,8]}\n"),
            own);
  // Padding on either side, of tokens and labels that the model does not have.
  EXPECT_EQ(logOf("{\"input_ids\":[3,1,4,1,5,99,99,99,99],"
                  "\"attention_mask\":[1,1,1,1,1,0,0,0,0]}\n"
                  "{\"input_ids\":[-1,2,7,1,8,0],\"attention_mask\":"
                  "[0,1,1,1,1,0],\"labels\":[77,-100,7,1,8,77]}\n"),
            own);
  auto refused = [&](const std::string &sample, const std::string &message) {
    ASSERT_TRUE(file::writeFile(folder + "s", sample + "\n"));
    expectError(command, "s:1: " + message);
  };
  refused("{\"input_ids\":[1,2,3],\"attention_mask\":[1,0,1]}",
          "the attention_mask hides the token at position 1, between others");
  refused("{\"input_ids\":[1,2,3],\"attention_mask\":[1,1]}",
          "the attention_mask has 2 numbers for 3 tokens");
  refused("{\"input_ids\":[1,2],\"attention_mask\":[1,2]}",
          "the attention_mask holds 2 at position 1, expected 0 or 1");
  refused("{\"input_ids\":[1,2],\"attention_mask\":[0,0]}",
          "the sample has 0 tokens");
  refused("{\"input_ids\":[1],\"tokens\":[1]}",
          "the sample has 'tokens' and 'input_ids'");
  refused("{\"input_ids\":[1,99],\"attention_mask\":[1,1]}", "token 99");
}

TEST_F(ActRun, HiddenAllocationFailsTheMeasurement) {
  artifact::Step step = test::bigramStep({2, 8, 30, false});
  step.kernels.push_back({"add_with_malloc", 1, 0});
  artifact::Function &f = step.functions[0];
  artifact::Launch l;
  l.name = "hidden";
  l.kernel = static_cast<uint32_t>(step.kernels.size() - 1);
  f.plan.push_back({"scratch", f.arenaBytes, 64, 0, 4});
  artifact::Operand o;
  o.offset = f.arenaBytes;
  o.bytes = 64;
  o.written = true;
  l.args = {o, o, o};
  f.arenaBytes += 64;
  f.launches.push_back(l);
  ASSERT_TRUE(artifact::writeFile(folder + "h.act", step));
  std::string command = "train h.act --allow-native --lr 1 --data text "
                        "--steps 2 ";
  EXPECT_EQ(run(command).code, 0);
  if (!allocationsAreCounted)
    GTEST_SKIP() << "a sanitizer has its own allocator";
  Outcome m = run(train + "--data text --steps 2 --measure --measure-json j");
  EXPECT_EQ(m.code, 0) << m.err;
  EXPECT_NE(m.out.find("arena_bytes"), std::string::npos);
  auto json = nlohmann::json::parse(content("j"), nullptr, false);
  EXPECT_EQ(json["predicted"]["arena_bytes"], 1984);
  EXPECT_EQ(json["measured"]["arena_bytes"], 1984);
  EXPECT_EQ(json["measured"]["obtained_calls"], 0);
  expectError(command + "--measure", "obtained 2000 bytes in 2 calls");
}

TEST_F(ActRun, WrongPredictionsFailTheMeasurement) {
  if (!allocationsAreCounted)
    GTEST_SKIP() << "a sanitizer has its own allocator";
  artifact::Step step = test::bigramStep({2, 8, 30, false});
  uint64_t parameters = 0;
  for (const artifact::Parameter &p : step.parameters)
    parameters += *artifact::byteSize(p.type);
  auto measured = [&](const nlohmann::json &report) {
    step.report = report.dump();
    EXPECT_TRUE(artifact::writeFile(folder + "p.act", step));
    return run("train p.act --allow-native --lr 1 --data text --steps 2 "
               "--measure");
  };
  EXPECT_EQ(measured({{"parameters_bytes", parameters}}).code, 0);
  Outcome wrong = measured({{"parameters_bytes", parameters + 1}});
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE(wrong.err.find("parameters_bytes is predicted as " +
                           std::to_string(parameters + 1) +
                           ", but measured as " + std::to_string(parameters)),
            std::string::npos)
      << wrong.err;
  for (const char *field : {"gradients_bytes", "optimizer_bytes"})
    EXPECT_NE(measured({{field, 12345}}).code, 0) << field;
}

TEST(Batches, FirstFitKeepsSegmentsApart) {
  Batch b;
  b.tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(shiftedLabels(b, 8),
            (std::vector<int64_t>{2, 3, 4, 5, 6, 7, 8, -100}));
  b.segments = {0, 0, 0, 1, 0, 0, 2, 2};
  EXPECT_EQ(shiftedLabels(b, 4),
            (std::vector<int64_t>{2, 3, -100, -100, 6, -100, 8, -100}));
  // Padding predicts nothing and is not predicted, whichever way it is said.
  b.segments = {0, 0, 0, 0, 1, 1, -1, -1};
  EXPECT_EQ(shiftedLabels(b, 8),
            (std::vector<int64_t>{2, 3, 4, -100, 6, -100, -100, -100}));
  b.segments.clear();
  b.mask = {0, 0, 1, 1, 1, 1, 1, 0};
  EXPECT_EQ(shiftedLabels(b, 8),
            (std::vector<int64_t>{-100, -100, 4, 5, 6, 7, -100, -100}));
  b.labels = {2, -100, 4, 5, -100, 7, 8, -100};
  EXPECT_EQ(labelCount(b), 5u);
  Batch second = part(b, 1, 2);
  EXPECT_EQ(labelCount(second), 2u);
  EXPECT_EQ(second.mask, (std::vector<int64_t>{1, 1, 1, 0}));
}

TEST(Vocabulary, SortsCodePoints) {
  auto v = Vocabulary::fromText("béaaé€\n");
  ASSERT_TRUE(v);
  EXPECT_EQ(v->size(), 5);
  EXPECT_EQ(*v->encode("\na€"), (std::vector<int64_t>{0, 1, 4}));
  auto again = Vocabulary::fromJson(v->toJson());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again->encode("é"), *v->encode("é"));
  for (const char *bad : {"\x80", "\xc0\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xe2\x82", "a\xf0\x9f\x92"})
    EXPECT_FALSE(Vocabulary::fromText(bad)) << bad;
  for (const char *bad : {"", "{}", "[]", "[1]", "[\"ab\"]", "[\"a\",\"a\"]"})
    EXPECT_FALSE(Vocabulary::fromJson(bad)) << bad;
}
