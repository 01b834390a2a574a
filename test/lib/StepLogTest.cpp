// SPDX-License-Identifier: Apache-2.0
//
// Logs of act.torch_memory: read, refused, and as the allocator sees them.
#include "act/Eager/StepLog.h"
#include <gtest/gtest.h>
#include <random>

using namespace act;
using act::eager::readStepLog;

namespace {

const std::string small = R"({"format": "act-torch-log", "version": 1,
  "model": "Net", "attention": "sdpa", "parameter_bytes": 64,
  "buffer_bytes": 0, "input_bytes": 32, "gradient_bytes": 64,
  "optimizer_bytes": 0, "retained_bytes": 512, "peak_bytes": 1024,
  "total_peak_bytes": 1184, "moments": 6, "backward": 3,
  "residents": [64, 32],
  "storages": [[512, "mm", 1, 5, "forward", false],
               [256, "tanh", 2, 2, "forward", false],
               [512, "mm", 4, 6, "backward", false],
               [64, "mm", 5, 6, "backward", true]],
  "saved": [0], "products": [[1, "forward", false], [4, "backward", true]],
  "notes": ["a note"]})";

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

} // namespace

TEST(StepLog, IsWhatTheAllocatorSees) {
  auto log = readStepLog(small);
  ASSERT_TRUE(log) << log.error().str();
  EXPECT_EQ(log->model, "Net");
  EXPECT_EQ(log->saved, std::vector<size_t>{0});
  EXPECT_EQ(log->notes.size(), 1u);
  EXPECT_TRUE(log->storages[3].apart);
  std::vector<int64_t> moments;
  auto trace = eager::allocatorTrace(*log, moments);
  std::string text;
  for (const auto &e : trace.events)
    text += std::string(1, "afpbm"[int(e.kind)]) + std::to_string(e.value);
  // Two residents; a product behind what it makes, and the backward's is
  // another thread's; what dies at once is freed behind its birth.
  EXPECT_EQ(text, "a0a1a2p0a3f3a4b1f2a5f4f5");
  EXPECT_EQ(moments,
            (std::vector<int64_t>{-1, -1, 1, 1, 2, 2, 4, 4, 5, 5, 6, 6}));
  EXPECT_GT(cuda_caching::replay(trace, {}).reservedPeak, 0);
}

TEST(StepLog, RefusesWhatIsWrong) {
  for (auto [from, to, said] :
       {std::tuple("{", "[", "no JSON object"),
        {"act-torch-log", "log", "no log of act.torch_memory"},
        {"\"version\": 1", "\"version\": 2", "no log of act.torch_memory"},
        {"\"model\": \"Net\"", "\"model\": 3", "model is missing"},
        {"\"moments\": 6", "\"moments\": -6", "moments is -6"},
        {"\"moments\": 6", "\"moments\": 1e99", "moments is"},
        {"\"residents\": [64", "\"residents\": [0.5", "a resident is 0.5"},
        {"[512, \"mm\", 1, 5", "[512, \"mm\", 5, 1", "storage 0 lives from 5"},
        {"[512, \"mm\", 1, 5", "[512, \"mm\", 1, 7", "storage 0 lives from 1"},
        {"[256, \"tanh\", 2", "[256, \"tanh\", 0", "storage 1 lives from 0"},
        {"\"backward\", false", "\"sideways\", false", "sideways"},
        {"\"backward\", true]]", "\"backward\", 3]]", "expected true or false"},
        {"\"saved\": [0]", "\"saved\": [4]", "saved storage 4 is none of 4"},
        {"\"saved\": [0]", "\"saved\": [1]", "retained_bytes is 512"},
        {"[[1, \"forward\", false]", "[[1, \"forward\"]", "expected 3 values"},
        {"[[1, \"forward\", false]", "[[5, \"forward\", false]",
         "not in order"}}) {
    auto log = readStepLog(replaced(small, from, to));
    ASSERT_FALSE(log) << to;
    EXPECT_NE(log.error().str().find(said), std::string::npos)
        << log.error().str();
  }
}

// A log with other bytes is read or refused.
TEST(StepLog, SurvivesDamage) {
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = small;
    for (int k = 0; k < 3; ++k)
      text[random() % text.size()] = "0123456789[]{},\"-e."[random() % 19];
    auto log = readStepLog(text);
    if (!log) {
      ++refused;
      continue;
    }
    std::vector<int64_t> moments;
    eager::allocatorTrace(*log, moments);
  }
  EXPECT_GT(refused, 1000);
}
