// SPDX-License-Identifier: Apache-2.0
#include "runtime/FreeMemory.h"
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace act::runtime;

namespace {

std::optional<uint64_t> numberIn(const std::string &path) {
  std::ifstream file(path);
  uint64_t n;
  // "max" does not parse as a number and means no limit.
  return file >> n ? std::optional(n) : std::nullopt;
}

/// The number after a word at the start of a line.
std::optional<uint64_t> fieldIn(const std::string &path,
                                const std::string &word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string first;
    uint64_t n;
    if (text >> first >> n && first == word)
      return n;
  }
  return std::nullopt;
}

uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

class Least {
public:
  FreeMemory found;
  void add(uint64_t bytes, const std::string &limit) {
    if (bytes < found.bytes)
      found = {bytes, limit};
  }
};

/// A group's limit also applies to its subgroups, so this checks every group
/// from the process's own up to the root.
void addGroups(Least &least, const std::string &mount, std::string group,
               const char *limitFile, const char *usageFile,
               const char *filePages) {
  for (;;) {
    std::string folder = mount + (group == "/" ? "" : group);
    auto limit = numberIn(folder + "/" + limitFile);
    auto used = numberIn(folder + "/" + usageFile);
    if (limit && used) {
      uint64_t pages = 0;
      for (const char *kind : {"inactive_file", "active_file"})
        pages += fieldIn(folder + "/memory.stat", filePages + std::string(kind))
                     .value_or(0);
      least.add(less(*limit, less(*used, pages)),
                "the control group's " + std::string(limitFile) + " is " +
                    std::to_string(*limit));
    }
    auto slash = group.rfind('/');
    if (group.empty() || group == "/" || slash == std::string::npos)
      return;
    group = slash == 0 ? "/" : group.substr(0, slash);
  }
}

void addControlGroups(Least &least, const std::string &root) {
  std::ifstream file(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  // number:controllers:path; version 2 is "0::path".
  for (std::string line; std::getline(file, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (controllers.empty())
      addGroups(least, mount, group, "memory.max", "memory.current", "");
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      addGroups(least, mount + "/memory", group, "memory.limit_in_bytes",
                "memory.usage_in_bytes", "total_");
  }
}

void addResourceLimit(Least &least, int resource, uint64_t used,
                      const char *name) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY)
    least.add(less(limit.rlim_cur, used), std::string("the limit of ") + name +
                                              " is " +
                                              std::to_string(limit.rlim_cur));
}

} // namespace

FreeMemory act::runtime::freeHostMemory(const std::string &root) {
  Least least;
  const std::string meminfo = root + "/proc/meminfo";
  if (auto available = fieldIn(meminfo, "MemAvailable:")) {
    uint64_t swap = fieldIn(meminfo, "SwapFree:").value_or(0);
    least.add((*available + swap) * 1024,
              swap ? "MemAvailable and SwapFree of the machine"
                   : "MemAvailable of the machine");
  }
  addControlGroups(least, root);
  const std::string status = root + "/proc/self/status";
  addResourceLimit(least, RLIMIT_AS,
                   fieldIn(status, "VmSize:").value_or(0) * 1024,
                   "address space (ulimit -v)");
  addResourceLimit(least, RLIMIT_DATA,
                   fieldIn(status, "VmData:").value_or(0) * 1024,
                   "data (ulimit -d)");
  if (least.found.limit.empty())
    least.found.limit = "no limit was found";
  return least.found;
}
