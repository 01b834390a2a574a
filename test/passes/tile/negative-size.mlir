// SPDX-License-Identifier: Apache-2.0
// RUN: act-run kernel %s --target sm_80 --cache-dir=none --arg "out:f32[8]:%t.npy" --arg i64:-3 | FileCheck %s
// RUN: act-run kernel %s --device host --arg "out:f32[8]:%t.npy" --arg i64:-3 | FileCheck %s
// RUN: act-run kernel %s --target sm_80 --cache-dir=none --arg "out:f32[8]:%t.npy" --arg i64:8 | FileCheck %s --check-prefix=ALL
// RUN: act-run kernel %s --device host --arg "out:f32[8]:%t.npy" --arg i64:8 | FileCheck %s --check-prefix=ALL

// Of a view whose size is negative nothing is inside: neither at an index, nor of a
// block, nor where a block of indices says.
// CHECK: 0.000000 0.000000 0.000000
// ALL: 5.000000 40.000000 40.000000
gpu.module @kernels {
  gpu.func @k(%p: !tile.ptr<f32>, %n: index) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    %all = tile.view %p sizes [8] : !tile.ptr<f32> -> !tile.view<8xf32>
    %fives = arith.constant dense<5.0> : tensor<8xf32>
    tile.store %fives, %all[%c0 : 8] : !tile.view<8xf32>
    tile.barrier
    %v = tile.view %p sizes [%n] : !tile.ptr<f32> -> !tile.view<?xf32>
    %one = tile.load %v[%c0] : !tile.view<?xf32>
    %block = tile.load %v[%c0 : 8] : !tile.view<?xf32>
    %sum = tile.reduce add %block axis 0 : tensor<8xf32>
    %places = tile.iota 0 to 8
    %gathered = tile.load %v[%places : tensor<8xi32>] : !tile.view<?xf32>
    %other = tile.reduce add %gathered axis 0 : tensor<8xf32>
    tile.print "{} {} {}", %one, %sum, %other : f32, f32, f32
    gpu.return
  }
}
