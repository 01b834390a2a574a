// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-split-masked-loops,canonicalize,cse))' | FileCheck %s

gpu.module @kernels {
  // Where each query's sequence begins is loaded: keys are hidden from all rows
  // up to the first one's, and from none behind the last one's.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: %[[ROWS:.*]] = tile.load
  // CHECK-DAG: %[[FIRST:.*]] = tile.reduce min %[[ROWS]] axis 0
  // CHECK-DAG: %[[LAST:.*]] = tile.reduce max %[[ROWS]] axis 0
  // CHECK: scf.for
  // CHECK: arith.cmpi sge
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  gpu.func @rows(%x: !tile.view<32x256xf32>, %begins: !tile.view<32xi64>, %y: !tile.view<32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<32x16xf32>
    %zero = arith.constant dense<0.0> : tensor<32xf32>
    %rows = tile.load %begins[%c0 : 32] : !tile.view<32xi64>
    %column = tile.expand_dims %rows axis 1 : tensor<32xi64>
    %bs = tile.broadcast %column : tensor<32x1xi64> -> tensor<32x16xi64>
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32xf32> {
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %places = tile.iota 0 to 16
      %places64 = arith.extsi %places : tensor<16xi32> to tensor<16xi64>
      %k = arith.addi %js, %places64 : tensor<16xi64>
      %k1 = tile.expand_dims %k axis 0 : tensor<16xi64>
      %ks = tile.broadcast %k1 : tensor<1x16xi64> -> tensor<32x16xi64>
      %seen = arith.cmpi sge, %ks, %bs : tensor<32x16xi64>
      %v = tile.load %x[%c0 : 32, %j : 16] : !tile.view<32x256xf32>
      %w = arith.select %seen, %v, %none : tensor<32x16xi1>, tensor<32x16xf32>
      %s = tile.reduce add %w axis 1 : tensor<32x16xf32>
      %next = arith.addf %acc, %s : tensor<32xf32>
      scf.yield %next : tensor<32xf32>
    }
    tile.store %sum, %y[%c0 : 32] : !tile.view<32xf32>
    gpu.return
  }

  // What was summed up in a loop before is finite, too: a hidden block, whose
  // weights are 0, is skipped.
  // CHECK-LABEL: gpu.func @finite
  // CHECK: scf.for
  // CHECK: tile.reduce add
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK: arith.cmpi slt
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  gpu.func @finite(%x: !tile.view<32x256xf32>, %n: i64, %y: !tile.view<32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0xFF800000> : tensor<32x16xf32>
    %zero = arith.constant dense<0.0> : tensor<32xf32>
    %ends = tensor.splat %n : tensor<32x16xi64>
    %total = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32xf32> {
      %v = tile.load %x[%c0 : 32, %j : 16] : !tile.view<32x256xf32>
      %s = tile.reduce add %v axis 1 : tensor<32x16xf32>
      %next = arith.addf %acc, %s : tensor<32xf32>
      scf.yield %next : tensor<32xf32>
    }
    %column = tile.expand_dims %total axis 1 : tensor<32xf32>
    %totals = tile.broadcast %column : tensor<32x1xf32> -> tensor<32x16xf32>
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32xf32> {
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %places = tile.iota 0 to 16
      %places64 = arith.extsi %places : tensor<16xi32> to tensor<16xi64>
      %k = arith.addi %js, %places64 : tensor<16xi64>
      %k1 = tile.expand_dims %k axis 0 : tensor<16xi64>
      %ks = tile.broadcast %k1 : tensor<1x16xi64> -> tensor<32x16xi64>
      %seen = arith.cmpi slt, %ks, %ends : tensor<32x16xi64>
      %v = tile.load %x[%c0 : 32, %j : 16] : !tile.view<32x256xf32>
      %w = arith.select %seen, %v, %none : tensor<32x16xi1>, tensor<32x16xf32>
      %e = math.exp %w : tensor<32x16xf32>
      %t = arith.mulf %e, %totals : tensor<32x16xf32>
      %s = tile.reduce add %t axis 1 : tensor<32x16xf32>
      %next = arith.addf %acc, %s : tensor<32xf32>
      scf.yield %next : tensor<32xf32>
    }
    tile.store %sum, %y[%c0 : 32] : !tile.view<32xf32>
    gpu.return
  }

  // Products within the ends of sequences are like others in full blocks.
  // CHECK-LABEL: gpu.func @within
  // CHECK: scf.for
  // CHECK: tile.dot {{.*}} within(
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK-NOT: within
  // CHECK: tile.dot
  // CHECK-NOT: within
  // CHECK: scf.yield
  // CHECK: scf.for
  // CHECK: tile.dot {{.*}} within(
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  gpu.func @within(%x: !tile.view<256x64xbf16>, %begins: !tile.view<32xi32>, %ends: !tile.view<32xi32>, %y: !tile.view<32x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<32x16xbf16>
    %one = arith.constant dense<1.0> : tensor<32x16xbf16>
    %zero = arith.constant dense<0.0> : tensor<32x64xf32>
    %first = tile.load %begins[%c0 : 32] : !tile.view<32xi32>
    %last = tile.load %ends[%c0 : 32] : !tile.view<32xi32>
    %f1 = tile.expand_dims %first axis 1 : tensor<32xi32>
    %fs = tile.broadcast %f1 : tensor<32x1xi32> -> tensor<32x16xi32>
    %l1 = tile.expand_dims %last axis 1 : tensor<32xi32>
    %ls = tile.broadcast %l1 : tensor<32x1xi32> -> tensor<32x16xi32>
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> tensor<32x64xf32> {
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<16xi32>
      %places = tile.iota 0 to 16
      %k = arith.addi %js, %places : tensor<16xi32>
      %k1 = tile.expand_dims %k axis 0 : tensor<16xi32>
      %ks = tile.broadcast %k1 : tensor<1x16xi32> -> tensor<32x16xi32>
      %begun = arith.cmpi sge, %ks, %fs : tensor<32x16xi32>
      %goes_on = arith.cmpi slt, %ks, %ls : tensor<32x16xi32>
      %seen = arith.andi %begun, %goes_on : tensor<32x16xi1>
      %w = arith.select %seen, %one, %none : tensor<32x16xi1>, tensor<32x16xbf16>
      %v = tile.load %x[%j : 16, %c0 : 64] : !tile.view<256x64xbf16>
      %from = tensor.splat %j32 : tensor<32xi32>
      %low = arith.subi %first, %from overflow<nsw> : tensor<32xi32>
      %high = arith.subi %last, %from overflow<nsw> : tensor<32xi32>
      %next = tile.dot %w, %v, %acc within(%low, %high : tensor<32xi32>, tensor<32xi32>) : tensor<32x16xbf16>, tensor<16x64xbf16> -> tensor<32x64xf32>
      scf.yield %next : tensor<32x64xf32>
    }
    tile.store %sum, %y[%c0 : 32, %c0 : 64] : !tile.view<32x64xf32>
    gpu.return
  }
}
