// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-assign-roles | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 4:(0,16), 2:(32,0)], lane = [4:(0,2), 8:(1,0)], warp = [2:(16,0), 2:(0,8)]>
#layout1 = #tile.layout<register = [8:(0,1), 2:(32,0)], lane = [4:(0,8), 8:(1,0)], warp = [4:(8,0)]>
#layout2 = #tile.layout<register = [8:(0,1), 2:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
#layout3 = #tile.layout<register = [2:(0,1), 2:(8,0), 4:(0,8), 2:(32,0)], lane = [4:(0,2), 8:(1,0)], warp = [2:(16,0), 2:(0,0)]>
#layout4 = #tile.layout<register = [2:(1,0), 4:(8,0), 4:(0,16)], lane = [4:(2,0), 8:(0,1)], warp = [2:(0,0), 2:(0,8)]>
#layout5 = #tile.layout<register = [4:(0,1), 8:(8,0)], lane = [16:(0,4), 2:(1,0)], warp = [4:(2,0)]>
gpu.module @kernels {
  gpu.func @product(%arg0: !tile.view<64x256xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %2 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %3 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %4 = tile.convert_layout %2 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %5 = tile.convert_layout %3 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %6 = tile.dot %4, %5, %arg4 : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %6 : tensor<64x64xf32, #layout>
    }
    %1 = tile.convert_layout %0 : tensor<64x64xf32, #layout> -> tensor<64x64xf32, #layout5>
    tile.store %1, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xf32, #layout5>, !tile.view<64x64xf32>
    gpu.return
  }
}
// AFTER: tile.roles compute {
// AFTER:     tile.mbarrier_wait %2[%7] parity %9 : !tile.shared<2xi64>
// AFTER-NEXT:     %10 = tile.load_shared %0[%7] : !tile.shared<2x64x32xbf16, #shared64> -> tensor<64x32xbf16, #layout1>
// AFTER:     tile.mbarrier_arrive %3[%7] : !tile.shared<2xi64>
// AFTER: } copy {
// AFTER:     tile.mbarrier_wait %3[%6] parity %9 : !tile.shared<2xi64>
// AFTER-NEXT:     tile.copy_async %arg0[%c0 : 64, %arg3 : 32] to %0[%6] : {{.*}}
// AFTER-NEXT:     tile.copy_async %arg1[%arg3 : 32, %c0 : 64] to %1[%6] : {{.*}}
// AFTER-NEXT:     tile.mbarrier_arrive_copies %2[%6] : !tile.shared<2xi64>
