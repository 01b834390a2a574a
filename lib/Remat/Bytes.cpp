// SPDX-License-Identifier: Apache-2.0
//
// Amounts of memory, read and written. Reading is by std::from_chars, which no
// locale changes.
#include "act/Remat/Bytes.h"
#include <charconv>
#include <cmath>
#include <cstdio>

namespace act::remat {

Result<Amount> parseAmount(const std::string &text) {
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
  if (r.ec == std::errc() && std::isfinite(value) && !std::signbit(value))
    for (const Unit &unit : units)
      if (std::string(r.ptr, end) == unit.name)
        return Amount{value, unit.bytes};
  return Error{"not an amount of memory: '" + text + "'", ""};
}

Result<int64_t> parseBytes(const std::string &text) {
  auto amount = parseAmount(text);
  if (!amount)
    return Error{
        "expected bytes, plain or with a unit such as 24GB, 22.5GiB or "
        "512MiB, found '" +
            text + "'",
        ""};
  // Rounds up a little against floating-point error: 0.3GB is 300,000,000.
  double bytes =
      amount->value * (amount->unit == 0 ? 1 : amount->unit) * (1 + 1e-15);
  if (bytes >= 0x1p62)
    return Error{"expected bytes, less than 2^62 of them, found '" + text + "'",
                 ""};
  return static_cast<int64_t>(std::floor(bytes));
}

std::string bytesText(int64_t bytes) {
  const char *units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); value /= 1000)
    ++unit;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer,
                value == std::floor(value) ? "%.0f %s" : "%.2f %s", value,
                units[unit]);
  return buffer;
}

} // namespace act::remat
