// SPDX-License-Identifier: Apache-2.0
//
// Special registers that stay constant during the life of a frame: slots,
// filled when the frame is made. (The clocks change; mov reads them.)
#ifndef ACT_RUNTIME_SIM_PROGRAM_SPECIAL_H
#define ACT_RUNTIME_SIM_PROGRAM_SPECIAL_H
#include <cstdint>

namespace act::runtime::sim {

enum class Special : uint16_t {
  None,
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  Zero, // .w, offsets of reserved shared memory, the running graph
  WarpSize,
  EnvironmentLow,  // %envreg2 and %envreg1: the driver's workspace of a
  EnvironmentHigh, // cooperative launch, used by grid syncs
                   // (cooperative_groups.h)
  // No PTX name: addresses that depend on the launch or the call.
  LocalBase,      // of the frame, in state space .local
  ParameterBlock, // of the kernel
};

} // namespace act::runtime::sim
#endif
