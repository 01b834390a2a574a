// SPDX-License-Identifier: Apache-2.0
#include "runtime/LaunchRules.h"
#include <algorithm>
#include <cstring>

using namespace act;
using namespace act::runtime;

static std::string triple(const uint32_t *v) {
  return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" +
         std::to_string(v[2]);
}

static Error refuse(const std::string &what) {
  return Error{refusalPrefix + what, ""};
}

static Status checkBlock(const KernelAttributes &k, const LaunchShape &s) {
  uint64_t threads = uint64_t{s.block[0]} * s.block[1] * s.block[2];
  uint32_t most = k.maxThreadsPerBlock ? k.maxThreadsPerBlock : 1024;
  if (threads == 0 || s.block[0] > 1024 || s.block[1] > 1024 || s.block[2] > 64)
    return refuse("a block of " + triple(s.block) +
                  " threads, expected 1 to 1024, 1024 and 64");
  const uint32_t *r = k.requiredBlock;
  if (r[0] && (r[0] != s.block[0] || r[1] != s.block[1] || r[2] != s.block[2]))
    return refuse("a block of " + triple(s.block) +
                  " threads, but the kernel requires " + triple(r));
  if (threads > most)
    return refuse("a block of " + std::to_string(threads) +
                  " threads, but the kernel allows at most " +
                  std::to_string(most));
  return ok();
}

static Status checkCluster(const DeviceInfo &d, const KernelAttributes &k,
                           const LaunchShape &s) {
  const uint32_t *required = k.requiredCluster, *c = s.cluster;
  if (c[0] == 0)
    c = required;
  if (c[0] == 0)
    return ok();
  if (required[0] &&
      (required[0] != c[0] || required[1] != c[1] || required[2] != c[2]))
    return refuse("a cluster of " + triple(c) +
                  " blocks, but the kernel requires " + triple(required));
  uint64_t blocks = uint64_t{c[0]} * c[1] * c[2];
  if (blocks > 1 && d.sm < 90)
    return refuse("a cluster of " + triple(c) + " blocks, but " + d.target +
                  " does not support clusters");
  if (blocks == 0 || blocks > 16)
    return refuse("a cluster of " + triple(c) +
                  " blocks, expected 1 to 16 in all");
  for (int i = 0; i < 3; ++i)
    if (s.grid[i] % c[i] != 0)
      return refuse("a grid of " + std::to_string(s.grid[i]) +
                    " blocks in dimension " + std::to_string(i) +
                    ", expected a multiple of the cluster's " +
                    std::to_string(c[i]));
  return ok();
}

uint32_t runtime::clusterAlongX(const KernelAttributes &k,
                                const LaunchShape &s) {
  return std::max(1u, s.cluster[0] ? s.cluster[0] : k.requiredCluster[0]);
}

uint64_t runtime::residentBlocks(uint64_t atOnce, uint32_t cluster,
                                 uint64_t grid) {
  return std::min(grid, std::max<uint64_t>(1, atOnce / cluster) * cluster);
}

Status runtime::checkAtOnce(const LaunchShape &s, uint64_t resident) {
  if (s.atOnce <= std::min(resident, s.grid[0] * s.grid[1] * s.grid[2]))
    return ok();
  return refuse(std::to_string(s.atOnce) +
                " blocks that wait for each other, but the device runs " +
                std::to_string(resident) + " at once, of a grid of " +
                std::to_string(s.grid[0] * s.grid[1] * s.grid[2]));
}

Status runtime::checkLaunch(const DeviceInfo &d, const KernelAttributes &k,
                            const LaunchShape &s) {
  static const uint64_t most[3] = {0x7fffffff, 65535, 65535};
  for (int i = 0; i < 3; ++i)
    if (s.grid[i] == 0 || s.grid[i] > most[i])
      return refuse("a grid of " + std::to_string(s.grid[i]) +
                    " blocks in dimension " + std::to_string(i) +
                    ", expected 1 to " + std::to_string(most[i]));
  if (auto r = checkBlock(k, s); !r)
    return r;
  if (auto r = checkCluster(d, k, s); !r)
    return r;
  if (d.sharedBytesPerBlock &&
      (s.sharedBytes > d.sharedBytesPerBlock ||
       s.sharedBytes + k.sharedBytes > d.sharedBytesPerBlock))
    return refuse(std::to_string(s.sharedBytes) + " bytes of dynamic and " +
                  std::to_string(k.sharedBytes) +
                  " of static shared memory, but device " + d.name + " has " +
                  std::to_string(d.sharedBytesPerBlock) + " for a block");
  return ok();
}

Result<std::vector<uint8_t>> runtime::packArguments(const ParameterLayout &l,
                                                    const Arguments &a) {
  size_t n = l.bytes.size();
  if (!a.asDeclared && a.count != n)
    return refuse(std::to_string(a.count) + " arguments, but the kernel has " +
                  std::to_string(n) + " parameters");
  std::vector<uint8_t> out(n ? l.offsets.back() + l.bytes.back() : 0);
  for (size_t i = 0; i < n; ++i) {
    bool isValue = a.asDeclared || (a.scalarBytes && a.scalarBytes[i]);
    uint32_t given = !isValue       ? 8
                     : a.asDeclared ? l.bytes[i]
                                    : a.scalarBytes[i];
    if (given != l.bytes[i])
      return refuse("argument " + std::to_string(i) + " has " +
                    std::to_string(given) + " bytes, but the parameter has " +
                    std::to_string(l.bytes[i]));
    const void *from =
        isValue ? a.addresses[i] : static_cast<const void *>(&a.addresses[i]);
    std::memcpy(out.data() + l.offsets[i], from, l.bytes[i]);
  }
  return out;
}
