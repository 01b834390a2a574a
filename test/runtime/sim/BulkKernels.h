// SPDX-License-Identifier: Apache-2.0
//
// What kernels with bulk copies begin and end with.
#ifndef ACT_TEST_RUNTIME_SIM_BULKKERNELS_H
#define ACT_TEST_RUNTIME_SIM_BULKKERNELS_H
#include "test/runtime/sim/RunKernel.h"

namespace act::runtime::sim {

// Thread 0 is %p0; bar is initialised for one arrival; %rd0, %rd1: p0 and p1.
inline const char *const begin = R"(
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  mov.u32 %r1, s;
  mov.u32 %r2, bar;
  ld.param.u64 %rd0, [p0];
  ld.param.u64 %rd1, [p1];
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
)";
inline const char *const landed = R"(
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra W;
)";
// Word %tid.x of s to p1.
inline const char *const out = R"(
  shl.b32 %r3, %r0, 2;
  add.u32 %r4, %r1, %r3;
  cvt.u64.u32 %rd3, %r3;
  add.u64 %rd3, %rd1, %rd3;
  ld.shared.u32 %r5, [%r4];
  st.global.u32 [%rd3], %r5;
)";

inline std::string expect(unsigned bytes) {
  return "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
         std::to_string(bytes) + ";\n";
}

} // namespace act::runtime::sim
#endif
