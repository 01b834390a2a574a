// SPDX-License-Identifier: Apache-2.0
//
// Parses untrusted bytes to a JSON object. Every syntax error has a place, and
// size and depth are limited, so that no file can exhaust stack or memory. A
// duplicate key is an error, because either value would be a guess.
//
// Python's json writes NaN, Infinity and -Infinity as bare words, which JSON
// does not have. They are read as numbers; the user of a field decides whether
// it accepts them.
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
