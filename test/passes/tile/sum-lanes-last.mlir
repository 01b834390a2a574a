// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-sum-lanes-last))' | FileCheck %s
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-sum-lanes-last))' -o %t.mlir
// RUN: act-run kernel %s --entry same --cache-dir none --arg out:f32[32]:%t.1.npy > /dev/null
// RUN: act-run kernel %t.mlir --entry same --cache-dir none --arg out:f32[32]:%t.2.npy > /dev/null
// RUN: cmp %t.1.npy %t.2.npy
// RUN: act-run kernel %s --entry lanes --cache-dir none --arg out:f32[32]:%t.3.npy > /dev/null
// RUN: act-run kernel %t.mlir --entry lanes --cache-dir none --arg out:f32[32]:%t.4.npy > /dev/null
// RUN: cmp %t.3.npy %t.4.npy
// RUN: act-run kernel %s --entry goes_on --cache-dir none --arg out:f32[32]:%t.5.npy > /dev/null
// RUN: act-run kernel %t.mlir --entry goes_on --cache-dir none --arg out:f32[32]:%t.6.npy > /dev/null
// RUN: cmp %t.5.npy %t.6.npy
//
// The sums are of small whole numbers, so they are the same in any order.

gpu.module @kernels {
  // The maximum grows by 1 and is exchanged in every iteration, the sum's factor
  // is made of it, and the sum is exchanged behind the loop.
  // CHECK-LABEL: gpu.func @same
  // CHECK: scf.for
  // CHECK-COUNT-2: nvvm.shfl.sync
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: scf.yield
  // CHECK: }
  // CHECK-COUNT-2: nvvm.shfl.sync
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: llvm.store
  gpu.func @same(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %clamp = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %lane = gpu.thread_id x
    %l64 = arith.index_cast %lane : index to i64
    %l32 = arith.trunci %l64 : i64 to i32
    %own = arith.sitofp %l32 : i32 to f32
    %r:2 = scf.for %j = %c0 to %c4 step %c1 iter_args(%m = %zero, %l = %zero) -> (f32, f32) {
      %j64 = arith.index_cast %j : index to i64
      %j32 = arith.trunci %j64 : i64 to i32
      %grows = arith.sitofp %j32 : i32 to f32
      %g = arith.addf %own, %grows : f32
      %m1 = nvvm.shfl.sync bfly %all, %g, %one, %clamp : f32 -> f32
      %n1 = arith.maximumf %g, %m1 : f32
      %m2 = nvvm.shfl.sync bfly %all, %n1, %two, %clamp : f32 -> f32
      %n2 = arith.maximumf %n1, %m2 : f32
      %n = arith.maximumf %m, %n2 : f32
      %d = arith.subf %m, %n : f32
      %c = math.exp2 %d : f32
      %lc = arith.mulf %l, %c : f32
      %w1 = arith.bitcast %own : f32 to i32
      %s1 = nvvm.shfl.sync bfly %all, %w1, %one, %clamp : i32 -> i32
      %v1 = arith.bitcast %s1 : i32 to f32
      %x1 = arith.addf %own, %v1 : f32
      %s2 = nvvm.shfl.sync bfly %all, %x1, %two, %clamp : f32 -> f32
      %x2 = arith.addf %x1, %s2 : f32
      %next = arith.addf %lc, %x2 : f32
      scf.yield %n, %next : f32, f32
    }
    %at = llvm.getelementptr %out[%l64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %r#1, %at : f32, !llvm.ptr<1>
    gpu.return
  }

  // The factor is another one in each lane.
  // CHECK-LABEL: gpu.func @lanes
  // CHECK: scf.for
  // CHECK: nvvm.shfl.sync
  // CHECK: scf.yield
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: llvm.store
  gpu.func @lanes(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %clamp = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %lane = gpu.thread_id x
    %l64 = arith.index_cast %lane : index to i64
    %l32 = arith.trunci %l64 : i64 to i32
    %own = arith.sitofp %l32 : i32 to f32
    %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%l = %zero) -> f32 {
      %lc = arith.mulf %l, %own : f32
      %s1 = nvvm.shfl.sync bfly %all, %own, %one, %clamp : f32 -> f32
      %x1 = arith.addf %own, %s1 : f32
      %next = arith.addf %lc, %x1 : f32
      scf.yield %next : f32
    }
    %at = llvm.getelementptr %out[%l64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %r, %at : f32, !llvm.ptr<1>
    gpu.return
  }

  // A loop, a second one, and a block of exponentials: the sum is exchanged once,
  // behind all of them.
  // CHECK-LABEL: gpu.func @goes_on
  // CHECK: %[[A:.*]] = scf.for
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: %[[B:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: %[[C:.*]] = arith.mulf %[[B]], %
  // CHECK: arith.addf %[[C]], %
  // CHECK: nvvm.shfl.sync
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: llvm.store
  gpu.func @goes_on(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %clamp = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %lane = gpu.thread_id x
    %l64 = arith.index_cast %lane : index to i64
    %l32 = arith.trunci %l64 : i64 to i32
    %few = arith.andi %l32, %three : i32
    %number = arith.sitofp %few : i32 to f32
    %own = math.exp2 %number : f32
    %a = scf.for %j = %c0 to %c3 step %c1 iter_args(%l = %zero) -> f32 {
      %lc = arith.mulf %l, %half : f32
      %s1 = nvvm.shfl.sync bfly %all, %own, %one, %clamp : f32 -> f32
      %x1 = arith.addf %own, %s1 : f32
      %next = arith.addf %lc, %x1 : f32
      scf.yield %next : f32
    }
    %b = scf.for %j = %c0 to %c3 step %c1 iter_args(%l = %a) -> f32 {
      %lc = arith.mulf %l, %half : f32
      %s1 = nvvm.shfl.sync bfly %all, %own, %one, %clamp : f32 -> f32
      %x1 = arith.addf %own, %s1 : f32
      %next = arith.addf %lc, %x1 : f32
      scf.yield %next : f32
    }
    %bc = arith.mulf %b, %half : f32
    %s2 = nvvm.shfl.sync bfly %all, %own, %one, %clamp : f32 -> f32
    %x2 = arith.addf %own, %s2 : f32
    %c = arith.addf %bc, %x2 : f32
    %at = llvm.getelementptr %out[%l64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %c, %at : f32, !llvm.ptr<1>
    gpu.return
  }

  // What is no exponential may be another sum.
  // CHECK-LABEL: gpu.func @others
  // CHECK-COUNT-2: nvvm.shfl.sync
  // CHECK: llvm.store
  gpu.func @others(%out: !llvm.ptr<1>, %p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %clamp = arith.constant 31 : i32
    %half = arith.constant 0.5 : f32
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %s1 = nvvm.shfl.sync bfly %all, %x, %one, %clamp : f32 -> f32
    %x1 = arith.addf %x, %s1 : f32
    %y = arith.mulf %x, %x : f32
    %s2 = nvvm.shfl.sync bfly %all, %y, %one, %clamp : f32 -> f32
    %y1 = arith.addf %y, %s2 : f32
    %c = arith.mulf %x1, %half : f32
    %z = arith.addf %c, %y1 : f32
    llvm.store %z, %out : f32, !llvm.ptr<1>
    gpu.return
  }

  // A loop that may be empty: the other way leaves what was summed before.
  // CHECK-LABEL: gpu.func @maybe
  // CHECK: %[[EITHER:.*]] = scf.if
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: } else {
  // CHECK: }
  // CHECK: nvvm.shfl.sync {{.*}}, %[[EITHER]],
  // CHECK: llvm.store
  gpu.func @maybe(%out: !llvm.ptr<1>, %x: f32, %some: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %all = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %clamp = arith.constant 31 : i32
    %zero = arith.constant 0.0 : f32
    %sum = scf.if %some -> f32 {
      %own = scf.for %i = %c0 to %c4 step %c1 iter_args(%l = %zero) -> f32 {
        %s = nvvm.shfl.sync bfly %all, %x, %one, %clamp : f32 -> f32
        %both = arith.addf %x, %s : f32
        %next = arith.addf %l, %both : f32
        scf.yield %next : f32
      }
      scf.yield %own : f32
    } else {
      scf.yield %zero : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
    gpu.return
  }
}
