// SPDX-License-Identifier: Apache-2.0
//
// Times of launches over the steps of a run, by kernel.
#include "tools/act-run/LaunchTimes.h"
#include "act/File/AtomicFile.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::run;

/// The second run replaces the times of the first, which pays for what is done
/// only once.
Status LaunchTimes::add(Model &model, const std::string &function) {
  auto list = model.launches(function);
  if (!list)
    return list.error();
  if (runs++ < 2) {
    launches = std::move(*list);
    return ok();
  }
  for (size_t i = 0; i < launches.size(); ++i)
    launches[i].milliseconds += (*list)[i].milliseconds;
  return ok();
}

namespace {
struct Row {
  std::string kernel;
  uint64_t launches = 0;
  double milliseconds = 0;
};
} // namespace

Status LaunchTimes::print(const std::string &jsonPath) const {
  std::map<std::string, Row> kernels;
  double counted = static_cast<double>(std::max<uint64_t>(runs, 2) - 1);
  double all = 0;
  for (const Launch &l : launches) {
    std::string kernel = l.kernel.empty() ? "copy" : l.kernel;
    Row &row = kernels[kernel];
    row.kernel = kernel;
    ++row.launches;
    row.milliseconds += l.milliseconds / counted;
    all += l.milliseconds / counted;
  }
  std::vector<Row> rows;
  for (auto &[name, row] : kernels)
    rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::pair(-a.milliseconds, a.kernel) <
           std::pair(-b.milliseconds, b.kernel);
  });
  printf("%-44s %9s %13s %8s\n", "kernel", "launches", "ms per step", "of all");
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row &r : rows) {
    printf("%-44s %9llu %13.4f %7.2f%%\n", r.kernel.c_str(),
           static_cast<unsigned long long>(r.launches), r.milliseconds,
           all > 0 ? 100 * r.milliseconds / all : 0.0);
    json.push_back({{"kernel", r.kernel},
                    {"launches", r.launches},
                    {"milliseconds", r.milliseconds}});
  }
  printf("%-44s %9zu %13.4f\n", "all", launches.size(), all);
  return jsonPath.empty() ? ok()
                          : file::writeFile(jsonPath, json.dump(2) + "\n");
}
