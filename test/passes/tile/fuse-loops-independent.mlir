// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-fuse-loops,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t
// REQUIRES: python-packages
//
// Loops that need nothing of each other.

gpu.module @kernels {
  // Two products with one factor in common. The first result is stored after the
  // loops, and so are the ops that round it.
  // CHECK-LABEL: gpu.func @gradients
  // CHECK: scf.for
  // CHECK-COUNT-2: tile.load
  // CHECK: tile.dot
  // CHECK-COUNT-1: tile.load
  // CHECK: tile.dot
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: arith.addf
  // CHECK-COUNT-2: tile.store
  gpu.func @gradients(%p: !tile.view<32x96xbf16>, %x: !tile.view<96x16xbf16>, %y: !tile.view<96x16xbf16>, %z: !tile.view<2x32x16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<32x16xf32>
    %r = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<32x16xf32> {
      %P = tile.load %p[%c0 : 32, %j : 32] : !tile.view<32x96xbf16>
      %X = tile.load %x[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %n = tile.dot %P, %X, %a : tensor<32x32xbf16>, tensor<32x16xbf16> -> tensor<32x16xf32>
      scf.yield %n : tensor<32x16xf32>
    }
    %more = arith.addf %r, %zero : tensor<32x16xf32>
    %s = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<32x16xf32> {
      %P = tile.load %p[%c0 : 32, %j : 32] : !tile.view<32x96xbf16>
      %Y = tile.load %y[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %n = tile.dot %P, %Y, %a : tensor<32x32xbf16>, tensor<32x16xbf16> -> tensor<32x16xf32>
      scf.yield %n : tensor<32x16xf32>
    }
    tile.store %more, %z[%c0, %c0 : 32, %c0 : 16] : !tile.view<2x32x16xf32>
    tile.store %s, %z[%c1, %c0 : 32, %c0 : 16] : !tile.view<2x32x16xf32>
    gpu.return
  }

  // A loop in each of two loops: one in one.
  // CHECK-LABEL: gpu.func @nested
  // CHECK: scf.for
  // CHECK-NEXT: scf.for
  // CHECK-COUNT-1: tile.load
  // CHECK-NOT: tile.load
  // CHECK-NOT: scf.for
  // CHECK-COUNT-2: tile.store
  gpu.func @nested(%x: !tile.view<8x96xf32>, %z: !tile.view<2x8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %s = scf.for %j = %c0 to %c96 step %c48 iter_args(%a = %zero) -> tensor<8xf32> {
      %u = scf.for %k = %c0 to %c48 step %c16 iter_args(%b = %a) -> tensor<8xf32> {
        %at = arith.addi %j, %k : index
        %v = tile.load %x[%c0 : 8, %at : 16] : !tile.view<8x96xf32>
        %r = tile.reduce add %v axis 1 : tensor<8x16xf32>
        %n = arith.addf %b, %r : tensor<8xf32>
        scf.yield %n : tensor<8xf32>
      }
      scf.yield %u : tensor<8xf32>
    }
    %t = scf.for %j = %c0 to %c96 step %c48 iter_args(%a = %zero) -> tensor<8xf32> {
      %u = scf.for %k = %c0 to %c48 step %c16 iter_args(%b = %a) -> tensor<8xf32> {
        %at = arith.addi %j, %k : index
        %v = tile.load %x[%c0 : 8, %at : 16] : !tile.view<8x96xf32>
        %w = arith.mulf %v, %v : tensor<8x16xf32>
        %r = tile.reduce add %w axis 1 : tensor<8x16xf32>
        %n = arith.addf %b, %r : tensor<8xf32>
        scf.yield %n : tensor<8xf32>
      }
      scf.yield %u : tensor<8xf32>
    }
    tile.store %s, %z[%c0, %c0 : 8] : !tile.view<2x8xf32>
    tile.store %t, %z[%c1, %c0 : 8] : !tile.view<2x8xf32>
    gpu.return
  }
}
