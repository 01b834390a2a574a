// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose lanes each copy 16 bytes by cp.async, wait, and hand them out.
#ifndef ACT_TEST_RUNTIME_SIM_COPYKERNELS_H
#define ACT_TEST_RUNTIME_SIM_COPYKERNELS_H
#include "test/runtime/sim/RunKernel.h"

namespace act::runtime::sim {

// %rd1: this lane's 16 bytes of p0, %r2: this lane's 16 bytes of s, %rd3: of p1
inline const char *const places = R"(
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 4;
  ld.param.u64 %rd0, [p0];
  cvt.u64.u32 %rd2, %r1;
  add.u64 %rd1, %rd0, %rd2;
  mov.u32 %r3, s;
  add.u32 %r2, %r3, %r1;
  ld.param.u64 %rd3, [p1];
  add.u64 %rd3, %rd3, %rd2;
)";
inline const char *const results = R"(
  ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r2];
  st.global.v4.u32 [%rd3], {%r20, %r21, %r22, %r23};
)";

inline Kernel copying(const std::string &copies, const std::string &wait) {
  Kernel k;
  k.target = "sm_80";
  k.version = "8.0";
  k.shared = ".shared .align 16 .b8 s[1024];";
  k.body = places + copies + wait + results;
  k.array(counted(256)).output<uint32_t>(128);
  return k;
}

} // namespace act::runtime::sim
#endif
