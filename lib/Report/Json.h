// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_REPORT_JSON_H
#define ACT_LIB_REPORT_JSON_H
#include "act/Report/Paper.h"
#include <nlohmann/json.hpp>

namespace act::report {

// Ordered, so that the totals come first in the file.
using Json = nlohmann::ordered_json;

Json summaryJson(const MemoryReport &report); // all but timeline and buffers
Json reportJson(const MemoryReport &report);
Json paperJson(const PaperReport &report);
/// Bytes in names that are not UTF-8 become U+FFFD.
std::string dump(const Json &json, int indent);

} // namespace act::report
#endif
