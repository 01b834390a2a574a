// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-split-masked-loops,canonicalize,cse))' | FileCheck %s

// A sum over the rows of x that a mask shows. Query i is row i of the block.
gpu.module @kernels {
  // Keys up to the query's own position: full blocks, then those on the diagonal;
  // from the last query on there are none.
  // CHECK-LABEL: gpu.func @causal
  // CHECK-DAG: %[[I:.*]] = arith.muli %pid_x
  // CHECK-DAG: %[[A:.*]] = arith.addi %[[I]], %c1
  // CHECK: %[[N:.*]] = arith.divui %[[A]], %c16
  // CHECK: %[[M:.*]] = arith.muli %[[N]], %c16
  // CHECK: %[[FULL:.*]] = arith.minsi %[[M]], %c256
  // CHECK: %[[R:.*]] = scf.for %{{.*}} = %c0 to %[[FULL]] step %c16
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: arith.select
  // CHECK: scf.yield
  // CHECK: arith.addi %[[I]], %c47
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c256
  // CHECK: scf.for %{{.*}} = %[[FULL]] to %[[END]] step %c16 iter_args(%{{.*}} = %[[R]])
  // CHECK: arith.cmpi sle
  // CHECK-NOT: scf.for
  gpu.func @causal(%x: !tile.view<256x64xf32>, %y: !tile.view<256x64xf32>) kernel attributes {tile.grid = array<i64: 8, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<32x16xbf16>
    %one = arith.constant dense<1.0> : tensor<32x16xbf16>
    %zero = arith.constant dense<0.0> : tensor<32x64xf32>
    %p = tile.program_id x
    %i = arith.muli %p, %c32 : index
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32x64xf32> {
      %i64 = arith.index_cast %i : index to i64
      %is = tensor.splat %i64 : tensor<32xi64>
      %rows = tile.iota 0 to 32
      %rows64 = arith.extsi %rows : tensor<32xi32> to tensor<32xi64>
      %q = arith.addi %is, %rows64 : tensor<32xi64>
      %q1 = tile.expand_dims %q axis 1 : tensor<32xi64>
      %qs = tile.broadcast %q1 : tensor<32x1xi64> -> tensor<32x16xi64>
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %columns = tile.iota 0 to 16
      %columns64 = arith.extsi %columns : tensor<16xi32> to tensor<16xi64>
      %k = arith.addi %js, %columns64 : tensor<16xi64>
      %k1 = tile.expand_dims %k axis 0 : tensor<16xi64>
      %ks = tile.broadcast %k1 : tensor<1x16xi64> -> tensor<32x16xi64>
      %seen = arith.cmpi sle, %ks, %qs : tensor<32x16xi64>
      %w = arith.select %seen, %one, %none : tensor<32x16xi1>, tensor<32x16xbf16>
      %v = tile.load %x[%j : 16, %c0 : 64] : !tile.view<256x64xf32>
      %v16 = arith.truncf %v : tensor<16x64xf32> to tensor<16x64xbf16>
      %next = tile.dot %w, %v16, %acc : tensor<32x16xbf16>, tensor<16x64xbf16> -> tensor<32x64xf32>
      scf.yield %next : tensor<32x64xf32>
    }
    tile.store %sum, %y[%i : 32, %c0 : 64] : !tile.view<256x64xf32>
    gpu.return
  }

  // A window and causality: blocks in which the window begins keep both masks,
  // blocks behind them the diagonal's, if any.
  // CHECK-LABEL: gpu.func @window
  // CHECK: scf.for
  // CHECK: arith.cmpi sle
  // CHECK: arith.cmpi slt
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK: arith.cmpi sle
  // CHECK-NOT: arith.cmpi slt
  // CHECK-NOT: scf.for
  gpu.func @window(%x: !tile.view<256x64xf32>, %y: !tile.view<256x64xf32>) kernel attributes {tile.grid = array<i64: 8, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %w100 = arith.constant dense<100> : tensor<32x16xi32>
    %none = arith.constant dense<0.0> : tensor<32x16xf32>
    %zero = arith.constant dense<0.0> : tensor<32xf32>
    %p = tile.program_id x
    %i = arith.muli %p, %c32 : index
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32xf32> {
      %i32 = arith.index_cast %i : index to i32
      %is = tensor.splat %i32 : tensor<32xi32>
      %rows = tile.iota 0 to 32
      %q = arith.addi %is, %rows : tensor<32xi32>
      %q1 = tile.expand_dims %q axis 1 : tensor<32xi32>
      %qs = tile.broadcast %q1 : tensor<32x1xi32> -> tensor<32x16xi32>
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<16xi32>
      %columns = tile.iota 0 to 16
      %k = arith.addi %js, %columns : tensor<16xi32>
      %k1 = tile.expand_dims %k axis 0 : tensor<16xi32>
      %ks = tile.broadcast %k1 : tensor<1x16xi32> -> tensor<32x16xi32>
      %causal = arith.cmpi sle, %ks, %qs : tensor<32x16xi32>
      %behind = arith.subi %qs, %ks : tensor<32x16xi32>
      %near = arith.cmpi slt, %behind, %w100 : tensor<32x16xi32>
      %seen = arith.andi %causal, %near : tensor<32x16xi1>
      %v = tile.load %x[%i : 32, %j : 16] : !tile.view<256x64xf32>
      %w = arith.select %seen, %v, %none : tensor<32x16xi1>, tensor<32x16xf32>
      %s = tile.reduce add %w axis 1 : tensor<32x16xf32>
      %next = arith.addf %acc, %s : tensor<32xf32>
      scf.yield %next : tensor<32xf32>
    }
    tile.store %sum, %y[%i : 32, %c0] : !tile.view<256x64xf32>
    gpu.return
  }

  // An end that is known at launch.
  // CHECK-LABEL: gpu.func @ragged
  // CHECK-SAME: %[[N:[a-z0-9]+]]: index)
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK: arith.cmpi slt
  // CHECK-NOT: scf.for
  gpu.func @ragged(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> f32 {
      %n64 = arith.index_cast %n : index to i64
      %ns = tensor.splat %n64 : tensor<16xi64>
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %columns = tile.iota 0 to 16
      %columns64 = arith.extsi %columns : tensor<16xi32> to tensor<16xi64>
      %k = arith.addi %js, %columns64 : tensor<16xi64>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xi64>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %next = arith.addf %acc, %s : f32
      scf.yield %next : f32
    }
    tile.store %sum, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }
}
