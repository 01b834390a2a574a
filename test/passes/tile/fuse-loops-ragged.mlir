// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-fuse-loops,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t ragged hidden
// REQUIRES: python-packages

gpu.module @kernels {
  // Behind the last column the view gives 0, and exp(0 - m) may be infinite: the
  // select that takes 0 for it stays where it is.
  // CHECK-LABEL: gpu.func @ragged
  // CHECK: scf.for
  // CHECK: %[[E:.*]] = math.exp %{{.*}} : tensor<8x32xf32>
  // CHECK: %[[K:.*]] = arith.select %{{.*}}, %[[E]], %{{.*}} : tensor<8x32xi1>
  // CHECK: tile.reduce add %[[K]]
  // CHECK-NOT: scf.for
  // CHECK: tile.store
  gpu.func @ragged(%x: !tile.view<8x100xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %lows = arith.constant dense<0xFF800000> : tensor<8x32xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
    %end = arith.constant dense<100> : tensor<32xi32>
    %columns = tile.iota 0 to 32
    %m = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %low) -> tensor<8xf32> {
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<32xi32>
      %at = arith.addi %columns, %js : tensor<32xi32>
      %is = arith.cmpi slt, %at, %end : tensor<32xi32>
      %i1 = tile.expand_dims %is axis 0 : tensor<32xi1>
      %inside = tile.broadcast %i1 : tensor<1x32xi1> -> tensor<8x32xi1>
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %s = arith.select %inside, %b, %lows : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %m1 = tile.expand_dims %m axis 1 : tensor<8xf32>
    %mb = tile.broadcast %m1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %l = scf.for %j = %c0 to %c100 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<32xi32>
      %at = arith.addi %columns, %js : tensor<32xi32>
      %is = arith.cmpi slt, %at, %end : tensor<32xi32>
      %i1 = tile.expand_dims %is axis 0 : tensor<32xi1>
      %inside = tile.broadcast %i1 : tensor<1x32xi1> -> tensor<8x32xi1>
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %d = arith.subf %b, %mb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %p = arith.select %inside, %e, %zeros : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce add %p axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %l, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Without it the terms behind the last column would count.
  // CHECK-LABEL: gpu.func @unhidden
  // CHECK-COUNT-2: scf.for
  gpu.func @unhidden(%x: !tile.view<8x100xf32>, %h: !tile.view<8x100xf32>, %z: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %low = arith.constant dense<0xFF800000> : tensor<8xf32>
    %lows = arith.constant dense<0xFF800000> : tensor<8x32xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
    %m = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %c = tile.load %h[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %inside = arith.cmpf oge, %c, %zeros : tensor<8x32xf32>
      %s = arith.select %inside, %b, %lows : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %m1 = tile.expand_dims %m axis 1 : tensor<8xf32>
    %mb = tile.broadcast %m1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %c = tile.load %h[%c0 : 8, %j : 32] : !tile.view<8x100xf32>
      %d = arith.subf %b, %mb : tensor<8x32xf32>
      %e = math.exp %d : tensor<8x32xf32>
      %other = arith.cmpf ogt, %c, %zeros : tensor<8x32xf32>
      %p = arith.select %other, %e, %zeros : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce add %p axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %l, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Rows of which all is hidden have the sum 0, not 0 / 0.
  // CHECK-LABEL: gpu.func @hidden
  // CHECK: %[[R:.*]]:2 = scf.for
  // CHECK-NOT: scf.for
  // CHECK: %[[Q:.*]] = arith.divf %[[R]]#1, %[[R]]#0
  // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[R]]#1,
  // CHECK: arith.select %[[NONE]], %[[R]]#1, %[[Q]]
  gpu.func @hidden(%x: !tile.view<8x96xf32>, %h: !tile.view<8x96xf32>, %z: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
    %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %c = tile.load %h[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %seen = arith.cmpf oge, %c, %zeros : tensor<8x32xf32>
      %s = arith.select %seen, %b, %zeros : tensor<8x32xi1>, tensor<8x32xf32>
      %q = arith.mulf %s, %s : tensor<8x32xf32>
      %r = tile.reduce add %q axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %l1 = tile.expand_dims %l axis 1 : tensor<8xf32>
    %lb = tile.broadcast %l1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %t = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> tensor<8xf32> {
      %b = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %c = tile.load %h[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %seen = arith.cmpf oge, %c, %zeros : tensor<8x32xf32>
      %p = arith.divf %b, %lb : tensor<8x32xf32>
      %s = arith.select %seen, %p, %zeros : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce add %s axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %t, %z[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }
}
