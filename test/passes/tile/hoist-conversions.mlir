// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-share-conversions))' | FileCheck %s

// What does not change in a loop is exchanged in front of it.

#pairs = #tile.layout<register = [2:(1)], lane = [2:(2), 16:(4)], warp = [2:(64)]>
#apart = #tile.layout<register = [2:(2)], lane = [2:(1), 16:(4)], warp = [2:(64)]>
#rows = #tile.layout<register = [8:(0,1)], lane = [4:(0,8), 8:(1,0)], warp = [4:(8,0)]>
#columns = #tile.layout<register = [8:(1,0)], lane = [4:(8,0), 8:(0,1)], warp = [4:(0,8)]>

gpu.module @kernels {
  // In front of the outer loop, though a condition is around it; what the inner
  // loop loads is converted there, what the outer one loads in front of the inner.
  // CHECK-LABEL: gpu.func @words
  // CHECK: %[[A:.+]] = tile.load %{{.+}}[%c0 : 128]
  // CHECK-NEXT: tile.convert_layout %[[A]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: %[[B:.+]] = tile.load
  // CHECK-NEXT: tile.convert_layout %[[B]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: %[[C:.+]] = tile.load
  // CHECK-NEXT: tile.convert_layout %[[C]]
  // CHECK-NOT: tile.convert_layout
  gpu.func @words(%x: !tile.view<128xf32>, %y: !tile.view<8x128xf32>, %c: i1) kernel attributes {tile.schedule = #tile.schedule<warps = 2, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %a = tile.load %x[%c0 : 128] : !tile.view<128xf32> -> tensor<128xf32, #pairs>
    scf.for %i = %c0 to %c8 step %c1 {
      %b = tile.load %y[%i, %c0 : 128] : !tile.view<8x128xf32> -> tensor<128xf32, #pairs>
      scf.for %j = %c0 to %c8 step %c1 {
        scf.if %c {
          %d = tile.load %y[%j, %c0 : 128] : !tile.view<8x128xf32> -> tensor<128xf32, #pairs>
          %3 = tile.convert_layout %d : tensor<128xf32, #pairs> -> tensor<128xf32, #apart>
          %1 = tile.convert_layout %a : tensor<128xf32, #pairs> -> tensor<128xf32, #apart>
          %2 = tile.convert_layout %b : tensor<128xf32, #pairs> -> tensor<128xf32, #apart>
          %4 = arith.addf %1, %2 : tensor<128xf32, #apart>
          %5 = arith.addf %4, %3 : tensor<128xf32, #apart>
          tile.store %5, %y[%j, %c0 : 128] : tensor<128xf32, #apart>, !tile.view<8x128xf32>
        }
      }
    }
    gpu.return
  }

  // Matrices, one of them turned: stored behind one barrier, read in the loop. What
  // an iteration makes is converted there.
  // CHECK-LABEL: gpu.func @matrices
  // CHECK: %[[A:.+]] = tile.load
  // CHECK: %[[B:.+]] = tile.load
  // CHECK-DAG: %[[M:.+]] = tile.alloc_shared
  // CHECK-DAG: %[[N:.+]] = tile.alloc_shared
  // CHECK: tile.store_shared %[[A]], %[[M]]
  // CHECK-NEXT: tile.store_shared %[[B]], %[[N]]
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: scf.for
  // CHECK-DAG: tile.load_shared %[[M]]
  // CHECK-DAG: %[[T:.+]] = tile.load_shared %[[N]]
  // CHECK-DAG: tile.trans %[[T]]
  // CHECK-NOT: tile.store_shared
  // CHECK: %[[E:.+]] = arith.addf
  // CHECK: tile.convert_layout %[[E]]
  gpu.func @matrices(%x: !tile.view<32x32xf32>, %y: !tile.view<8x32x32xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %a = tile.load %x[%c0 : 32, %c0 : 32] : !tile.view<32x32xf32> -> tensor<32x32xf32, #rows>
    %b = tile.load %x[%c0 : 32, %c0 : 32] : !tile.view<32x32xf32> -> tensor<32x32xf32, #columns>
    scf.for %i = %c0 to %c8 step %c1 {
      %1 = tile.convert_layout %a : tensor<32x32xf32, #rows> -> tensor<32x32xf32, #columns>
      %t = tile.trans %b : tensor<32x32xf32, #columns> -> tensor<32x32xf32, #rows>
      %2 = tile.convert_layout %t : tensor<32x32xf32, #rows> -> tensor<32x32xf32, #columns>
      %3 = arith.addf %1, %2 : tensor<32x32xf32, #columns>
      %4 = tile.convert_layout %3 : tensor<32x32xf32, #columns> -> tensor<32x32xf32, #rows>
      tile.store %4, %y[%i, %c0 : 32, %c0 : 32] : tensor<32x32xf32, #rows>, !tile.view<8x32x32xf32>
    }
    gpu.return
  }
}
