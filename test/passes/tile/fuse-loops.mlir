// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-fuse-loops,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t softmax attention
// REQUIRES: python-packages
//
// fuse-loops-run.py compares with NumPy, on the simulator.

gpu.module @kernels {
  // The loop that stores stays: it needs both results at every element. Data may
  // be -inf, so the terms take 0 as long as the maximum is -inf.
  // CHECK-LABEL: gpu.func @softmax
  // CHECK: %[[ML:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
  // CHECK-NEXT: %[[X:.*]] = tile.load
  // CHECK: %[[M1:.*]] = arith.maximumf %[[M]],
  // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[M1]],
  // CHECK: %[[SAFE:.*]] = arith.select %[[NONE]], %{{.*}}, %[[M1]]
  // CHECK: %[[CHANGE:.*]] = arith.subf %[[M]], %[[SAFE]]
  // CHECK: %[[C:.*]] = math.exp %[[CHANGE]] : tensor<8xf32>
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[L]], %[[C]]
  // CHECK: %[[SUM:.*]] = tile.reduce add
  // CHECK: %[[L1:.*]] = arith.addf %[[SCALED]], %[[SUM]]
  // CHECK: scf.yield %[[M1]], %[[L1]]
  // CHECK: scf.for
  // CHECK: arith.divf
  // CHECK: tile.store
  gpu.func @softmax(%x: !tile.view<8x100xf32>, %y: !tile.view<8x100xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %m = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %low) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %r = tile.reduce max %b axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %m1 = tile.expand_dims %m axis 1 : tensor<8xf32>
    %mb = tile.broadcast %m1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %l = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %d = arith.subf %b, %mb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %r = tile.reduce add %e axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %l1 = tile.expand_dims %l axis 1 : tensor<8xf32>
    %lb = tile.broadcast %l1 : tensor<8x1xf32> -> tensor<8x32xf32>
    scf.for %j = %c0 to %c100 step %c32 {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %d = arith.subf %b, %mb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %p = arith.divf %e, %lb : tensor<8x32xf32>
      tile.store %p, %y[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
    }
    gpu.return
  }

  // Three loops are one, with one product of queries and keys, one exponential of
  // the block and one of the rows. 1/l leaves the loop, where the weights are
  // rounded to bf16 without it.
  // CHECK-LABEL: gpu.func @attention
  // CHECK-COUNT-1: scf.for
  // CHECK-NOT: scf.for
  // CHECK: tile.dot
  // CHECK: %[[M1:.*]] = arith.maximumf
  // CHECK: math.exp %{{.*}} : tensor<16xf32>
  // CHECK: math.exp %{{.*}} : tensor<16x32xf32>
  // CHECK-NOT: math.exp
  // CHECK-NOT: arith.divf
  // CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}} : tensor<16x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: arith.divf
  // CHECK: tile.store
  gpu.func @attention(%q: !tile.view<16x16xbf16>, %k: !tile.view<96x16xbf16>, %v: !tile.view<96x16xbf16>, %w: !tile.view<16x96xf32>, %o: !tile.view<16x16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %none = arith.constant dense<0.0> : tensor<16x32xf32>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %low = arith.constant dense<0xFF800000> : tensor<16xf32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %one = arith.constant dense<1.0> : tensor<16xf32>
    %acc = arith.constant dense<0.0> : tensor<16x16xf32>
    %Q = tile.load %q[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %m = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low) -> tensor<16xf32> {
      %K = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %W = tile.load %w[%c0 : 16, %j : 32] : !tile.view<16x96xf32>
      %Kt = tile.trans %K : tensor<32x16xbf16>
      %qk = tile.dot %Q, %Kt, %none : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %seen = arith.cmpf oge, %W, %none : tensor<16x32xf32>
      %s = arith.select %seen, %qk, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<16x32xf32>
      %n = arith.maximumf %a, %r : tensor<16xf32>
      scf.yield %n : tensor<16xf32>
    }
    %masked = arith.cmpf oeq, %m, %low : tensor<16xf32>
    %safe = arith.select %masked, %zero, %m : tensor<16xi1>, tensor<16xf32>
    %m1 = tile.expand_dims %safe axis 1 : tensor<16xf32>
    %mb = tile.broadcast %m1 : tensor<16x1xf32> -> tensor<16x32xf32>
    %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<16xf32> {
      %K = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %W = tile.load %w[%c0 : 16, %j : 32] : !tile.view<16x96xf32>
      %Kt = tile.trans %K : tensor<32x16xbf16>
      %qk = tile.dot %Q, %Kt, %none : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %seen = arith.cmpf oge, %W, %none : tensor<16x32xf32>
      %s = arith.select %seen, %qk, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %d = arith.subf %s, %mb : tensor<16x32xf32>
      %e = math.exp %d : tensor<16x32xf32>
      %r = tile.reduce add %e axis 1 : tensor<16x32xf32>
      %n = arith.addf %a, %r : tensor<16xf32>
      scf.yield %n : tensor<16xf32>
    }
    %empty = arith.cmpf oeq, %l, %zero : tensor<16xf32>
    %by = arith.select %empty, %one, %l : tensor<16xi1>, tensor<16xf32>
    %l1 = tile.expand_dims %by axis 1 : tensor<16xf32>
    %lb = tile.broadcast %l1 : tensor<16x1xf32> -> tensor<16x32xf32>
    %r = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %acc) -> tensor<16x16xf32> {
      %K = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %W = tile.load %w[%c0 : 16, %j : 32] : !tile.view<16x96xf32>
      %V = tile.load %v[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %Kt = tile.trans %K : tensor<32x16xbf16>
      %qk = tile.dot %Q, %Kt, %none : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %seen = arith.cmpf oge, %W, %none : tensor<16x32xf32>
      %s = arith.select %seen, %qk, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %d = arith.subf %s, %mb : tensor<16x32xf32>
      %e = math.exp %d : tensor<16x32xf32>
      %p = arith.divf %e, %lb : tensor<16x32xf32>
      %P = arith.truncf %p : tensor<16x32xf32> to tensor<16x32xbf16>
      %n = tile.dot %P, %V, %a : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
      scf.yield %n : tensor<16x16xf32>
    }
    tile.store %r, %o[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }
}
