// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-stage-stores=target=sm_90a | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --tile-stage-stores=target=sm_90a | FileCheck %s --check-prefix=BOTH
// RUN: sed 's/^    gpu.return/    %later = tile.load %arg2[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16, #layout3>\n&/' %s | act-opt --tile-stage-stores=target=sm_90a | FileCheck %s --check-prefix=READ
// RUN: act-opt %s --tile-stage-stores=target=sm_80 | FileCheck %s --check-prefix=SAME

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#layout1 = #tile.layout<register = [8:(0,1), 2:(32,0)], lane = [4:(0,8), 8:(1,0)], warp = [4:(8,0)]>
#layout2 = #tile.layout<register = [8:(0,1), 2:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
#layout3 = #tile.layout<register = [8:(0,1), 4:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
#shared128 = #tile.shared<swizzle = 128>
#shared64 = #tile.shared<swizzle = 64>
gpu.module @kernels {
  gpu.func @product(%arg0: !tile.view<64x256xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<64x64xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
    %1 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %0) -> (!tile.pending<tensor<64x64xf32, #layout>>) {
      %5 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %6 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %7 = tile.to_shared %5 : tensor<64x32xbf16, #layout1> -> !tile.shared<64x32xbf16, #shared64>
      %8 = tile.to_shared %6 : tensor<32x64xbf16, #layout2> -> !tile.shared<32x64xbf16, #shared128>
      %9 = tile.dot_async %7, %8, %arg4 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x32xbf16, #shared64>, !tile.shared<32x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
      scf.yield %9 : !tile.pending<tensor<64x64xf32, #layout>>
    }
    %2 = tile.dot_result %1 : !tile.pending<tensor<64x64xf32, #layout>>
    %3 = arith.truncf %2 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %4 = tile.convert_layout %3 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout3>
    tile.store %4, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout3>, !tile.view<64x64xbf16>
    gpu.return
  }
}
// AFTER: %4 = tile.alloc_shared : !tile.shared<4x2x16x64xbf16, #shared128>
// AFTER-NEXT: tile.store_tensor %3, %arg2[%c0 : 64, %c0 : 64] by %4 : tensor<64x64xbf16, #layout>, !tile.view<64x64xbf16>, !tile.shared<4x2x16x64xbf16, #shared128>
// AFTER-NEXT: tile.wait_stores %4 : !tile.shared<4x2x16x64xbf16, #shared128>

// A store that the kernel reads later stays, too: nothing orders the copy engine's writes before that.
// READ: gpu.func @product
// READ: tile.store %{{.*}}, %arg2
// READ-LABEL: gpu.func @two_results
// READ: tile.store %{{.*}}, %arg2
// READ: tile.store_tensor %{{.*}}, %arg3

// Without a copy engine stores stay as they are.
// SAME: tile.store %

// Stores take turns with one memory.
// BOTH-LABEL: gpu.func @two_results
// BOTH: %[[M:.*]] = tile.alloc_shared
// BOTH-NOT: tile.alloc_shared
// BOTH-NOT: tile.convert_layout
// BOTH: tile.store_tensor {{.*}} by %[[M]]
// BOTH-NEXT: tile.store_tensor {{.*}} by %[[M]]
// BOTH-NEXT: tile.wait_stores %[[M]]
// BOTH-NOT: tile.wait_stores
gpu.module @more {
  gpu.func @two_results(%arg0: !tile.view<64x256xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<64x64xbf16>, %arg5: !tile.view<64x64xbf16>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
    %1 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %0) -> (!tile.pending<tensor<64x64xf32, #layout>>) {
      %5 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %6 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %7 = tile.to_shared %5 : tensor<64x32xbf16, #layout1> -> !tile.shared<64x32xbf16, #shared64>
      %8 = tile.to_shared %6 : tensor<32x64xbf16, #layout2> -> !tile.shared<32x64xbf16, #shared128>
      %9 = tile.dot_async %7, %8, %arg4 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x32xbf16, #shared64>, !tile.shared<32x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
      scf.yield %9 : !tile.pending<tensor<64x64xf32, #layout>>
    }
    %2 = tile.dot_result %1 : !tile.pending<tensor<64x64xf32, #layout>>
    %3 = arith.truncf %2 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %4 = tile.convert_layout %3 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout3>
    tile.store %4, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout3>, !tile.view<64x64xbf16>
    tile.store %4, %arg5[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout3>, !tile.view<64x64xbf16>
    gpu.return
  }
}
