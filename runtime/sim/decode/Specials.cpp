// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/decode/Specials.h"
#include "runtime/sim/Machine.h"
#include <unordered_map>

namespace act::runtime::sim {

Special specialNamed(const std::string &name) {
  static const std::unordered_map<std::string, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%nwarpid", Special::NwarpId},
      {"%smid", Special::SmId},
      {"%nsmid", Special::NsmId},
      {"%gridid", Special::GridId},
      {"%lanemask_eq", Special::LanemaskEq},
      {"%lanemask_le", Special::LanemaskLe},
      {"%lanemask_lt", Special::LanemaskLt},
      {"%lanemask_ge", Special::LanemaskGe},
      {"%lanemask_gt", Special::LanemaskGt},
      {"%clusterid.x", Special::ClusteridX},
      {"%clusterid.y", Special::ClusteridY},
      {"%clusterid.z", Special::ClusteridZ},
      {"%nclusterid.x", Special::NclusteridX},
      {"%nclusterid.y", Special::NclusteridY},
      {"%nclusterid.z", Special::NclusteridZ},
      {"%cluster_ctaid.x", Special::ClusterCtaidX},
      {"%cluster_ctaid.y", Special::ClusterCtaidY},
      {"%cluster_ctaid.z", Special::ClusterCtaidZ},
      {"%cluster_nctaid.x", Special::ClusterNctaidX},
      {"%cluster_nctaid.y", Special::ClusterNctaidY},
      {"%cluster_nctaid.z", Special::ClusterNctaidZ},
      {"%cluster_ctarank", Special::ClusterCtarank},
      {"%cluster_nctarank", Special::ClusterNctarank},
      {"%is_explicit_cluster", Special::IsExplicitCluster},
      {"%dynamic_smem_size", Special::DynamicSmemSize},
      {"%total_smem_size", Special::TotalSmemSize},
      {"%aggr_smem_size", Special::AggrSmemSize},
      {"%reserved_smem_offset_begin", Special::ReservedSmem},
      {"%reserved_smem_offset_end", Special::ReservedSmem},
      {"WARP_SZ", Special::WarpSize},
      {"%envreg2", Special::EnvironmentLow},
      {"%envreg1", Special::EnvironmentHigh},
  };
  auto it = names.find(name);
  return it == names.end() ? Special::None : it->second;
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
    return grid.request->dynamicSharedBytes;
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
  case Special::ReservedSmem:
  case Special::None:
    break;
  }
  return 0;
}

} // namespace act::runtime::sim
