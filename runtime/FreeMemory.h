// SPDX-License-Identifier: Apache-2.0
//
// How much CPU memory this process can still allocate.
#ifndef ACT_RUNTIME_FREEMEMORY_H
#define ACT_RUNTIME_FREEMEMORY_H
#include <cstdint>
#include <string>

namespace act::runtime {

struct FreeMemory {
  uint64_t bytes = UINT64_MAX;
  std::string limit; // the binding limit: "MemAvailable of the machine"
};

/// The minimum of:
/// - what the machine has: MemAvailable and free swap;
/// - what the process's control groups leave: memory.max or, in version 1,
///   memory.limit_in_bytes. File pages do not count, as they are reclaimable;
/// - the limits of address space and data (ulimit -v, -d).
///
/// An unreadable limit counts as none. `root`: prefix of /proc and
/// /sys/fs/cgroup.
FreeMemory freeHostMemory(const std::string &root = "");

} // namespace act::runtime
#endif
