// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-fuse-loops,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t
// REQUIRES: python-packages
//
// Other chains than softmax's.

gpu.module @kernels {
  // A sum of exp(x - lse) y, where lse = m + log l: the logarithm is a factor 1/l,
  // and m is as in the loop before.
  // CHECK-LABEL: gpu.func @logarithm
  // CHECK: %[[R:.*]]:3 = scf.for
  // CHECK-NOT: math.log
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: arith.divf %[[R]]#2, %[[R]]#1
  gpu.func @logarithm(%x: !tile.view<8x100xf32>, %y: !tile.view<8x100xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
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
    %log = math.log %l : tensor<8xf32>
    %lse = arith.addf %m, %log : tensor<8xf32>
    %lse1 = tile.expand_dims %lse axis 1 : tensor<8xf32>
    %lseb = tile.broadcast %lse1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %s = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %w = tile.load %y[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %d = arith.subf %b, %lseb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %p = arith.mulf %e, %w : tensor<8x32xf32>
      %r = tile.reduce add %p axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %s, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // The largest is of scaled numbers and of a sink beside them; the sink's own term
  // is where the sum begins, and is added after the loop.
  // CHECK-LABEL: gpu.func @sink
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} %[[ZERO:.*]])
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: arith.addf %{{.*}}, %[[R]]#1
  gpu.func @sink(%x: !tile.view<8x100xf32>, %sinks: !tile.view<8xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %half = arith.constant dense<0.5> : tensor<8xf32>
    %halves = arith.constant dense<0.5> : tensor<8x32xf32>
    %m = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %low) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %r = tile.reduce max %b axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %own = tile.load %sinks[%c0 : 8] : !tile.view<8xf32>
    %scaled = arith.mulf %m, %half : tensor<8xf32>
    %top = arith.maximumf %scaled, %own : tensor<8xf32>
    %t1 = tile.expand_dims %top axis 1 : tensor<8xf32>
    %tb = tile.broadcast %t1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %less = arith.subf %own, %top : tensor<8xf32>
    %first = math.exp2 %less : tensor<8xf32>
    %l = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %first) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] pad = neg_inf : !tile.view<8x100xf32>
      %s = arith.mulf %b, %halves : tensor<8x32xf32>
      %d = arith.subf %s, %tb : tensor<8x32xf32>
      %e = math.exp2 %d : tensor<8x32xf32>
      %r = tile.reduce add %e axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %l, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Minima: exp(min - x), of one long row.
  // CHECK-LABEL: gpu.func @minimum
  // CHECK: %[[R:.*]]:2 = scf.for
  // CHECK: %[[M1:.*]] = arith.minimumf
  // CHECK: arith.subf %{{.*}}, %[[M:.*]] : f32
  // CHECK: math.exp %{{.*}} : f32
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: arith.divf
  gpu.func @minimum(%x: !tile.view<1024xf32>, %z: !tile.view<1xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c1024 = arith.constant 1024 : index
    %high = arith.constant 0x7F800000 : f32
    %zero = arith.constant 0.0 : f32
    %m = scf.for %j = %c0 to %c1024 step %c128 iter_args(%a = %high) -> f32 {
      %b = tile.load %x[%j : 128] : !tile.view<1024xf32>
      %r = tile.reduce min %b axis 0 : tensor<128xf32>
      %n = arith.minimumf %a, %r : f32
      scf.yield %n : f32
    }
    %mb = tensor.splat %m : tensor<128xf32>
    %two = arith.constant 2.0 : f32
    %by = arith.addf %m, %two : f32
    %byb = tensor.splat %by : tensor<128xf32>
    %l = scf.for %j = %c0 to %c1024 step %c128 iter_args(%a = %zero) -> f32 {
      %b = tile.load %x[%j : 128] : !tile.view<1024xf32>
      %d = arith.subf %mb, %b : tensor<128xf32>
      %e = math.exp %d : tensor<128xf32>
      %p = arith.divf %e, %byb : tensor<128xf32>
      %r = tile.reduce add %p axis 0 : tensor<128xf32>
      %n = arith.addf %a, %r : f32
      scf.yield %n : f32
    }
    tile.store %l, %z[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // A product of normalised rows: 1/sqrt(sum of squares) leaves the loop.
  // CHECK-LABEL: gpu.func @normalised
  // CHECK: %[[R:.*]]:2 = scf.for
  // CHECK: tile.dot
  // CHECK: scf.yield
  // CHECK-NOT: scf.for
  // CHECK: math.rsqrt
  // CHECK: arith.mulf %[[R]]#1
  gpu.func @normalised(%x: !tile.view<16x96xbf16>, %w: !tile.view<96x16xbf16>, %z: !tile.view<16x16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %acc = arith.constant dense<0.0> : tensor<16x16xf32>
    %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<16xf32> {
      %b = tile.load %x[%c0 : 16, %j : 32] : !tile.view<16x96xbf16>
      %f = arith.extf %b : tensor<16x32xbf16> to tensor<16x32xf32>
      %s = arith.mulf %f, %f : tensor<16x32xf32>
      %r = tile.reduce add %s axis 1 : tensor<16x32xf32>
      %n = arith.addf %a, %r : tensor<16xf32>
      scf.yield %n : tensor<16xf32>
    }
    %root = math.rsqrt %l : tensor<16xf32>
    %root1 = tile.expand_dims %root axis 1 : tensor<16xf32>
    %rootb = tile.broadcast %root1 : tensor<16x1xf32> -> tensor<16x32xf32>
    %y = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %acc) -> tensor<16x16xf32> {
      %b = tile.load %x[%c0 : 16, %j : 32] : !tile.view<16x96xbf16>
      %f = arith.extf %b : tensor<16x32xbf16> to tensor<16x32xf32>
      %s = arith.mulf %f, %rootb : tensor<16x32xf32>
      %t = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %v = tile.load %w[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %n = tile.dot %t, %v, %a : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
      scf.yield %n : tensor<16x16xf32>
    }
    tile.store %y, %z[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }
}
