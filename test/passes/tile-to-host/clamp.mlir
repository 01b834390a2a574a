// SPDX-License-Identifier: Apache-2.0
// The least first, then the most, on both devices.
// RUN: act-run kernel %s --device host --arg out:f32[64]:%t.host.npy | FileCheck %s
// RUN: act-run kernel %s --cache-dir none --arg out:f32[64]:%t.sim.npy
// RUN: cmp %t.host.npy %t.sim.npy
// CHECK-COUNT-11: 10
// CHECK: 11
// CHECK-COUNT-44: 20
gpu.module @kernels {
  gpu.func @clamp(%y: !tile.view<64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %n = tile.iota 0 to 64
    %x = arith.sitofp %n : tensor<64xi32> to tensor<64xf32>
    %least = arith.constant dense<10.0> : tensor<64xf32>
    %most = arith.constant dense<20.0> : tensor<64xf32>
    %r = math.clampf %x to [%least, %most] : tensor<64xf32>
    tile.print "{}", %r : tensor<64xf32>
    tile.store %r, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }
}
