// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-assign-stores | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/tile.wait_turn %arg1.*$//' %s | act-opt --tile-assign-stores | FileCheck %s --check-prefix=SAME
// RUN: sed 's/, %%c0 : 64\] : tensor/, %%c64 : 64] : tensor/' %s | act-opt --tile-assign-stores | FileCheck %s --check-prefix=SAME

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#shared128 = #tile.shared<swizzle = 128>
gpu.module @kernels {
  gpu.func @sums(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512xi32>, %arg2: index) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2, roles = {copy = 1, store = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %full = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %full, 1 : !tile.shared<2xi64>
    tile.barrier
    tile.roles compute {
      %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
      scf.for %arg3 = %c0 to %c512 step %c64 {
        %5 = math.exp2 %cst : tensor<64x64xf32, #layout>
        tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
        tile.atomic_add %5, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
        tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>
      }
    } copy {
      %0 = arith.constant 0 : i32
      tile.mbarrier_wait %full[%c0] parity %0 : !tile.shared<2xi64>
    } store {
    }
    gpu.return
  }
}
// AFTER: tile.mbarrier_wait %3[%7] parity %10 : !tile.shared<2xi64>
// AFTER-NEXT: tile.store_shared %5, %1[%7] order [0, 1] : tensor<64x64xf32, #layout>, !tile.shared<2x64x64xf32>
// AFTER-NEXT: tile.fence_shared
// AFTER-NEXT: tile.mbarrier_arrive %2[%7] : !tile.shared<2xi64>
// AFTER: } store {
// AFTER: tile.mbarrier_wait %2[%6] parity %8 : !tile.shared<2xi64>
// AFTER-NEXT: tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
// AFTER-NEXT: tile.reduce_bulk %1[%6] to %arg0[%arg3 : 64, %c0 : 64] : !tile.shared<2x64x64xf32>, !tile.view<512x64xf32>
// AFTER-NEXT: tile.wait_stores %1 : !tile.shared<2x64x64xf32>
// AFTER-NEXT: tile.mbarrier_arrive %3[%6] : !tile.shared<2xi64>
// AFTER-NEXT: tile.wait_stores complete %1 : !tile.shared<2x64x64xf32>
// AFTER-NEXT: tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>

// A turn that is not awaited, or a block that is no run of memory.
// SAME: tile.atomic_add
// SAME-NEXT: tile.pass_turn
// SAME-NEXT: }
