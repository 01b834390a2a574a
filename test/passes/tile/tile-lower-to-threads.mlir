// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-lower-to-threads | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
#layout = #tile.layout<register = [], lane = [32:(1)], warp = [4:(32)]>
gpu.module @kernels {
  gpu.func @double(%arg0: !tile.view<128xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = tile.load %arg0[%c0 : 128] : !tile.view<128xf32> -> tensor<128xf32, #layout>
    %1 = arith.addf %0, %0 : tensor<128xf32, #layout>
    tile.store %1, %arg0[%c0 : 128] : tensor<128xf32, #layout>, !tile.view<128xf32>
    gpu.return
  }
}
// AFTER: gpu.func @double(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64}) kernel attributes {tile.shared_bytes = 0 : i64} {
// AFTER-NEXT:   %0 = nvvm.read.ptx.sreg.tid.x : i32
// AFTER:   %9 = llvm.load %8 {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// AFTER-NEXT:   %10 = llvm.bitcast %9 : i32 to f32
// AFTER-NEXT:   %11 = arith.addf %10, %10 : f32
// AFTER:   llvm.store %16, %15 {alignment = 4 : i64} : i32, !llvm.ptr<1>
