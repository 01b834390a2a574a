// SPDX-License-Identifier: Apache-2.0
//
// Takes what ptxas takes, refuses what it refuses: thousands of spellings, for
// each of the targets, as judged/judge.py wrote them down.
#include "test/runtime/sim/RunSnippet.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace act::runtime::sim;

namespace {

struct Judged {
  std::vector<std::pair<std::string, std::string>> settings; // target, version
  std::vector<std::pair<unsigned, std::string>> spellings;   // mask
};

Judged readJudged() {
  Judged all;
  std::ifstream file(std::string(ACT_SIM_TESTS) + "/judged/spellings.txt");
  std::string line, word;
  std::getline(file, line);
  for (std::istringstream words(line); words >> word;) {
    size_t colon = word.find(':');
    all.settings.push_back({word.substr(0, colon), word.substr(colon + 1)});
  }
  while (std::getline(file, line))
    if (line.size() > 3)
      all.spellings.push_back(
          {unsigned(std::stoul(line.substr(0, 2), nullptr, 16)),
           line.substr(3)});
  return all;
}

TEST(Judged, AgreesWithPtxas) {
  Judged all = readJudged();
  ASSERT_EQ(all.settings.size(), 7u);
  ASSERT_GT(all.spellings.size(), 3000u);
  const std::string declarations =
      "{.reg .pred p,q; .reg .b16 h,g,k,m; .reg .b32 x,y,z,w; "
      ".reg .b64 r,s,t,u; .reg .f32 f,e; .reg .f64 D,E; ";
  size_t differences = 0, taken = 0;
  for (size_t k = 0; k < all.settings.size(); ++k)
    for (auto &[mask, spelling] : all.spellings) {
      auto &[target, version] = all.settings[k];
      bool expected = mask >> k & 1;
      std::string why = whyNot(declarations + spelling + "}", target, version);
      taken += why.empty();
      if (why.empty() == expected)
        continue;
      if (++differences <= 20)
        ADD_FAILURE() << target << " " << version << ": " << spelling
                      << (expected ? " is refused: " + why : " is taken");
    }
  EXPECT_EQ(differences, 0u);
  EXPECT_GT(taken, 8000u);
}

// Versions that none of the settings tells apart; as ptxas has them.
TEST(Judged, AsksForTheVersionThatBroughtIt) {
  const struct {
    const char *spelling, *target, *tooOld, *version;
  } cases[] = {
      {"ld.shared::cta.b32 x, [r];", "sm_80", "7.7", "7.8"},
      {"ld.mmio.relaxed.sys.global.b32 x, [r];", "sm_80", "8.1", "8.2"},
      {"ld.param::entry.b32 x, [r];", "sm_80", "8.2", "8.3"},
      {"st.param::func.b32 [r], x;", "sm_80", "8.2", "8.3"},
      {".reg .b128 q;", "sm_80", "8.2", "8.3"},
      {".shared .b128 v;", "sm_80", "8.2", "8.3"},
      {".reg .b128 q; ld.relaxed.gpu.b128 q, [r];", "sm_80", "8.2", "8.3"},
      {".reg .b128 q; ld.relaxed.sys.b128 q, [r];", "sm_80", "8.3", "8.4"},
      {".reg .b128 q; st.release.sys.b128 [r], q;", "sm_80", "8.3", "8.4"},
      {"ld.global.L2::64B.b32 x, [r];", "sm_80", "7.3", "7.4"},
      {"ld.global.L1::no_allocate.b32 x, [r];", "sm_80", "7.3", "7.4"},
      {"red.relaxed.cluster.global.add.u32 [r], x;", "sm_90", "7.7", "7.8"},
      {"atom.global.add.v2.f32 {x,y}, [r], {x,y};", "sm_90", "8.0", "8.1"},
      {".reg .b128 q; atom.gpu.exch.b128 q, [r], q;", "sm_90", "8.2", "8.3"},
      {".reg .b128 q; atom.sys.exch.b128 q, [r], q;", "sm_90", "8.3", "8.4"},
      {"mov.u32 x, %cluster_ctarank;", "sm_90", "7.7", "7.8"},
      {"mov.u32 x, %aggr_smem_size;", "sm_90", "8.0", "8.1"},
      {"mov.u32 x, %reserved_smem_offset_cap;", "sm_80", "7.5", "7.6"},
      {"mov.u64 r, %current_graph_exec;", "sm_80", "7.8", "8.0"},
      {"bar.cta.sync 0;", "sm_80", "7.7", "7.8"},
      {"barrier.cta.sync 0;", "sm_80", "7.7", "7.8"},
      {"isspacep.param::entry p, r;", "sm_80", "8.2", "8.3"},
      {"cvta.param::entry.u64 r, r;", "sm_80", "8.2", "8.3"},
  };
  for (auto &c : cases) {
    std::string body =
        std::string("{.reg .b32 x,y; .reg .b64 r; .reg .pred p; ") +
        c.spelling + "}";
    EXPECT_NE(whyNot(body, c.target, c.tooOld), "") << c.spelling;
    EXPECT_EQ(whyNot(body, c.target, c.version), "") << c.spelling;
  }
}

} // namespace
