// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-simplify-control))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // Each case is asked for in order; what is in an execute_region is in its place.
  // CHECK-LABEL: gpu.func @cases
  // CHECK-NOT: scf.index_switch
  // CHECK: tile.load
  // CHECK: %[[ZERO:.+]] = arith.constant 0 : index
  // CHECK: %[[IS0:.+]] = arith.cmpi eq, %{{.+}}, %[[ZERO]] : index
  // CHECK: scf.if %[[IS0]] -> (tensor<8xf32>) {
  // CHECK-NEXT: arith.mulf
  // CHECK: } else {
  // CHECK: %[[SEVEN:.+]] = arith.constant 7 : index
  // CHECK: %[[IS7:.+]] = arith.cmpi eq, %{{.+}}, %[[SEVEN]] : index
  // CHECK: %[[INNER:.+]] = scf.if %[[IS7]] -> (tensor<8xf32>) {
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.negf
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %{{.+}} : tensor<8xf32>
  // CHECK: scf.yield %[[INNER]] : tensor<8xf32>
  gpu.func @cases(%y: !tile.view<8xf32>, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %y[%c0 : 8] : !tile.view<8xf32>
    %b = scf.index_switch %i -> tensor<8xf32>
    case 0 {
      %m = arith.mulf %a, %a : tensor<8xf32>
      scf.yield %m : tensor<8xf32>
    }
    case 7 {
      %r = scf.execute_region -> tensor<8xf32> {
        %m = arith.addf %a, %a : tensor<8xf32>
        scf.yield %m : tensor<8xf32>
      }
      %n = arith.negf %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    default {
      scf.yield %a : tensor<8xf32>
    }
    tile.store %b, %y[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // A switch without results, and one in another's default that is all there is.
  // CHECK-LABEL: gpu.func @stores
  // CHECK-NOT: scf.index_switch
  // CHECK: scf.if
  // CHECK-NEXT: tile.store %{{.+}}, %{{.+}}[%[[FIRST:.+]] : 8]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: }
  gpu.func @stores(%y: !tile.view<24xf32>, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %a = arith.constant dense<1.0> : tensor<8xf32>
    scf.index_switch %i
    case 3 {
      tile.store %a, %y[%c0 : 8] : !tile.view<24xf32>
      scf.yield
    }
    default {
      tile.store %a, %y[%c8 : 8] : !tile.view<24xf32>
      scf.index_switch %i
      default {
        tile.store %a, %y[%c16 : 8] : !tile.view<24xf32>
        scf.yield
      }
      scf.yield
    }
    gpu.return
  }

  // One iteration after another.
  // CHECK-LABEL: gpu.func @parallel
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NOT: affine
  // CHECK: arith.muli
  // CHECK: tile.store
  // CHECK: scf.for
  // CHECK: tile.store
  // CHECK: scf.for %{{.+}} iter_args(%{{.+}}) -> (f32)
  // CHECK: arith.addf
  // CHECK: scf.for
  // CHECK: tile.store
  gpu.func @parallel(%y: !tile.view<64x8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = arith.constant dense<1.0> : tensor<8xf32>
    scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c4) step (%c1, %c1) {
      %row = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%i, %j)
      tile.store %a, %y[%row, %c0 : 8] : !tile.view<64x8xf32>
      scf.reduce
    }
    scf.forall (%i) in (%n) {
      tile.store %a, %y[%i, %c0 : 8] : !tile.view<64x8xf32>
    }
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      scf.reduce(%one : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %block = tensor.splat %sum : tensor<8xf32>
    affine.for %i = 0 to 4 {
      tile.store %block, %y[%i, %c0 : 8] : !tile.view<64x8xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @blocks(%c: i1) kernel {
    // expected-error @+1 {{'scf.execute_region' op has branches, expected a single basic block}}
    scf.execute_region {
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      scf.yield
    ^bb2:
      scf.yield
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @results(%n: index, %a: tensor<8xf32>) kernel {
    // expected-error @+1 {{'scf.forall' op has results; expected stores in it}}
    %r = scf.forall (%i) in (%n) shared_outs(%o = %a) -> tensor<8xf32> {
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %o into %o[0] [8] [1] : tensor<8xf32> into tensor<8xf32>
      }
    }
    gpu.return
  }
}
