// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-fuse-loops,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t variance unrelated
// REQUIRES: python-packages
//
// Loops that stay two.

gpu.module @kernels {
  // (x - mean)^2 has no factor that is a function of the mean.
  // CHECK-LABEL: gpu.func @variance
  // CHECK-COUNT-2: scf.for
  gpu.func @variance(%x: !tile.view<8x96xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %by = arith.constant dense<96.0> : tensor<8xf32>
    %sum = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %r = tile.reduce add %b axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %mean = arith.divf %sum, %by : tensor<8xf32>
    %m1 = tile.expand_dims %mean axis 1 : tensor<8xf32>
    %mb = tile.broadcast %m1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %v = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %d = arith.subf %b, %mb : tensor<8x32xf32>
      %e = arith.mulf %d, %d : tensor<8x32xf32>
      %r = tile.reduce add %e axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %v, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // exp(x - max y): the maximum so far may be far below the last one, and exp(x)
  // would overflow. (The maximum of y is in its last columns.)
  // CHECK-LABEL: gpu.func @unrelated
  // CHECK-COUNT-2: scf.for
  gpu.func @unrelated(%x: !tile.view<8x96xf32>, %y: !tile.view<8x96xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %m = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low) -> tensor<8xf32> {
      %b = tile.load %y[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %r = tile.reduce max %b axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %m1 = tile.expand_dims %m axis 1 : tensor<8xf32>
    %mb = tile.broadcast %m1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %v = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %y[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %c = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %d = arith.subf %c, %mb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %r = tile.reduce add %e axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %v, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // What is stored between them may be what the second loop reads.
  // CHECK-LABEL: gpu.func @stored
  // CHECK: scf.for
  // CHECK: tile.store
  // CHECK: scf.for
  gpu.func @stored(%x: !tile.view<8x96xf32>, %z: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %s = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %r = tile.reduce add %b axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %s, %z[%c0 : 8] : !tile.view<8xf32>
    %t = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %c = arith.mulf %b, %b : tensor<8x32xf32>
      %r = tile.reduce add %c axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %t, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Loops that read nothing in common would only need more registers.
  // CHECK-LABEL: gpu.func @strangers
  // CHECK-COUNT-2: scf.for
  gpu.func @strangers(%x: !tile.view<8x96xf32>, %y: !tile.view<8x96xf32>, %z: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %s = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %r = tile.reduce add %b axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %t = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %s) -> tensor<8xf32> {
      %b = tile.load %y[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %r = tile.reduce add %b axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %t, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }
}
