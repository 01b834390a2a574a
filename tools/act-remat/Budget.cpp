// SPDX-License-Identifier: Apache-2.0
#include "tools/act-remat/Budget.h"
#include <charconv>
#include <cmath>

namespace act::rematool {

Result<int64_t> parseBudget(const std::string &text, int64_t peakBytes) {
  const Error error{
      "expected a fraction from 0 to 1 such as 0.8, or bytes with "
      "a unit such as 24GB, 512MiB or 4096B, found '" +
          text + "'",
      "--budget"};
  struct Unit {
    const char *name;
    double bytes;
  };
  constexpr Unit units[] = {{"", 0},         {"B", 1},        {"kB", 1e3},
                            {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                            {"TB", 1e12},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
                            {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double value = 0;
  const char *end = text.data() + text.size();
  auto r = std::from_chars(text.data(), end, value);
  if (r.ec != std::errc() || !std::isfinite(value) || std::signbit(value))
    return error;
  const std::string suffix(r.ptr, end);
  for (const Unit &unit : units) {
    if (suffix != unit.name)
      continue;
    if (unit.bytes == 0 && value > 1)
      return error;
    // A hair more, so that 0.3 of 10 is 3.
    double bytes = value * (unit.bytes == 0 ? double(peakBytes) : unit.bytes);
    if (bytes >= 0x1p62)
      return Error{"expected less than 2^62 bytes, found '" + text + "'",
                   "--budget"};
    return static_cast<int64_t>(std::floor(bytes * (1 + 1e-15)));
  }
  return error;
}

} // namespace act::rematool
