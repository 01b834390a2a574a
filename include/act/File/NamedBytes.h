// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_FILE_NAMEDBYTES_H
#define ACT_FILE_NAMEDBYTES_H
#include <string>
#include <utility>

namespace act {
/// A file in memory: its name and its bytes.
using NamedBytes = std::pair<std::string, std::string>;
} // namespace act
#endif
