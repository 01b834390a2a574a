// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-fetch-ahead | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/      gpu.barrier$/      gpu.barrier\n      llvm.store %%arg2, %%arg0 : i32, !llvm.ptr<3>/' %s | act-opt --tile-fetch-ahead 2>&1 | FileCheck %s --check-prefix=SAME

// The manual's example.
gpu.module @kernels {
  gpu.func @product(%arg0: !llvm.ptr<3>, %arg1: !llvm.ptr<1>, %arg2: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 2, ahead>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0:4 = scf.for %arg3 = %c0 to %c8 step %c1 iter_args(%arg4 = %cst, %arg5 = %cst, %arg6 = %cst, %arg7 = %cst) -> (f32, f32, f32, f32) {
      nvvm.cp.async.wait.group 0
      gpu.barrier
      %1 = arith.index_cast %arg3 : index to i32
      %2 = llvm.getelementptr %arg1[%1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %arg0, %2, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      %3 = nvvm.ldmatrix %arg0 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %4 = llvm.extractvalue %3[0] : !llvm.struct<(i32, i32, i32, i32)>
      %5 = llvm.getelementptr %arg0[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %6 = nvvm.ldmatrix %5 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %7 = llvm.extractvalue %6[0] : !llvm.struct<(i32, i32, i32, i32)>
      %8 = nvvm.mma.sync A[%4, %4, %4, %4]  B[%arg2, %arg2]  C[%arg4, %arg5, %arg6, %arg7]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %9 = llvm.extractvalue %8[0] : !llvm.struct<(f32, f32, f32, f32)>
      %10 = nvvm.mma.sync A[%7, %7, %7, %7]  B[%arg2, %arg2]  C[%9, %9, %9, %9]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %11 = llvm.extractvalue %10[0] : !llvm.struct<(f32, f32, f32, f32)>
      scf.yield %11, %11, %11, %11 : f32, f32, f32, f32
    }
    llvm.store %0#0, %arg1 : f32, !llvm.ptr<1>
    gpu.return
  }
}
// AFTER: nvvm.cp.async.wait.group 0
// AFTER-NEXT: gpu.barrier
// AFTER-NEXT: %0 = arith.index_cast %c0 : index to i32
// AFTER-NEXT: %1 = llvm.getelementptr %arg1[%0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
// AFTER-NEXT: nvvm.cp.async.shared.global %arg0, %1, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// AFTER-NEXT: nvvm.cp.async.commit.group
// AFTER-NEXT: %2 = nvvm.ldmatrix %arg0 {{.*}}
// AFTER-NEXT: %3:5 = scf.for %arg3 = %c0 to %c8 step %c1 iter_args(%arg4 = %cst, %arg5 = %cst, %arg6 = %cst, %arg7 = %cst, %arg8 = %2) -> (f32, f32, f32, f32, !llvm.struct<(i32, i32, i32, i32)>) {
// AFTER-NEXT: %4 = llvm.extractvalue %arg8[0] : !llvm.struct<(i32, i32, i32, i32)>
// AFTER-NEXT: %5 = llvm.getelementptr %arg0[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// AFTER-NEXT: %6 = nvvm.ldmatrix %5 {{.*}}
// AFTER-NEXT: %7 = llvm.extractvalue %6[0] : !llvm.struct<(i32, i32, i32, i32)>
// AFTER-NEXT: %8 = nvvm.mma.sync A[%4, %4, %4, %4]  B[%arg2, %arg2]  C[%arg4, %arg5, %arg6, %arg7]  {{.*}}
// AFTER-NEXT: %9 = llvm.extractvalue %8[0] : !llvm.struct<(f32, f32, f32, f32)>
// AFTER-NEXT: %10 = arith.addi %arg3, %c1 : index
// AFTER-NEXT: nvvm.cp.async.wait.group 0
// AFTER-NEXT: gpu.barrier
// AFTER-NEXT: %11 = arith.index_cast %10 : index to i32
// AFTER-NEXT: %12 = llvm.getelementptr %arg1[%11] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
// AFTER-NEXT: nvvm.cp.async.shared.global %arg0, %12, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// AFTER-NEXT: nvvm.cp.async.commit.group
// AFTER-NEXT: %13 = nvvm.ldmatrix %arg0 {{.*}}
// AFTER-NEXT: %14 = nvvm.mma.sync A[%7, %7, %7, %7]  B[%arg2, %arg2]  C[%9, %9, %9, %9]  {{.*}}
// AFTER-NEXT: %15 = llvm.extractvalue %14[0] : !llvm.struct<(f32, f32, f32, f32)>
// AFTER-NEXT: scf.yield %15, %15, %15, %15, %13 : f32, f32, f32, f32, !llvm.struct<(i32, i32, i32, i32)>
// AFTER-NEXT: }

// A head that stores is no head.
// SAME: warning: fetches ahead, but has no loop that begins with a barrier and multiplies fragments
// SAME: iter_args(%{{.*}} = %cst, %{{.*}} = %cst, %{{.*}} = %cst, %{{.*}} = %cst) -> (f32, f32, f32, f32)
