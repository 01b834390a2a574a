// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-share-conversions,tile-lower-to-threads))' | FileCheck %s

// How values get to the threads that want them.

#pairs = #tile.layout<register = [2:(1)], lane = [2:(2), 16:(4)], warp = [2:(64)]>
#apart = #tile.layout<register = [2:(2)], lane = [2:(1), 16:(4)], warp = [2:(64)]>
#warps = #tile.layout<register = [2:(1)], lane = [32:(4)], warp = [2:(2)]>
#one = #tile.layout<register = [], lane = [32:(1)], warp = []>
#all = #tile.layout<register = [32:(1)], lane = [32:(0)], warp = []>
#copies = #tile.layout<register = [2:(0,0), 2:(0,1)], lane = [16:(0,2), 2:(1,0)], warp = []>
#rows = #tile.layout<register = [2:(0,1)], lane = [2:(0,2), 16:(0,4)], warp = [2:(1,0)]>
#columns = #tile.layout<register = [2:(0,2)], lane = [2:(0,1), 16:(0,4)], warp = [2:(1,0)]>

gpu.module @kernels {
  // Lanes 0 and 1 each keep a register and exchange the other: selects by the
  // lane's lowest bit and one shuffle, no shared memory.
  // CHECK-LABEL: gpu.func @neighbours
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK: %[[KEPT:.+]] = arith.select
  // CHECK: %[[GIVEN:.+]] = arith.select
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-COUNT-2: arith.select
  // CHECK-NOT: shfl
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @neighbours(%x: !tile.view<128xf32>, %y: !tile.view<128xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 2, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 128] : !tile.view<128xf32> -> tensor<128xf32, #pairs>
    %b = tile.convert_layout %a : tensor<128xf32, #pairs> -> tensor<128xf32, #apart>
    tile.store %b, %y[%c0 : 128] : tensor<128xf32, #apart>, !tile.view<128xf32>
    gpu.return
  }

  // A value of 64 bits is two shuffles.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  // CHECK-NOT: shfl
  // CHECK: gpu.return
  gpu.func @wide(%x: !tile.view<128xf64>, %y: !tile.view<128xf64>) kernel attributes {tile.schedule = #tile.schedule<warps = 2, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 128] : !tile.view<128xf64> -> tensor<128xf64, #pairs>
    %b = tile.convert_layout %a : tensor<128xf64, #pairs> -> tensor<128xf64, #apart>
    tile.store %b, %y[%c0 : 128] : tensor<128xf64, #apart>, !tile.view<128xf64>
    gpu.return
  }

  // Each lane asks all, one after the other, and selects nothing.
  // CHECK-LABEL: gpu.func @gather
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK-NOT: arith.select
  // CHECK-COUNT-32: nvvm.shfl.sync idx
  // CHECK-NOT: shfl
  // CHECK-NOT: arith.select
  // CHECK: gpu.return
  gpu.func @gather(%x: !tile.view<32xi32>, %y: !tile.view<32xi32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 32] : !tile.view<32xi32> -> tensor<32xi32, #one>
    %b = tile.convert_layout %a : tensor<32xi32, #one> -> tensor<32xi32, #all>
    tile.store %b, %y[%c0 : 32] : tensor<32xi32, #all>, !tile.view<32xi32>
    gpu.return
  }

  // What another warp wants lies in shared memory for a moment.
  // CHECK-LABEL: gpu.func @warps
  // CHECK-SAME: tile.shared_bytes = 512
  // CHECK-NOT: shfl
  // CHECK: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
  // CHECK: gpu.barrier
  // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
  // CHECK: gpu.return
  gpu.func @warps(%x: !tile.view<128xf32>, %y: !tile.view<128xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 2, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 128] : !tile.view<128xf32> -> tensor<128xf32, #pairs>
    %b = tile.convert_layout %a : tensor<128xf32, #pairs> -> tensor<128xf32, #warps>
    tile.store %b, %y[%c0 : 128] : tensor<128xf32, #warps>, !tile.view<128xf32>
    gpu.return
  }

  // Of registers that hold the same, one is stored to shared memory, and what
  // is loaded is all of them.
  // CHECK-LABEL: gpu.func @copies
  // CHECK-SAME: tile.shared_bytes = 256
  // CHECK-COUNT-1: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
  // CHECK-NOT: !llvm.ptr<3>
  // CHECK: gpu.barrier
  // CHECK-COUNT-1: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xf32>
  // CHECK-NOT: llvm.load
  // CHECK: gpu.return
  gpu.func @copies(%x: !tile.view<2x32xf32>, %y: !tile.view<2x32xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 2, %c0 : 32] : !tile.view<2x32xf32> -> tensor<2x32xf32, #copies>
    %1 = tile.alloc_shared : !tile.shared<2x32xf32, #tile.shared<swizzle = 128>>
    tile.store_shared %a, %1 : tensor<2x32xf32, #copies>, !tile.shared<2x32xf32, #tile.shared<swizzle = 128>>
    tile.barrier
    %b = tile.load_shared %1 : !tile.shared<2x32xf32, #tile.shared<swizzle = 128>> -> tensor<2x32xf32, #copies>
    tile.store %b, %y[%c0 : 2, %c0 : 32] : tensor<2x32xf32, #copies>, !tile.view<2x32xf32>
    gpu.return
  }

  // Two conversions that lanes can do share no memory.
  // CHECK-LABEL: gpu.func @alone
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK-NOT: barrier
  // CHECK: gpu.return
  gpu.func @alone(%x: !tile.view<2x64xf32>, %y: !tile.view<2x64xf32>, %z: !tile.view<2x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 2, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 2, %c0 : 64] : !tile.view<2x64xf32> -> tensor<2x64xf32, #rows>
    %b = arith.addf %a, %a : tensor<2x64xf32, #rows>
    %c = arith.mulf %a, %b : tensor<2x64xf32, #rows>
    %d = tile.convert_layout %b : tensor<2x64xf32, #rows> -> tensor<2x64xf32, #columns>
    %e = tile.convert_layout %c : tensor<2x64xf32, #rows> -> tensor<2x64xf32, #columns>
    tile.store %d, %z[%c0 : 2, %c0 : 64] : tensor<2x64xf32, #columns>, !tile.view<2x64xf32>
    tile.store %e, %y[%c0 : 2, %c0 : 64] : tensor<2x64xf32, #columns>, !tile.view<2x64xf32>
    gpu.return
  }
}
