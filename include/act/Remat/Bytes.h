// SPDX-License-Identifier: Apache-2.0
//
// Amounts of memory as people write them: 24GB is 24 * 10^9 bytes, 24GiB is
// 24 * 2^30, 1.5MiB is 1572864; a plain number is bytes.
#ifndef ACT_REMAT_BYTES_H
#define ACT_REMAT_BYTES_H
#include "act/Result.h"
#include <cstdint>
#include <string>

namespace act::remat {

/// The number, and the bytes of its unit, 0 if it has none. Fails on an unknown
/// unit, and on a number that is malformed, negative or infinite.
struct Amount {
  double value = 0, unit = 0;
};
Result<Amount> parseAmount(const std::string &text);

/// Rounded down to whole bytes. Fails if parseAmount does, and from 2^62 on;
/// the message begins with "expected bytes".
Result<int64_t> parseBytes(const std::string &text);

/// "24 GB" if that is exact, else "24.12 GB"; for messages.
std::string bytesText(int64_t bytes);

} // namespace act::remat
#endif
