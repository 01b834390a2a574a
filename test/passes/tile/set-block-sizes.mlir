// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-block-sizes{sizes=M=16,N=48}))' | FileCheck %s
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-block-sizes))' | FileCheck %s --check-prefix=OWN

gpu.module @kernels {
  // Everything that is as long as the rows or the columns of x. D has no name and
  // stays, though it is as long as N was.
  // CHECK-LABEL: gpu.func @follow
  // CHECK-SAME: kernel attributes {tile.grid = array<i64: 7, 4, 1>}
  // CHECK: %[[M:.+]] = arith.constant 16 : index
  // CHECK: arith.muli %{{.+}}, %[[M]]
  // CHECK-DAG: %[[SQUARE:.+]] = arith.constant dense<1.000000e+00> : tensor<16x48xf32>
  // CHECK-DAG: %[[WIDE:.+]] = arith.constant dense<1.000000e+00> : tensor<16x32xf32>
  // CHECK: %[[X:.+]] = tile.load %{{.+}}[%{{.+}} : 16, %{{.+}} : 48] :
  // CHECK: arith.addf %[[X]], %[[SQUARE]] : tensor<16x48xf32>
  // CHECK: tile.load %{{.+}}[%{{.+}} : 48, %{{.+}} : 32]
  // CHECK: tile.dot {{.+}}, %[[WIDE]] : tensor<16x48xf32>, tensor<48x32xf32> -> tensor<16x32xf32>
  // CHECK: tile.reduce max {{.+}} axis 1 : tensor<16x48xf32>
  // CHECK: tile.expand_dims {{.+}} axis 1 : tensor<16xf32>
  // CHECK: tile.broadcast {{.+}} : tensor<16x1xf32> -> tensor<16x48xf32>
  // CHECK: tile.iota 5 to 53
  // CHECK: tile.broadcast {{.+}} : tensor<1x48xi32> -> tensor<16x48xi32>
  // CHECK: arith.sitofp {{.+}} : tensor<16x48xi32> to tensor<16x48xf32>
  // CHECK: tile.trans {{.+}} : tensor<16x48xf32>
  // CHECK: tile.reshape {{.+}} : tensor<48x16xf32> -> tensor<1x48x1x16xf32>
  // CHECK: tile.scan add {{.+}} axis 3 : tensor<1x48x1x16xf32>
  // CHECK: tile.join {{.+}} : tensor<16x48xf32>
  // CHECK: tile.split {{.+}} : tensor<16x48x2xf32>
  // CHECK: scf.for {{.+}} -> (tensor<16xf32>, tensor<16x48xf32>)
  // CHECK: scf.if {{.+}} -> (tensor<16xf32>)
  // CHECK: scf.while {{.+}} : (tensor<16x48xf32>) -> tensor<16x48xf32>
  // CHECK: ^bb0(%{{.+}}: tensor<16x48xf32>):
  // CHECK: tile.load %{{.+}}[%{{.+}} : i32] :
  // CHECK: %[[IDS:.+]] = tile.load %{{.+}}[%{{.+}} : 16] : !tile.view<100xi32>
  // CHECK: tile.load %{{.+}}[%[[IDS]] : tensor<16xi32>, %{{.+}} : 32] :
  // CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}} : 16, %{{.+}} : 48] :
  // CHECK: tile.atomic_add %{{.+}}, %{{.+}}[%{{.+}} : 16, %{{.+}}] :
  // OWN-LABEL: gpu.func @follow
  // OWN-SAME: kernel attributes {tile.grid = array<i64: 2, 6, 1>}
  // OWN: tile.load %{{.+}}[%{{.+}} : 64, %{{.+}} : 32] :
  // OWN-NOT: block_size
  // OWN-NOT: extent_names
  gpu.func @follow(%x: !tile.view<100x190xf32>, %y: !tile.view<190x32xf32>, %ids: !tile.view<100xi32>, %n: i32) kernel
      attributes {tile.block_sizes = {M = 64, N = 32}, tile.grid = #tile.grid<100/M, 190/N>} {
    %m = tile.block_size M
    %c0 = arith.constant 0 : index
    %c9 = arith.constant 9 : index
    %p = tile.program_id x
    %i = arith.muli %p, %m : index
    // One constant with readers of two shapes.
    %one = arith.constant dense<1.0> : tensor<64x32xf32>
    %a = tile.load %x[%i : M = 64, %c0 : N = 32] : !tile.view<100x190xf32>
    %b = arith.addf %a, %one : tensor<64x32xf32>
    %w = tile.load %y[%c0 : N = 32, %c0 : 32] : !tile.view<190x32xf32>
    %dot = tile.dot %b, %w, %one : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
    %max = tile.reduce max %b axis 1 : tensor<64x32xf32>
    %column = tile.expand_dims %max axis 1 : tensor<64xf32>
    %block = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x32xf32>
    %less = arith.subf %b, %block : tensor<64x32xf32>
    %count = tile.iota 5 to 37
    %row = tile.expand_dims %count axis 0 : tensor<32xi32>
    %counts = tile.broadcast %row : tensor<1x32xi32> -> tensor<64x32xi32>
    %real = arith.sitofp %counts : tensor<64x32xi32> to tensor<64x32xf32>
    %sum = arith.addf %real, %less : tensor<64x32xf32>
    %t = tile.trans %sum : tensor<64x32xf32>
    %apart = tile.reshape %t : tensor<32x64xf32> -> tensor<1x32x1x64xf32>
    %scan = tile.scan add %apart axis 3 : tensor<1x32x1x64xf32>
    %pair = tile.join %sum, %sum : tensor<64x32xf32>
    %one_half, %other = tile.split %pair : tensor<64x32x2xf32>
    %loop:2 = scf.for %k = %c0 to %c9 step %m iter_args(%l = %max, %acc = %one_half) -> (tensor<64xf32>, tensor<64x32xf32>) {
      %next = arith.addf %acc, %other : tensor<64x32xf32>
      scf.yield %max, %next : tensor<64xf32>, tensor<64x32xf32>
    }
    %even = arith.cmpi eq, %p, %c0 : index
    %if = scf.if %even -> tensor<64xf32> {
      scf.yield %loop#0 : tensor<64xf32>
    } else {
      %zero = arith.constant dense<0.0> : tensor<64xf32>
      scf.yield %zero : tensor<64xf32>
    }
    %while = scf.while (%v = %loop#1) : (tensor<64x32xf32>) -> tensor<64x32xf32> {
      scf.condition(%even) %v : tensor<64x32xf32>
    } do {
    ^bb0(%v: tensor<64x32xf32>):
      %twice = arith.addf %v, %v : tensor<64x32xf32>
      scf.yield %twice : tensor<64x32xf32>
    }
    %scalar = tile.load %ids[%n : i32] : !tile.view<100xi32>
    %list = tile.load %ids[%i : M = 64] : !tile.view<100xi32>
    %rows = tile.load %y[%list : tensor<64xi32>, %c0 : 32] : !tile.view<190x32xf32>
    %row_sum = arith.addf %rows, %dot : tensor<64x32xf32>
    %total = tile.reduce add %row_sum axis 1 : tensor<64x32xf32>
    tile.store %while, %x[%i : M = 64, %c0 : N = 32] : !tile.view<100x190xf32>
    tile.atomic_add %total, %x[%i : M = 64, %c0] : !tile.view<100x190xf32>
    tile.print "{}", %if : tensor<64xf32>
    gpu.return
  }

  // A kernel that has no such name stays.
  // CHECK-LABEL: gpu.func @other
  // CHECK: tile.load %{{.+}}[%{{.+}} : 64]
  gpu.func @other(%ids: !tile.view<100xi32>) kernel attributes {tile.block_sizes = {K = 64}} {
    %c0 = arith.constant 0 : index
    %list = tile.load %ids[%c0 : K = 64] : !tile.view<100xi32>
    tile.store %list, %ids[%c0 : K = 64] : !tile.view<100xi32>
    gpu.return
  }
}
