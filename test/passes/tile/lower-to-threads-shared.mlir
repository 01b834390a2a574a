// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-lower-to-threads))' | FileCheck %s

// Who has which bytes of shared memory, and when.
#l = #tile.layout<register = [4:(0,1)], lane = [4:(0,4), 8:(1,0)], warp = [1:(0,0)]>
#s = #tile.shared<swizzle = 64>
#two = #tile.layout<register = [4:(0,1), 5:(0,16)], lane = [4:(0,4), 2:(1,0), 4:(0,0)], warp = []>
#four = #tile.layout<register = [4:(0,1)], lane = [4:(0,4), 8:(1,0)], warp = [4:(0,16)]>
#s128 = #tile.shared<swizzle = 128>
#s32 = #tile.shared<swizzle = 32>
gpu.module @kernels {
  // The second block comes when the first is not needed any more, and has its
  // memory behind a barrier; the third is needed with the second.
  // CHECK-LABEL: gpu.func @one_after_the_other
  // CHECK-SAME: tile.shared_bytes = 1024
  // CHECK: llvm.getelementptr %[[BASE:.*]][%{{.*}}] : (!llvm.ptr<3>, i32)
  // CHECK: llvm.store
  // CHECK-NOT: gpu.barrier
  // CHECK: llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: %[[THIRD:.*]] = llvm.getelementptr %[[BASE]][512]
  // CHECK: gpu.barrier
  // CHECK: llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<3>, i32)
  // CHECK-NOT: gpu.barrier
  // CHECK: llvm.getelementptr %[[THIRD]]
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @one_after_the_other(%x: !tile.view<8x16xf32>, %y: !tile.view<8x16xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 8, %c0 : 16] : !tile.view<8x16xf32> -> tensor<8x16xf32, #l>
    %1 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
    tile.store_shared %a, %1 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    %b = tile.load_shared %1 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
    %2 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
    %3 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
    tile.store_shared %b, %2 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    tile.store_shared %b, %3 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    %c = tile.load_shared %2 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
    %d = tile.load_shared %3 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
    %e = arith.addf %c, %d : tensor<8x16xf32, #l>
    tile.store %e, %y[%c0 : 8, %c0 : 16] : tensor<8x16xf32, #l>, !tile.view<8x16xf32>
    gpu.return
  }

  // A part's barrier is a named one of its warps. Others may still read what the
  // next block's place had, so it gets a barrier of all.
  // CHECK-LABEL: gpu.func @parts
  // CHECK: llvm.store
  // CHECK: %[[PART:.*]] = arith.remui %{{.*}}, %c2_i32
  // CHECK: %[[ID:.*]] = arith.addi %[[PART]], %c1_i32
  // CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %c64_i32
  // CHECK: llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: gpu.barrier
  // CHECK: llvm.store
  // CHECK: nvvm.barrier
  gpu.func @parts(%x: !tile.view<8x64xf32>, %y: !tile.view<8x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 8, %c0 : 64] : !tile.view<8x64xf32> -> tensor<8x64xf32, #four>
    %1 = tile.alloc_shared : !tile.shared<8x64xf32, #s128>
    tile.store_shared %a, %1 : tensor<8x64xf32, #four>, !tile.shared<8x64xf32, #s128>
    tile.barrier parts 2
    %b = tile.load_shared %1 : !tile.shared<8x64xf32, #s128> -> tensor<8x64xf32, #four>
    %2 = tile.alloc_shared : !tile.shared<8x64xf32, #s128>
    tile.store_shared %b, %2 : tensor<8x64xf32, #four>, !tile.shared<8x64xf32, #s128>
    tile.barrier parts 2
    %c = tile.load_shared %2 : !tile.shared<8x64xf32, #s128> -> tensor<8x64xf32, #four>
    tile.store %c, %y[%c0 : 8, %c0 : 64] : tensor<8x64xf32, #four>, !tile.view<8x64xf32>
    gpu.return
  }

  // An allocation in a loop is another one in each iteration: a barrier keeps
  // its first write from the last iteration's reads. One that is written in
  // front of the loop is needed in all of it.
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK-SAME: tile.shared_bytes = 1024
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: llvm.store
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @in_a_loop(%x: !tile.view<8x16xf32>, %y: !tile.view<8x16xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = tile.load %x[%c0 : 8, %c0 : 16] : !tile.view<8x16xf32> -> tensor<8x16xf32, #l>
    %1 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
    tile.store_shared %a, %1 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %a) -> tensor<8x16xf32, #l> {
      %2 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
      tile.store_shared %s, %2 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
      %b = tile.load_shared %1 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
      %c = tile.load_shared %2 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
      %d = arith.addf %b, %c : tensor<8x16xf32, #l>
      scf.yield %d : tensor<8x16xf32, #l>
    }
    tile.store %sum, %y[%c0 : 8, %c0 : 16] : tensor<8x16xf32, #l>, !tile.view<8x16xf32>
    gpu.return
  }

  // Panels of few rows: each starts at a multiple of 128 bytes, the last of
  // five ends behind 4 * 128 + 2 * 32.
  // CHECK-LABEL: gpu.func @panels_of_two_rows
  // CHECK-SAME: tile.shared_bytes = 576
  gpu.func @panels_of_two_rows(%x: !tile.view<2x80xbf16>, %y: !tile.view<2x80xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 2, %c0 : 80] : !tile.view<2x80xbf16> -> tensor<2x80xbf16, #two>
    %1 = tile.alloc_shared : !tile.shared<2x80xbf16, #s32>
    tile.store_shared %a, %1 : tensor<2x80xbf16, #two>, !tile.shared<2x80xbf16, #s32>
    tile.barrier
    %b = tile.load_shared %1 : !tile.shared<2x80xbf16, #s32> -> tensor<2x80xbf16, #two>
    tile.store %b, %y[%c0 : 2, %c0 : 80] : tensor<2x80xbf16, #two>, !tile.view<2x80xbf16>
    gpu.return
  }

  // What is loaded before a store is what was there before, wherever it is needed;
  // what nothing is stored behind is loaded where it is needed.
  // CHECK-LABEL: gpu.func @loads_and_stores
  // CHECK: llvm.store
  // CHECK: %[[OLD:.*]] = llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: llvm.store {{.*}} !llvm.ptr<3>
  // CHECK: llvm.extractelement %[[OLD]]
  // CHECK-COUNT-4: arith.negf
  // CHECK-NEXT: llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: gpu.return
  gpu.func @loads_and_stores(%x: !tile.view<8x16xf32>, %y: !tile.view<8x16xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 8, %c0 : 16] : !tile.view<8x16xf32> -> tensor<8x16xf32, #l>
    %1 = tile.alloc_shared : !tile.shared<8x16xf32, #s>
    tile.store_shared %a, %1 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    %old = tile.load_shared %1 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
    tile.store_shared %a, %1 : tensor<8x16xf32, #l>, !tile.shared<8x16xf32, #s>
    %new = tile.load_shared %1 : !tile.shared<8x16xf32, #s> -> tensor<8x16xf32, #l>
    %n = arith.negf %old : tensor<8x16xf32, #l>
    %d = arith.addf %n, %new : tensor<8x16xf32, #l>
    tile.store %d, %y[%c0 : 8, %c0 : 16] : tensor<8x16xf32, #l>, !tile.view<8x16xf32>
    gpu.return
  }

  // Who needs it may be in another block.
  // CHECK-LABEL: gpu.func @needed_in_another_block
  // CHECK: llvm.load
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: cf.br
  // CHECK: arith.negf
  gpu.func @needed_in_another_block(%x: !tile.view<64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    scf.execute_region {
      %p = llvm.mlir.zero : !llvm.ptr<3>
      %a = llvm.load %p : !llvm.ptr<3> -> f32
      gpu.barrier
      cf.br ^next
    ^next:
      %b = arith.negf %a : f32
      scf.yield
    }
    gpu.return
  }
}
