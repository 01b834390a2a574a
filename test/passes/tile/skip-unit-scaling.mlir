// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-skip-unit-scaling))' | FileCheck %s
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-skip-unit-scaling))' -o %t.mlir
// RUN: act-run kernel %s --entry sixteen --cache-dir none --arg out:f32[32]:%t.npy > /dev/null
// RUN: act-run kernel %t.mlir --entry sixteen --cache-dir none --arg out:f32[32]:%t.skipped.npy > %t.txt
// RUN: cmp %t.npy %t.skipped.npy
//
// In one lane of 32 the power is not 1, in the first iteration: the branch is taken
// there and only there.
// RUN: FileCheck %s --check-prefix=COUNT < %t.txt
// COUNT: float {{ *}}31{{$}}

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @sixteen
  // CHECK: %[[C:.*]] = math.exp2
  // CHECK: %[[OTHER:.*]] = arith.cmpf une, %[[C]],
  // CHECK: %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %[[OTHER]]
  // CHECK: scf.if %[[ANY]]
  // CHECK-COUNT-16: arith.mulf
  // CHECK: else
  // CHECK: }
  // CHECK: arith.mulf
  gpu.func @sixteen(%out: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %seven = arith.constant 7 : index
    %lane = gpu.thread_id x
    %special = arith.cmpi eq, %lane, %seven : index
    %r:16 = scf.for %j = %c0 to %c4 step %c1 iter_args(%s0 = %one, %s1 = %one, %s2 = %one, %s3 = %one, %s4 = %one, %s5 = %one, %s6 = %one, %s7 = %one, %s8 = %one, %s9 = %one, %s10 = %one, %s11 = %one, %s12 = %one, %s13 = %one, %s14 = %one, %s15 = %one)
        -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
      %first = arith.cmpi eq, %j, %c0 : index
      %here = arith.andi %first, %special : i1
      %x = arith.select %here, %one, %zero : f32
      %c = math.exp2 %x : f32
      %p0 = arith.mulf %s0, %c : f32
      %p1 = arith.mulf %s1, %c : f32
      %p2 = arith.mulf %s2, %c : f32
      %p3 = arith.mulf %s3, %c : f32
      %p4 = arith.mulf %s4, %c : f32
      %p5 = arith.mulf %s5, %c : f32
      %p6 = arith.mulf %s6, %c : f32
      %p7 = arith.mulf %s7, %c : f32
      %p8 = arith.mulf %s8, %c : f32
      %p9 = arith.mulf %s9, %c : f32
      %p10 = arith.mulf %s10, %c : f32
      %p11 = arith.mulf %s11, %c : f32
      %p12 = arith.mulf %s12, %c : f32
      %p13 = arith.mulf %s13, %c : f32
      %p14 = arith.mulf %s14, %c : f32
      %p15 = arith.mulf %s15, %c : f32
      %q0 = arith.mulf %p0, %one : f32
      scf.yield %q0, %p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9, %p10, %p11, %p12, %p13, %p14, %p15
        : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    }
    %t1 = arith.addf %r#0, %r#1 : f32
    %t2 = arith.addf %t1, %r#2 : f32
    %t3 = arith.addf %t2, %r#3 : f32
    %t4 = arith.addf %t3, %r#4 : f32
    %t5 = arith.addf %t4, %r#5 : f32
    %t6 = arith.addf %t5, %r#6 : f32
    %t7 = arith.addf %t6, %r#7 : f32
    %t8 = arith.addf %t7, %r#8 : f32
    %t9 = arith.addf %t8, %r#9 : f32
    %t10 = arith.addf %t9, %r#10 : f32
    %t11 = arith.addf %t10, %r#11 : f32
    %t12 = arith.addf %t11, %r#12 : f32
    %t13 = arith.addf %t12, %r#13 : f32
    %t14 = arith.addf %t13, %r#14 : f32
    %t15 = arith.addf %t14, %r#15 : f32
    %l64 = arith.index_cast %lane : index to i64
    %at = llvm.getelementptr %out[%l64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %t15, %at : f32, !llvm.ptr<1>
    gpu.return
  }

  // One product is cheaper than the question.
  // CHECK-LABEL: gpu.func @one
  // CHECK-NOT: nvvm.vote
  gpu.func @one(%out: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f32
    %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%s = %one) -> f32 {
      %c = math.exp2 %s : f32
      %p = arith.mulf %s, %c : f32
      scf.yield %p : f32
    }
    llvm.store %r, %out : f32, !llvm.ptr<1>
    gpu.return
  }
}
