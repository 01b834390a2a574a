// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s
// RUN: sed 's/256/2048/g' %s | act-opt --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s --check-prefix=STEPS
// RUN: sed 's/256/4096/g' %s | act-opt --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/256/2144/g' %s | act-opt --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s --check-prefix=ODD
// RUN: sed 's/256/2048/g; s/\(.icked, .g,\) .acc/\1 %zeros/' %s | act-opt --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s --check-prefix=ODD
// RUN: sed 's/256/2048/g; s/^ *\(.next = tile.dot .icked, .g,\) .acc/%half = arith.addf %acc, %acc : tensor<64x16xf32>\n\1 %half/' %s | act-opt --pass-pipeline='builtin.module(gpu.module(tile-skip-empty-dots))' | FileCheck %s --check-prefix=ODD
//
// Many steps are tested at once: a bit for each of 64.
// STEPS-LABEL: gpu.func @table
// STEPS: tile.load %{{.*}}[%{{.*}} : 2048] : !tile.view<2048xi32>
// STEPS: %[[NEAR:.*]] = tile.reshape %{{.*}} : tensor<2048xi1> -> tensor<64x32xi1>
// STEPS: %[[ANY:.*]] = tile.reduce or %[[NEAR]] axis 1
// STEPS: %[[MINE:.*]] = arith.select %[[ANY]]
// STEPS: %[[BITS:.*]] = tile.reduce or %[[MINE]] axis 0
// STEPS: %[[POP:.*]] = math.ctpop %[[BITS]]
// STEPS: %[[COUNT:.*]] = arith.index_cast %[[POP]]
// STEPS: scf.for {{.*}} to %[[COUNT]] step {{.*}} iter_args(%[[LEFT:.*]] = %[[BITS]], %[[ACC:.*]] =
// STEPS: math.cttz %[[LEFT]]
// STEPS: %[[SUM:.*]] = scf.if
// STEPS: tile.load {{.*}} : !tile.view<2048x16xbf16>
// STEPS: tile.dot
// STEPS: else
// STEPS: %[[LESS:.*]] = arith.subi %[[LEFT]]
// STEPS: %[[NEXT:.*]] = arith.andi %[[LEFT]], %[[LESS]]
// STEPS: scf.yield %[[NEXT]], %[[SUM]]
// STEPS-LABEL: gpu.func @kept
// STEPS-NOT: math.ctpop

// 128 steps are two times 64; 67 have no divisor between 16 and 64. A step that changes the
// sum without the dot cannot be left out.
// TWICE-LABEL: gpu.func @table
// TWICE: scf.for %[[FROM:.*]] = %{{.*}} to %c4096{{[_0-9]*}} step %c2048
// TWICE: tile.load %{{.*}}[%[[FROM]] : 2048]
// TWICE: math.ctpop
// TWICE: scf.for
// ODD-LABEL: gpu.func @table
// ODD-NOT: math.ctpop
// ODD: tile.reduce or
//
// skip-empty-dots-run.py counts the dots that are left, by the tokens.

// CHECK-LABEL: gpu.func @table
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[ACC:.*]] =
// CHECK: %[[TOKENS:.*]] = tile.load %{{.*}}[%[[K]] : 32]
// CHECK: %[[ABOVE:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<32xi64>
// CHECK: %[[BELOW:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : tensor<32xi64>
// CHECK: %[[NEAR:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : tensor<32xi1>
// CHECK: %[[ANY:.*]] = tile.reduce or %[[NEAR]] axis 0
// CHECK: %[[SUM:.*]] = scf.if %[[ANY]]
// CHECK: arith.cmpi eq
// CHECK: tile.load {{.*}} : !tile.view<256x16xbf16>
// CHECK: %[[DOT:.*]] = tile.dot
// CHECK: scf.yield %[[DOT]]
// CHECK: else
// CHECK: scf.yield %[[ACC]]
// CHECK: scf.yield %[[SUM]]
gpu.module @kernels {
  gpu.func @table(%gradient: !tile.ptr<bf16>, %ids: !tile.ptr<i32>, %out: !tile.ptr<f32>) kernel attributes {tile.grid = array<i64: 2, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
    %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
    %one = arith.constant dense<1.0> : tensor<64x32xbf16>
    %from = tile.view %gradient sizes [256, 16] : !tile.ptr<bf16> -> !tile.view<256x16xbf16>
    %tokens = tile.view %ids sizes [256] : !tile.ptr<i32> -> !tile.view<256xi32>
    %to = tile.view %out sizes [128, 16] : !tile.ptr<f32> -> !tile.view<128x16xf32>
    %p = tile.program_id x
    %first = arith.muli %p, %c64 : index
    %place = tile.iota 0 to 64
    %wide = arith.extsi %place : tensor<64xi32> to tensor<64xi64>
    %first64 = arith.index_cast %first : index to i64
    %firsts = tensor.splat %first64 : tensor<64xi64>
    %row = arith.addi %wide, %firsts : tensor<64xi64>
    %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %zeros) -> (tensor<64x16xf32>) {
      %id = tile.load %tokens[%k : 32] : !tile.view<256xi32>
      %id64 = arith.extsi %id : tensor<32xi32> to tensor<32xi64>
      %a0 = tile.expand_dims %id64 axis 0 : tensor<32xi64>
      %a = tile.broadcast %a0 : tensor<1x32xi64> -> tensor<64x32xi64>
      %b0 = tile.expand_dims %row axis 1 : tensor<64xi64>
      %b = tile.broadcast %b0 : tensor<64x1xi64> -> tensor<64x32xi64>
      %mine = arith.cmpi eq, %a, %b : tensor<64x32xi64>
      %picked = arith.select %mine, %one, %zero : tensor<64x32xi1>, tensor<64x32xbf16>
      %g = tile.load %from[%k : 32, %c0 : 16] : !tile.view<256x16xbf16>
      %next = tile.dot %picked, %g, %acc : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      scf.yield %next : tensor<64x16xf32>
    }
    tile.store %sum, %to[%first : 64, %c0 : 16] : !tile.view<128x16xf32>
    gpu.return
  }

  // What is selected where a comparison is false is not zero; and a comparison
  // that is no equality.
  // CHECK-LABEL: gpu.func @kept
  // CHECK-NOT: scf.if
  // CHECK: gpu.return
  gpu.func @kept(%gradient: !tile.ptr<bf16>, %ids: !tile.ptr<i32>, %out: !tile.ptr<f32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
    %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
    %one = arith.constant dense<1.0> : tensor<64x32xbf16>
    %from = tile.view %gradient sizes [256, 16] : !tile.ptr<bf16> -> !tile.view<256x16xbf16>
    %tokens = tile.view %ids sizes [256] : !tile.ptr<i32> -> !tile.view<256xi32>
    %to = tile.view %out sizes [64, 16] : !tile.ptr<f32> -> !tile.view<64x16xf32>
    %row = tile.iota 0 to 64
    %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %zeros) -> (tensor<64x16xf32>) {
      %id = tile.load %tokens[%k : 32] : !tile.view<256xi32>
      %a0 = tile.expand_dims %id axis 0 : tensor<32xi32>
      %a = tile.broadcast %a0 : tensor<1x32xi32> -> tensor<64x32xi32>
      %b0 = tile.expand_dims %row axis 1 : tensor<64xi32>
      %b = tile.broadcast %b0 : tensor<64x1xi32> -> tensor<64x32xi32>
      %same = arith.cmpi eq, %a, %b : tensor<64x32xi32>
      %above = arith.cmpi sgt, %a, %b : tensor<64x32xi32>
      %others = arith.select %same, %zero, %one : tensor<64x32xi1>, tensor<64x32xbf16>
      %more = arith.select %above, %one, %zero : tensor<64x32xi1>, tensor<64x32xbf16>
      %g = tile.load %from[%k : 32, %c0 : 16] : !tile.view<256x16xbf16>
      %x = tile.dot %others, %g, %acc : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      %y = tile.dot %more, %g, %x : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      scf.yield %y : tensor<64x16xf32>
    }
    tile.store %sum, %to[%c0 : 64, %c0 : 16] : !tile.view<64x16xf32>
    gpu.return
  }
}
