// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-skip-unit-scaling | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
gpu.module @kernels {
  gpu.func @sixteen(%arg0: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %c7 = arith.constant 7 : index
    %thread_id_x = gpu.thread_id  x
    %0 = arith.cmpi eq, %thread_id_x, %c7 : index
    %1:16 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %cst_0, %arg3 = %cst_0, %arg4 = %cst_0, %arg5 = %cst_0, %arg6 = %cst_0, %arg7 = %cst_0, %arg8 = %cst_0, %arg9 = %cst_0, %arg10 = %cst_0, %arg11 = %cst_0, %arg12 = %cst_0, %arg13 = %cst_0, %arg14 = %cst_0, %arg15 = %cst_0, %arg16 = %cst_0, %arg17 = %cst_0) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
      %19 = arith.cmpi eq, %arg1, %c0 : index
      %20 = arith.andi %19, %0 : i1
      %21 = arith.select %20, %cst_0, %cst : f32
      %22 = math.exp2 %21 : f32
      %23 = arith.mulf %arg2, %22 : f32
      %24 = arith.mulf %arg3, %22 : f32
      %25 = arith.mulf %arg4, %22 : f32
      %26 = arith.mulf %arg5, %22 : f32
      %27 = arith.mulf %arg6, %22 : f32
      %28 = arith.mulf %arg7, %22 : f32
      %29 = arith.mulf %arg8, %22 : f32
      %30 = arith.mulf %arg9, %22 : f32
      %31 = arith.mulf %arg10, %22 : f32
      %32 = arith.mulf %arg11, %22 : f32
      %33 = arith.mulf %arg12, %22 : f32
      %34 = arith.mulf %arg13, %22 : f32
      %35 = arith.mulf %arg14, %22 : f32
      %36 = arith.mulf %arg15, %22 : f32
      %37 = arith.mulf %arg16, %22 : f32
      %38 = arith.mulf %arg17, %22 : f32
      %39 = arith.mulf %23, %cst_0 : f32
      scf.yield %39, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38 : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    }
    %2 = arith.addf %1#0, %1#1 : f32
    %3 = arith.addf %2, %1#2 : f32
    %4 = arith.addf %3, %1#3 : f32
    %5 = arith.addf %4, %1#4 : f32
    %6 = arith.addf %5, %1#5 : f32
    %7 = arith.addf %6, %1#6 : f32
    %8 = arith.addf %7, %1#7 : f32
    %9 = arith.addf %8, %1#8 : f32
    %10 = arith.addf %9, %1#9 : f32
    %11 = arith.addf %10, %1#10 : f32
    %12 = arith.addf %11, %1#11 : f32
    %13 = arith.addf %12, %1#12 : f32
    %14 = arith.addf %13, %1#13 : f32
    %15 = arith.addf %14, %1#14 : f32
    %16 = arith.addf %15, %1#15 : f32
    %17 = arith.index_cast %thread_id_x : index to i64
    %18 = llvm.getelementptr %arg0[%17] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %16, %18 : f32, !llvm.ptr<1>
    gpu.return
  }
}
// AFTER: %23 = arith.cmpf une, %22, %cst_1 : f32
// AFTER: %24 = nvvm.vote.sync  any %c-1_i32, %23 -> i1
// AFTER-NEXT: %25:16 = scf.if %24 -> {{.*}}
// AFTER-NEXT:   %27 = arith.mulf %arg2, %22 : f32
// AFTER: } else {
