// SPDX-License-Identifier: Apache-2.0
//
// Bytes of unknown origin to a JSON object: with a place for every syntax
// error, and limits on size and depth, so that no file can exhaust the stack or
// the memory. A key given twice is an error, since either reading would be a
// guess.
//
// Python's json writes NaN, Infinity and -Infinity as bare words, which JSON
// does not have. They are read as numbers; whoever uses one decides.
#ifndef ACT_HUGGINGFACE_JSON_H
#define ACT_HUGGINGFACE_JSON_H
#include "act/Result.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace act::hf {

constexpr size_t maxJsonBytes = size_t(4) << 20;
constexpr size_t maxJsonDepth = 64;

Result<nlohmann::json> parseObject(std::string_view text,
                                   const std::string &file);

} // namespace act::hf
#endif
