// SPDX-License-Identifier: Apache-2.0
//
// Command-line numbers for CLI11. By itself it accepts "nan", which passes all
// bounds, and reads -1 as 2^64 - 1 and 010 as 8. These validators parse
// strictly and pass on a plain form:
//
//   app.add_option("--steps", steps)->transform(act::tools::whole(1, 1000));
//   app.add_option("--lr", rate)->check(act::tools::finite());
#ifndef ACT_TOOLS_NUMBERS_H
#define ACT_TOOLS_NUMBERS_H
#include <CLI/CLI.hpp>
#include <cfloat>
#include <charconv>
#include <cstdint>
#include <string>

namespace act::tools {

inline std::string expected(const std::string &what, const std::string &found) {
  return "expected a " + what + ", found '" + found + "'";
}

/// least <= N <= most, in decimal digits.
inline CLI::Validator whole(uint64_t least, uint64_t most = UINT64_MAX) {
  std::string what = "whole number from " + std::to_string(least) + " to " +
                     std::to_string(most);
  return CLI::Validator(
      [=](std::string &text) {
        uint64_t v = 0;
        const char *end = text.data() + text.size();
        auto r = std::from_chars(text.data(), end, v);
        if (r.ec != std::errc() || r.ptr != end || v < least || v > most)
          return expected(what, text);
        text = std::to_string(v);
        return std::string();
      },
      "");
}

/// 0 <= X <= the largest f32.
inline CLI::Validator finite() {
  return CLI::Validator(
      [](std::string &text) {
        double v = 0;
        const char *end = text.data() + text.size();
        auto r = std::from_chars(text.data(), end, v);
        bool number = r.ec == std::errc() && r.ptr == end;
        return number && v >= 0 && v <= FLT_MAX
                   ? std::string()
                   : expected("number from 0 to 3.4e38", text);
      },
      "");
}

} // namespace act::tools
#endif
