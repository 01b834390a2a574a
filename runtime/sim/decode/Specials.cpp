// SPDX-License-Identifier: Apache-2.0
//
// The table of special registers.
#include "runtime/sim/decode/Specials.h"
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

} // namespace act::runtime::sim
