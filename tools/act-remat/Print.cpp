// SPDX-License-Identifier: Apache-2.0
//
// The results of act-remat as text and as JSON.
#include "tools/act-remat/Print.h"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace act::rematool {
namespace {

const char *word(remat::Outcome outcome) {
  switch (outcome) {
  case remat::Outcome::Optimal:
    return "optimal";
  case remat::Outcome::Feasible:
    return "feasible";
  case remat::Outcome::Impossible:
    return "impossible";
  case remat::Outcome::NotFound:
    break;
  }
  return "not found";
}

std::string fixed(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.6f", value);
  return buffer;
}

} // namespace

std::string text(const Found &found) {
  const remat::Answer &a = found.answer;
  std::string out =
      "budget_bytes: " + std::to_string(found.budget) +
      "\npeak_bytes: " + std::to_string(a.peakBytes) +
      "\npeak_bytes_without_recomputation: " + std::to_string(found.basePeak) +
      "\nextra_cost: " + std::to_string(a.extraCost) +
      "\nextra_cost_percent: " + fixed(a.extraPercent) +
      "\nbound_percent: " + fixed(a.boundPercent) +
      "\noutcome: " + word(a.outcome) + "\nschedule:";
  for (int32_t node : a.schedule)
    out += " " + std::to_string(node);
  return out + "\n";
}

std::string json(const Found &found) {
  const remat::Answer &a = found.answer;
  nlohmann::ordered_json j;
  j["budget_bytes"] = found.budget;
  if (!hasSchedule(found)) {
    j["outcome"] = word(a.outcome);
    j["peak_bytes_without_recomputation"] = found.basePeak;
    j["smallest_budget_known_bytes"] = a.peakBytes;
    j["none_below_bytes"] = a.leastPeak;
    return j.dump() + "\n";
  }
  j["peak_bytes"] = a.peakBytes;
  j["peak_bytes_without_recomputation"] = found.basePeak;
  j["extra_cost"] = a.extraCost;
  j["bound_cost"] = a.lowerBound;
  j["extra_cost_percent"] = a.extraPercent;
  j["bound_percent"] = a.boundPercent;
  j["outcome"] = word(a.outcome);
  j["branch_and_bound_nodes"] = a.nodes;
  j["rounds"] = a.rounds;
  j["schedule"] = a.schedule;
  return j.dump() + "\n";
}

bool hasSchedule(const Found &found) {
  return found.answer.outcome == remat::Outcome::Optimal ||
         found.answer.outcome == remat::Outcome::Feasible;
}

Error noSchedule(const Found &found) {
  const std::string most =
      "schedule needs at most " + std::to_string(found.budget) + " bytes";
  const bool proven = found.answer.outcome == remat::Outcome::Impossible;
  return Error{(proven ? "no " + most : "no " + most + " of those tried") +
                   "; the smallest feasible budget known is " +
                   std::to_string(found.answer.peakBytes) +
                   " bytes, and none is below " +
                   std::to_string(found.answer.leastPeak),
               "--budget"};
}

} // namespace act::rematool
