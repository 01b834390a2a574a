// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-async-dots | FileCheck %s --check-prefix=LATE
// RUN: act-opt %s --tile-async-dots | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#layout1 = #tile.layout<register = [8:(0,1), 2:(32,0)], lane = [4:(0,8), 8:(1,0)], warp = [4:(8,0)]>
#layout2 = #tile.layout<register = [8:(0,1), 2:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
#layout3 = #tile.layout<register = [2:(0,1), 2:(8,0), 4:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#layout4 = #tile.layout<register = [2:(1,0), 4:(8,0), 8:(0,8)], lane = [4:(2,0), 8:(0,1)], warp = [4:(0,0)]>
#layout5 = #tile.layout<register = [8:(0,1), 4:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
gpu.module @kernels {
  gpu.func @product(%arg0: !tile.view<64x256xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<64x64xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %3 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %4 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %5 = tile.convert_layout %3 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %6 = tile.convert_layout %4 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %7 = tile.dot %5, %6, %arg4 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %7 : tensor<64x64xf32, #layout>
    }
    %1 = arith.truncf %0 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %2 = tile.convert_layout %1 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout5>
    tile.store %2, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout5>, !tile.view<64x64xbf16>
    gpu.return
  }
}
// AFTER: %0 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
// AFTER-NEXT: %1:2 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst, %arg5 = %0) -> (tensor<64x64xf32, #layout>, !tile.pending<tensor<64x64xf32, #layout>>) {
// AFTER-NEXT: %5 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
// AFTER-NEXT: %6 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
// AFTER-NEXT: %7 = tile.to_shared %5 : tensor<64x32xbf16, #layout1> -> !tile.shared<64x32xbf16, #shared64>
// AFTER-NEXT: %8 = tile.to_shared %6 : tensor<32x64xbf16, #layout2> -> !tile.shared<32x64xbf16, #shared128>
// AFTER-NEXT: %9 = tile.dot_async %7, %8, %arg5 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x32xbf16, #shared64>, !tile.shared<32x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
// AFTER-NEXT: scf.yield %arg4, %9 : tensor<64x64xf32, #layout>, !tile.pending<tensor<64x64xf32, #layout>>
// AFTER-NEXT: }
// AFTER-NEXT: %2 = tile.dot_result %1#1 : !tile.pending<tensor<64x64xf32, #layout>>

// What only the end of the kernel needs is loaded when the last products have begun.
// LATE-LABEL: gpu.func @added
// LATE-NOT: tile.load %arg2
// LATE: tile.dot_async
// LATE: tile.load %arg2
// LATE-NEXT: tile.dot_result
// LATE: arith.addf
gpu.module @late {
  gpu.func @added(%arg0: !tile.view<64x256xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<64x64xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %8 = tile.load %arg2[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16, #layout>
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %3 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %4 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %5 = tile.convert_layout %3 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %6 = tile.convert_layout %4 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %7 = tile.dot %5, %6, %arg4 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %7 : tensor<64x64xf32, #layout>
    }
    %1 = arith.truncf %0 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %9 = arith.addf %1, %8 : tensor<64x64xbf16, #layout>
    %2 = tile.convert_layout %9 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout5>
    tile.store %2, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout5>, !tile.view<64x64xbf16>
    gpu.return
  }
}
