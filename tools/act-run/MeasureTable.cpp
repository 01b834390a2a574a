// SPDX-License-Identifier: Apache-2.0
//
// The table of --measure: what was planned next to what was used and what the
// process obtained from the system.
#include "tools/act-run/MeasureTable.h"
#include "act/File/AtomicFile.h"
#include <nlohmann/json.hpp>
#include <optional>

using namespace act;
using namespace act::run;

namespace {
struct Row {
  const char *name;
  std::optional<uint64_t> predicted, measured;
  bool exact = false; // an error when the two differ
};
} // namespace

static std::optional<uint64_t> field(const nlohmann::json &report,
                                     const char *name) {
  if (report.is_object() && report.contains(name) &&
      report[name].is_number_unsigned())
    return report[name].get<uint64_t>();
  return std::nullopt;
}

Status run::printMeasurement(Model &model, const std::string &function,
                             const measure::Obtained &o,
                             const std::string &jsonPath) {
  auto s = model.statistics(function);
  if (!s)
    return s.error();
  auto report = nlohmann::json::parse(model.report, nullptr, false);
  uint64_t obtained = o.bytes + o.mapBytes;
  auto onHost = [&](uint64_t n) {
    return model.onHost ? std::optional<uint64_t>(n) : std::nullopt;
  };
  // The report of a handwritten step may lack the field.
  uint64_t scratch = field(report, "scratch_bytes_per_thread")
                         .value_or(s->scratch_bytes_per_thread);
  std::vector<Row> rows = {
      {"retained_bytes", field(report, "retained_bytes"), std::nullopt},
      {"peak_bytes", field(report, "peak_bytes"), std::nullopt},
      {"lower_bound_bytes", field(report, "lower_bound_bytes"), std::nullopt},
      {"arena_bytes", s->arena_bytes, s->arena_high_water},
      {"scratch_bytes_per_thread", scratch, s->scratch_high_water},
      {"obtained_bytes", onHost(0), onHost(obtained)},
      {"parameters_bytes", field(report, "parameters_bytes"),
       s->parameter_bytes, true},
      {"gradients_bytes", field(report, "gradients_bytes"), s->gradient_bytes,
       true},
      {"optimizer_bytes", field(report, "optimizer_bytes"), s->optimizer_bytes,
       true}};
  if (s->host_arena_bytes)
    rows.insert(rows.begin() + 4, {"host_arena_bytes", s->host_arena_bytes,
                                   s->host_arena_high_water});
  printf("%-24s %20s %20s\n", "bytes", "predicted", "measured");
  auto cell = [](std::optional<uint64_t> v) {
    return v ? std::to_string(*v) : std::string("-");
  };
  nlohmann::ordered_json json;
  json["function"] = function;
  for (const Row &r : rows) {
    printf("%-24s %20s %20s\n", r.name, cell(r.predicted).c_str(),
           cell(r.measured).c_str());
    if (r.predicted)
      json["predicted"][r.name] = *r.predicted;
    if (r.measured)
      json["measured"][r.name] = *r.measured;
  }
  if (model.onHost)
    json["measured"]["obtained_calls"] = o.calls + o.mapCalls;
  if (!jsonPath.empty())
    if (auto w = file::writeFile(jsonPath, json.dump(2) + "\n"); !w)
      return w;
  if (!model.onHost) {
    // Simulators and drivers obtain memory for their own use.
  } else if (!measure::available()) {
    return Error{"allocations cannot be counted in this build", ""};
  } else if (obtained > 0 || o.calls + o.mapCalls > 0) {
    return Error{"the step obtained " + std::to_string(obtained) +
                     " bytes in " + std::to_string(o.calls + o.mapCalls) +
                     " calls while it ran, expected none",
                 ""};
  }
  if (s->arena_high_water > s->arena_bytes)
    return Error{"the step wrote byte " + std::to_string(s->arena_high_water) +
                     " of an arena of " + std::to_string(s->arena_bytes),
                 ""};
  if (s->host_arena_high_water > s->host_arena_bytes)
    return Error{"the step wrote byte " +
                     std::to_string(s->host_arena_high_water) +
                     " of an arena on the host of " +
                     std::to_string(s->host_arena_bytes),
                 ""};
  if (s->scratch_high_water > scratch)
    return Error{"a kernel wrote byte " +
                     std::to_string(s->scratch_high_water) +
                     " of a thread's scratch of " + std::to_string(scratch),
                 ""};
  // Memory that lives as long as the step must match its prediction exactly.
  for (const Row &r : rows)
    if (r.exact && r.predicted && r.predicted != r.measured)
      return Error{std::string(r.name) + " is predicted as " +
                       std::to_string(*r.predicted) + ", but measured as " +
                       std::to_string(*r.measured),
                   ""};
  return ok();
}
