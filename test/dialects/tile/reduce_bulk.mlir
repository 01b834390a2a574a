// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: gpu.func @slots
// CHECK: } store {
// CHECK: tile.reduce_bulk %{{.*}}[%arg2] to %arg0[%arg1 : 8, %c0 : 16, %c0 : 64] : !tile.shared<2x8x1024xf32>, !tile.view<512x16x64xf32>
// CHECK: tile.wait_stores complete %{{.*}} : !tile.shared<2x8x1024xf32>
// CHECK: gpu.func @run
// CHECK: } store {
gpu.module @kernels {
  gpu.func @slots(%v: !tile.view<512x16x64xf32>, %i: index, %slot: index) kernel attributes {tile.schedule = #tile.schedule<groups = 1, roles = {copy = 1, store = 1}>} {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<2x8x1024xf32>
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    } store {
      tile.reduce_bulk %s[%slot] to %v[%i : 8, %c0 : 16, %c0 : 64] : !tile.shared<2x8x1024xf32>, !tile.view<512x16x64xf32>
      tile.wait_stores complete %s : !tile.shared<2x8x1024xf32>
    }
    gpu.return
  }
  // One run; and the order of memory, which need not be that of the dimensions.
  gpu.func @run(%p: !tile.ptr<f32>, %i: index) kernel attributes {tile.schedule = #tile.schedule<groups = 1, roles = {copy = 1, store = 1}>} {
    %c0 = arith.constant 0 : index
    %v = tile.view %p sizes [8, 4, 2] strides [8, 1, 4] : !tile.ptr<f32> -> !tile.view<8x4x2xf32, strides = [8, 1, 4]>
    %s = tile.alloc_shared : !tile.shared<1x64xf32>
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    } store {
      tile.reduce_bulk %s to %v[%c0 : 8, %c0 : 4, %c0 : 2] : !tile.shared<1x64xf32>, !tile.view<8x4x2xf32, strides = [8, 1, 4]>
      tile.wait_stores %s : !tile.shared<1x64xf32>
    }
    gpu.return
  }
}
