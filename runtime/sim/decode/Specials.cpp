// SPDX-License-Identifier: Apache-2.0
//
// Special registers: their names, what they need, and their values.
#include "runtime/sim/decode/Specials.h"
#include "runtime/sim/execute/Machine.h"
#include <unordered_map>

namespace act::runtime::sim {

namespace {

/// Each with its widths in bytes, and the target and PTX version that it needs.
std::unordered_map<std::string, SpecialRegister> allSpecials() {
  std::unordered_map<std::string, SpecialRegister> all = {
      {"%laneid", {Special::LaneId}},
      {"%warpid", {Special::WarpId}},
      {"%nwarpid", {Special::NwarpId}},
      {"%smid", {Special::SmId}},
      {"%nsmid", {Special::NsmId}},
      {"%gridid", {Special::GridId, 2 | 4 | 8}},
      {"%lanemask_eq", {Special::LanemaskEq}},
      {"%lanemask_le", {Special::LanemaskLe}},
      {"%lanemask_lt", {Special::LanemaskLt}},
      {"%lanemask_ge", {Special::LanemaskGe}},
      {"%lanemask_gt", {Special::LanemaskGt}},
      {"%cluster_ctarank", {Special::ClusterCtarank, 4, 90, 78}},
      {"%cluster_nctarank", {Special::ClusterNctarank, 4, 90, 78}},
      {"%is_explicit_cluster", {Special::IsExplicitCluster, 1, 90, 78}},
      {"%dynamic_smem_size", {Special::DynamicSmemSize}},
      {"%total_smem_size", {Special::TotalSmemSize}},
      {"%aggr_smem_size", {Special::AggrSmemSize, 4, 90, 81}},
      {"%current_graph_exec", {Special::Zero, 8, 50, 80}},
      {"WARP_SZ", {Special::WarpSize, 2 | 4 | 8}},
  };
  for (const char *end : {"begin", "end", "cap", "0", "1"})
    all[std::string("%reserved_smem_offset_") + end] = {Special::Zero, 4, 80,
                                                        76};
  for (int k = 0; k < 32; ++k)
    // cooperative_groups.h finds the workspace of a cooperative launch through
    // these two; the other registers are zero.
    all["%envreg" + std::to_string(k)] = {k == 1   ? Special::EnvironmentHigh
                                          : k == 2 ? Special::EnvironmentLow
                                                   : Special::Zero};
  const std::pair<const char *, SpecialRegister> vectors[] = {
      {"%tid", {Special::TidX, 2 | 4}},
      {"%ntid", {Special::NtidX, 2 | 4}},
      {"%ctaid", {Special::CtaidX, 2 | 4}},
      {"%nctaid", {Special::NctaidX, 2 | 4}},
      {"%clusterid", {Special::ClusteridX, 4, 90, 78}},
      {"%nclusterid", {Special::NclusteridX, 4, 90, 78}},
      {"%cluster_ctaid", {Special::ClusterCtaidX, 4, 90, 78}},
      {"%cluster_nctaid", {Special::ClusterNctaidX, 4, 90, 78}},
  };
  for (auto &[name, first] : vectors)
    for (unsigned k = 0; k < 4; ++k) {
      SpecialRegister part = first;
      // The fourth part is always zero (PTX ISA, %tid).
      part.which = k < 3 ? Special(unsigned(first.which) + k) : Special::Zero;
      all[std::string(name) + "." + "xyzw"[k]] = part;
    }
  return all;
}

} // namespace

const SpecialRegister *specialNamed(const std::string &name) {
  static const auto all = allSpecials();
  auto it = all.find(name);
  return it == all.end() ? nullptr : &it->second;
}

bool isChangingSpecial(const std::string &name) {
  return name == "%clock" || name == "%clock_hi" || name == "%clock64" ||
         name == "%globaltimer" || name == "%globaltimer_lo" ||
         name == "%globaltimer_hi" || name.rfind("%pm", 0) == 0;
}

uint64_t valueOf(Special special, const Warp &warp, const Frame &frame,
                 unsigned lane) {
  const Cta &cta = *warp.cta;
  const Grid &grid = *cta.grid;
  auto along = [](Special s, Special first) {
    return unsigned(s) - unsigned(first);
  };
  uint32_t thread = warp.index * 32 + lane;
  switch (special) {
  case Special::TidX:
    return thread % grid.blockDim[0];
  case Special::TidY:
    return thread / grid.blockDim[0] % grid.blockDim[1];
  case Special::TidZ:
    return thread / grid.blockDim[0] / grid.blockDim[1];
  case Special::NtidX:
  case Special::NtidY:
  case Special::NtidZ:
    return grid.blockDim[along(special, Special::NtidX)];
  case Special::CtaidX:
  case Special::CtaidY:
  case Special::CtaidZ:
    return cta.id[along(special, Special::CtaidX)];
  case Special::NctaidX:
  case Special::NctaidY:
  case Special::NctaidZ:
    return grid.gridDim[along(special, Special::NctaidX)];
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return warp.index;
  case Special::NwarpId:
    return grid.warpsPerCta;
  case Special::SmId:
    return cta.cluster->linear % grid.target->processors;
  case Special::NsmId:
    return grid.target->processors;
  case Special::GridId:
    return 1;
  case Special::LanemaskEq:
    return 1u << lane;
  case Special::LanemaskLe:
    return (2ull << lane) - 1;
  case Special::LanemaskLt:
    return (1u << lane) - 1;
  case Special::LanemaskGe:
    return uint32_t(~0u << lane);
  case Special::LanemaskGt:
    return uint32_t(~((2ull << lane) - 1));
  case Special::ClusteridX:
  case Special::ClusteridY:
  case Special::ClusteridZ: {
    unsigned i = along(special, Special::ClusteridX);
    return cta.id[i] / grid.clusterDim[i];
  }
  case Special::NclusteridX:
  case Special::NclusteridY:
  case Special::NclusteridZ: {
    unsigned i = along(special, Special::NclusteridX);
    return grid.gridDim[i] / grid.clusterDim[i];
  }
  case Special::ClusterCtaidX:
  case Special::ClusterCtaidY:
  case Special::ClusterCtaidZ: {
    unsigned i = along(special, Special::ClusterCtaidX);
    return cta.id[i] % grid.clusterDim[i];
  }
  case Special::ClusterNctaidX:
  case Special::ClusterNctaidY:
  case Special::ClusterNctaidZ:
    return grid.clusterDim[along(special, Special::ClusterNctaidX)];
  case Special::ClusterCtarank:
    return cta.rank;
  case Special::ClusterNctarank:
    return grid.ctasPerCluster;
  case Special::IsExplicitCluster:
    return grid.explicitCluster;
  case Special::DynamicSmemSize:
    return grid.request.dynamicSharedBytes;
  case Special::TotalSmemSize:
  case Special::AggrSmemSize:
    return grid.sharedBytes;
  case Special::WarpSize:
    return 32;
  case Special::EnvironmentLow:
    return uint32_t(grid.workspace);
  case Special::EnvironmentHigh:
    return grid.workspace >> 32;
  case Special::LocalBase:
    return frame.localBase;
  case Special::ParameterBlock:
    return reinterpret_cast<uint64_t>(grid.parameters.data);
  case Special::Zero:
  case Special::None:
    break;
  }
  return 0;
}

} // namespace act::runtime::sim
