// SPDX-License-Identifier: Apache-2.0
//
// Special registers that stay constant during the life of a frame: slots,
// filled when the frame is made. (The clocks change; mov reads them.)
#ifndef ACT_RUNTIME_SIM_DECODE_SPECIALS_H
#define ACT_RUNTIME_SIM_DECODE_SPECIALS_H
#include <cstdint>
#include <string>

namespace act::runtime::sim {

class Warp;
struct Frame;

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

/// A register such as "%tid.x": the widths it can be read at (a sum of bytes; 1
/// for a predicate), and the target and version that introduced it.
struct SpecialRegister {
  Special which;
  uint8_t widths = 4;
  uint32_t sm = 10, ptx10 = 10;
};
/// Null for unknown names and for changing registers.
const SpecialRegister *specialNamed(const std::string &name);
/// Changing ones: "%clock", "%clock_hi", "%clock64", "%globaltimer",
/// "%globaltimer_lo", "%globaltimer_hi", "%pm0" ...
bool isChangingSpecial(const std::string &name);
/// The value in `lane`.
uint64_t valueOf(Special special, const Warp &warp, const Frame &frame,
                 unsigned lane);

} // namespace act::runtime::sim
#endif
