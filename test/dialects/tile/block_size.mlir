// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s | act-opt | FileCheck %s

// CHECK: gpu.func @named
// CHECK-SAME: tile.block_sizes = {K = 32 : i64, M = 64 : i64}, tile.grid = #tile.grid<4 * 500/M, 7, 96/K>
// CHECK: %M = tile.block_size M
// CHECK: tile.load %{{.+}}[%{{.+}} : M = 64, %{{.+}} : K = 32] : !tile.view<500x96xf32>
// CHECK: tile.load %{{.+}}[%{{.+}} : i32 : M = 64, %{{.+}} : 16] pad = neg_inf {act.a} : !tile.view<500x96xf32>
// CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}} : M = 64, %{{.+}} : K = 32] : !tile.view<500x96xf32>
// CHECK: tile.atomic_add %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}} : K = 32] : !tile.view<500x96xf32>
gpu.module @kernels {
  gpu.func @named(%x: !tile.view<500x96xf32>, %n: i32) kernel
      attributes {tile.block_sizes = {M = 64, K = 32}, tile.grid = #tile.grid<4*500/M, 7, 96/K>} {
    %m = tile.block_size M
    %a = tile.load %x[%m : M = 64, %m : K = 32] : !tile.view<500x96xf32>
    %b = tile.load %x[%n : i32 : M = 64, %m : 16] pad = neg_inf {act.a} : !tile.view<500x96xf32>
    tile.store %a, %x[%m : M = 64, %m : K = 32] : !tile.view<500x96xf32>
    %r = tile.reduce add %a axis 0 : tensor<64x32xf32>
    tile.atomic_add %r, %x[%m, %m : K = 32] : !tile.view<500x96xf32>
    gpu.return
  }
}
