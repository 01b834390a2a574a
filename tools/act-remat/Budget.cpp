// SPDX-License-Identifier: Apache-2.0
//
// Budgets as fractions of the peak or as bytes.
#include "tools/act-remat/Budget.h"
#include "act/Remat/Bytes.h"
#include <cmath>

namespace act::rematool {

Result<int64_t> parseBudget(const std::string &text, int64_t peakBytes) {
  const Error error{
      "expected a fraction from 0 to 1 such as 0.8, or bytes with "
      "a unit such as 24GB, 512MiB or 4096B, found '" +
          text + "'",
      "--budget"};
  auto amount = remat::parseAmount(text);
  if (!amount)
    return error;
  if (amount->unit == 0 && amount->value > 1)
    return error;
  // Rounded up a little, so that 0.3 of 10 is 3.
  double bytes =
      amount->value * (amount->unit == 0 ? double(peakBytes) : amount->unit);
  if (bytes >= 0x1p62)
    return Error{"expected less than 2^62 bytes, found '" + text + "'",
                 "--budget"};
  return static_cast<int64_t>(std::floor(bytes * (1 + 1e-15)));
}

} // namespace act::rematool
