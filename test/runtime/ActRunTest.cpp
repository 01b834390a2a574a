// SPDX-License-Identifier: Apache-2.0
//
// act-run as a user meets it, on steps made by hand, and its parts. What it
// reads and writes is in ActRunFilesTest.cpp.
#include "act/Artifact/Types.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Set.h"
#include "test/runtime/RunActRun.h"
#include "tools/act-run/Batches.h"
#include "tools/act-run/Target.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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
