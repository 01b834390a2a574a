// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/execute/SpecialValues.h"

namespace act::runtime::sim {

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
