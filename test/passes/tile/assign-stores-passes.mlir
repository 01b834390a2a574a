// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-assign-stores | FileCheck %s
// RUN: sed 's/tile.pass_turn %arg1.%arg4.*$/tile.print "here"/' %s | act-opt --tile-assign-stores | FileCheck %s --check-prefix=OTHER

// Turns that pass without an addition, in rows that a mask hides, are passed by the storing
// warp, too, in the same order. A loop that does more stays with the computing warps.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @sums
  // CHECK: tile.roles compute {
  // CHECK-NOT: tile.pass_turn
  // CHECK: } copy {
  // CHECK: } store {
  // CHECK: scf.for %[[I:.+]] = %c0 to %arg2 step %c64 {
  // CHECK-NEXT: tile.pass_turn %arg1[%[[I]]]
  // CHECK-NEXT: }
  // CHECK: scf.for
  // CHECK: tile.wait_turn
  // CHECK: tile.reduce_bulk
  // CHECK: tile.pass_turn
  // OTHER: tile.roles compute {
  // OTHER: tile.print
  // OTHER: } copy {
  // OTHER: } store {
  // OTHER-NOT: tile.print
  // OTHER: tile.reduce_bulk
  gpu.func @sums(%arg0: !tile.view<512x64xf32>, %arg1: !tile.view<512xi32>, %arg2: index) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2, roles = {copy = 1, store = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %full = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %full, 1 : !tile.shared<2xi64>
    tile.barrier
    tile.roles compute {
      %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
      scf.for %arg4 = %c0 to %arg2 step %c64 {
        tile.pass_turn %arg1[%arg4] : !tile.view<512xi32>
      }
      scf.for %arg3 = %arg2 to %c512 step %c64 {
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
