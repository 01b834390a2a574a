// SPDX-License-Identifier: Apache-2.0
//
// How much memory of the CPU this process could still get.
#ifndef ACT_RUNTIME_FREEMEMORY_H
#define ACT_RUNTIME_FREEMEMORY_H
#include <cstdint>
#include <string>

namespace act::runtime {

struct FreeMemory {
  uint64_t bytes = UINT64_MAX;
  std::string limit; // what ends it: "MemAvailable of the machine"
};

/// The least of what the machine has (MemAvailable and free swap), what the
/// control groups of the process leave it (memory.max and, in version 1,
/// memory.limit_in_bytes; pages of files do not count, the system takes them
/// back), and its limits of address space and data (ulimit -v, -d). What cannot
/// be found out is no limit. /proc and /sys/fs/cgroup are looked for under
/// `root`.
FreeMemory freeHostMemory(const std::string &root = "");

} // namespace act::runtime
#endif
