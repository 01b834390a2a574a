// SPDX-License-Identifier: Apache-2.0
//
// The counters of a launch as a table and as JSON, and what follows from them:
// occupancy and the minimum time of each unit.
#include "tools/actrt-sim/Profile.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::simtool;
using namespace act::runtime::sim;

// A warp's registers are allocated in units of 256, shared memory in units of
// 128 bytes, plus 1 KiB per block for the system (CUDA C++ Programming Guide,
// "Compute Capabilities", for 8.0 to 9.0).
Occupancy simtool::occupancy(const Profile &p) {
  uint32_t threads =
      p.request.block[0] * p.request.block[1] * p.request.block[2];
  uint32_t warps = (threads + 31) / 32;
  // Warps that hand registers to each other begin with equal shares.
  const KernelInfo &k = p.kernel;
  uint32_t held = k.registersAtEntry && k.registers <= k.mostRegisters
                      ? k.registersAtEntry
                      : std::max(k.registers, 1u);
  uint64_t registers = (uint64_t{held} * 32 + 255) / 256 * 256 * warps;
  uint64_t shared =
      (p.kernel.sharedBytes + p.request.dynamicSharedBytes + 127) / 128 * 128 +
      1024;
  struct {
    uint64_t blocks;
    const char *limit;
  } bounds[] = {{p.target.warpsPerSm / std::max(warps, 1u), "warps"},
                {p.target.blocksPerSm, "blocks"},
                {p.target.registersPerSm / registers, "registers"},
                {p.target.sharedBytesPerSm / shared, "shared memory"}};
  Occupancy o;
  o.blocks = UINT32_MAX;
  for (auto &b : bounds)
    if (b.blocks < o.blocks) {
      o.blocks = static_cast<uint32_t>(b.blocks);
      o.limit = b.limit;
    }
  o.warps = o.blocks * warps;
  return o;
}

// Tensor-core rates relative to bf16: NVIDIA's white papers on A100, GA102, Ada
// and H100 (dense).
//
// The counts are of PTX instructions, which ptxas changes: it fuses mul.f32
// with add.f32 (not .rn). Moves, address arithmetic and issue slots are
// therefore no bounds. Nor are global sectors, which L1 may serve.
std::vector<Bound> simtool::bounds(const Profile &p) {
  const Counters &c = p.report.counters;
  const Target &t = p.target;
  const double sms = double(std::min<uint64_t>(t.processors, c.ctas));
  if (!sms)
    return {};
  std::vector<Bound> result;
  auto add = [&](const char *unit, double clocks) {
    if (clocks > 0)
      result.push_back({unit, clocks / sms / (t.clockGHz * 1e3)});
  };
  // GeForce tensor cores run at half rate with f32 accumulators.
  const bool geForce = t.sm == 86 || t.sm == 89;
  double tensor = 0; // as bf16 with f32 accumulators
  for (unsigned i = 0; i < unsigned(Tensor::Count); ++i) {
    double flops = double(c.tensorFlops[i]);
    switch (static_cast<Tensor>(i)) {
    case Tensor::TF32:
      tensor += flops * 2;
      break;
    case Tensor::F64:
      tensor += flops * (geForce ? t.tensorFlops / 4 : 16);
      break;
    case Tensor::BF16:
      tensor += flops;
      break;
    case Tensor::F16: // may have f16 accumulators
      tensor += geForce ? flops / 2 : flops;
      break;
    default: // 8 bits
      tensor += flops / (geForce ? 4 : 2);
    }
  }
  auto warps = [&](Class kind) {
    return double(c.warpInstructions[unsigned(kind)]);
  };
  add("tensor_cores", tensor / t.tensorFlops);
  add("f32", warps(Class::Float) * 64 / t.f32Flops);
  add("special_functions", warps(Class::Special) * 32 / t.exp2PerClock);
  add("shared_memory",
      double(c.sharedLoadWavefronts + c.sharedStoreWavefronts) * 128 /
          t.sharedBytesPerClock);
  return result;
}

using Json = nlohmann::ordered_json;

static Json counters(const Counters &c) {
  Json j;
  j["warp_instructions"] = c.totalWarpInstructions();
  j["lane_instructions"] = c.laneInstructions;
  Json &classes = j["instructions"] = Json::object();
  for (unsigned i = 0; i < unsigned(Class::Count); ++i)
    if (c.warpInstructions[i])
      classes[nameOf(static_cast<Class>(i))] = c.warpInstructions[i];
  Json &flops = j["tensor_flops"] = Json::object();
  for (unsigned i = 0; i < unsigned(Tensor::Count); ++i)
    if (c.tensorFlops[i])
      flops[nameOf(static_cast<Tensor>(i))] = c.tensorFlops[i];
  j["global_load_bytes"] = c.globalLoadBytes;
  j["global_load_sectors"] = c.globalLoadSectors;
  j["global_store_bytes"] = c.globalStoreBytes;
  j["global_store_sectors"] = c.globalStoreSectors;
  j["shared_load_wavefronts"] = c.sharedLoadWavefronts;
  j["shared_store_wavefronts"] = c.sharedStoreWavefronts;
  j["shared_conflicts"] = c.sharedConflicts;
  Json &behind = j["async_shared_bytes"] = Json::object();
  const std::pair<const char *, uint64_t> moved[] = {
      {"wgmma", c.wgmmaSharedBytes},
      {"bulk_load", c.bulkSharedLoadBytes},
      {"bulk_store", c.bulkSharedStoreBytes}};
  for (auto [what, bytes] : moved)
    if (bytes)
      behind[what] = bytes;
  j["async_bytes"] = c.asyncBytes;
  j["exp2"] = c.exp2;
  j["barrier_waits"] = c.barrierWaits;
  j["ctas"] = c.ctas;
  j["warps"] = c.warps;
  return j;
}

static Json leastTimes(const Profile &p) {
  Json j = Json::object();
  for (const Bound &b : bounds(p))
    j[b.unit] = std::round(b.microseconds * 1e6) / 1e6;
  return j;
}

static Json site(const Site &s, const ThreadId &t) {
  Json j;
  j["ptx_line"] = s.ptxLine;
  j["instruction"] = s.spelling;
  if (!s.sourceFile.empty()) {
    j["source_file"] = s.sourceFile;
    j["source_line"] = s.sourceLine;
  }
  j["cta"] = t.cta;
  j["thread"] = t.thread;
  if (!t.agent.empty())
    j["agent"] = t.agent;
  return j;
}

std::string simtool::json(const Profile &p) {
  Json j;
  j["kernel"] = p.kernel.name;
  j["target"] = p.target.name;
  j["grid"] = p.request.grid;
  j["block"] = p.request.block;
  j["registers"] = p.kernel.registers;
  j["static_shared_bytes"] = p.kernel.sharedBytes;
  j["dynamic_shared_bytes"] = p.request.dynamicSharedBytes;
  j["local_bytes"] = p.kernel.localBytes;
  Occupancy o = occupancy(p);
  j["occupancy"] = {{"blocks_per_sm", o.blocks},
                    {"warps_per_sm", o.warps},
                    {"limit", o.limit}};
  j["counters"] = counters(p.report.counters);
  j["least_microseconds"] = leastTimes(p);
  Json &findings = j["findings"] = Json::array();
  for (const Finding &f : p.report.findings) {
    Json one;
    one["kind"] = nameOf(f.kind);
    one["tolerated"] = isTolerated(f.kind);
    one["message"] = f.message;
    one["at"] = site(f.site, f.thread);
    if (f.hasOther)
      one["other"] = site(f.otherSite, f.otherThread);
    if (!f.otherKernel.empty())
      one["other_kernel"] = f.otherKernel;
    if (f.hasAddress)
      one["address"] = f.address;
    if (!f.where.empty())
      one["where"] = f.where;
    one["count"] = f.count;
    findings.push_back(std::move(one));
  }
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The same figures, one per line: a group's name, then its members indented.
static void lines(std::string &out, const Json &j, const std::string &indent) {
  for (auto &[key, value] : j.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    if (value.is_object()) {
      if (!value.empty())
        out += indent + name + "\n";
      lines(out, value, indent + "  ");
      continue;
    }
    std::string text = indent + name;
    text.resize(std::max<size_t>(text.size() + 1, 30), ' ');
    std::string number =
        value.is_string() ? value.get<std::string>() : value.dump();
    if (number.size() < 16)
      text.append(16 - number.size(), ' ');
    out += text + number + "\n";
  }
}

std::string simtool::table(const Profile &p) {
  auto triple = [](const uint32_t *v) {
    return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" +
           std::to_string(v[2]);
  };
  Occupancy o = occupancy(p);
  std::string out = p.kernel.name + " on " + p.target.name + ", grid " +
                    triple(p.request.grid) + ", block " +
                    triple(p.request.block) + "\n";
  Json j;
  j["registers (estimate)"] = p.kernel.registers;
  j["shared bytes"] = p.kernel.sharedBytes + p.request.dynamicSharedBytes;
  j["blocks per sm"] = o.blocks;
  j["limited by"] = o.limit;
  lines(out, j, "  ");
  lines(out, counters(p.report.counters), "  ");
  Json least;
  least["least microseconds, by unit"] = leastTimes(p);
  lines(out, least, "  ");
  return out;
}
