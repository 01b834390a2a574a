// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_REPORT_JSON_H
#define ACT_LIB_REPORT_JSON_H
#include "act/Report/Paper.h"
#include <nlohmann/json.hpp>

namespace act::report {

// Ordered, so that a person who opens the file finds the totals first.
using Json = nlohmann::ordered_json;

Json summaryJson(const MemoryReport &report); // all but timeline and buffers
Json reportJson(const MemoryReport &report);
Json paperJson(const PaperReport &report);
/// Names may hold bytes that are no UTF-8; they become U+FFFD.
std::string dump(const Json &json, int indent);

} // namespace act::report
#endif
