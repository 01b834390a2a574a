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

} // namespace
