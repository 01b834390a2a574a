// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-rotate-loops | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --tile-rotate-loops | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/, rotated//' %s | act-opt --tile-rotate-loops | FileCheck %s --check-prefix=NOT
// RUN: sed 's/%c256 = arith.constant 256 : index/%c256 = tile.program_id x/' %s | act-opt --tile-rotate-loops | \
// RUN:   FileCheck %s --check-prefix=MAYBE

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#layout1 = #tile.layout<register = [8:(0,1), 4:(16,0)], lane = [8:(0,8), 4:(1,0)], warp = [4:(4,0)]>
#layout2 = #tile.layout<register = [4:(0,1), 8:(8,0)], lane = [16:(0,4), 2:(1,0)], warp = [4:(2,0)]>
#shared128 = #tile.shared<swizzle = 128>
#shared128t = #tile.shared<swizzle = 128, transposed = true>
gpu.module @kernels {
  gpu.func @attention(%arg0: !tile.view<64x64xbf16>, %arg1: !tile.view<256x64xbf16>, %arg2: !tile.view<256x64xbf16>, %arg3: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2, rotated, roles = {copy = 1}>} {
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %0 = tile.alloc_shared : !tile.shared<2x64x64xbf16, #shared128>
    %1 = tile.alloc_shared : !tile.shared<2x64x64xbf16, #shared128>
    %2 = tile.alloc_shared : !tile.shared<2xi64>
    %3 = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %2, 1 : !tile.shared<2xi64>
    tile.mbarrier_init %3, 4 : !tile.shared<2xi64>
    %4 = tile.alloc_shared : !tile.shared<2xi64>
    %5 = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %4, 1 : !tile.shared<2xi64>
    tile.mbarrier_init %5, 4 : !tile.shared<2xi64>
    tile.barrier
    tile.roles compute {
      %6 = tile.load %arg0[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16, #layout1>
      %7:3 = scf.for %arg4 = %c0 to %c256 step %c64 iter_args(%arg5 = %cst, %arg6 = %c0_i32, %arg7 = %c0_i32) -> (tensor<64x64xf32, #layout>, i32, i32) {
        %9 = arith.index_cast %arg6 : i32 to index
        tile.mbarrier_wait %2[%9] parity %arg7 : !tile.shared<2xi64>
        %10 = tile.to_shared %6 : tensor<64x64xbf16, #layout1> -> !tile.shared<64x64xbf16, #shared128>
        %11 = tile.shared_view %0[%9] : !tile.shared<2x64x64xbf16, #shared128> -> !tile.shared<64x64xbf16, #shared128>
        %12 = tile.shared_view %11 : !tile.shared<64x64xbf16, #shared128> -> !tile.shared<64x64xbf16, #shared128t>
        %13 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
        %14 = tile.begin_dot %arg5 : tensor<64x64xf32, #layout>
        %15 = tile.dot_async %10, %12, %13 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128t> -> !tile.pending<tensor<64x64xf32, #layout>>
        %16 = tile.shared_view %1[%9] : !tile.shared<2x64x64xbf16, #shared128> -> !tile.shared<64x64xbf16, #shared128>
        %17 = tile.dot_result %15 : !tile.pending<tensor<64x64xf32, #layout>>
        tile.mbarrier_arrive %3[%9] : !tile.shared<2xi64>
        %18 = math.exp2 %17 : tensor<64x64xf32, #layout>
        %19 = arith.truncf %18 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
        tile.mbarrier_wait %4[%9] parity %arg7 : !tile.shared<2xi64>
        %20 = tile.dot_async %19, %16, %14 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : tensor<64x64xbf16, #layout>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
        %21 = tile.dot_result %20 : !tile.pending<tensor<64x64xf32, #layout>>
        tile.mbarrier_arrive %5[%9] : !tile.shared<2xi64>
        %22 = arith.addi %arg6, %c1_i32 : i32
        %23 = arith.cmpi eq, %22, %c2_i32 : i32
        %24 = arith.select %23, %c0_i32, %22 : i32
        %25 = arith.cmpi eq, %24, %c0_i32 : i32
        %26 = arith.xori %arg7, %c1_i32 : i32
        %27 = arith.select %25, %26, %arg7 : i32
        scf.yield %21, %24, %27 : tensor<64x64xf32, #layout>, i32, i32
      }
      %8 = tile.convert_layout %7#0 : tensor<64x64xf32, #layout> -> tensor<64x64xf32, #layout2>
      tile.store %8, %arg3[%c0 : 64, %c0 : 64] : tensor<64x64xf32, #layout2>, !tile.view<64x64xf32>
    } copy {
      %6:2 = scf.for %arg4 = %c0 to %c256 step %c64 iter_args(%arg5 = %c0_i32, %arg6 = %c0_i32) -> (i32, i32) {
        %7 = arith.index_cast %arg5 : i32 to index
        %8 = arith.xori %arg6, %c1_i32 : i32
        tile.mbarrier_wait %3[%7] parity %8 : !tile.shared<2xi64>
        tile.mbarrier_expect %2[%7] bytes 8192 : !tile.shared<2xi64>
        tile.copy_tensor %arg1[%arg4 : 64, %c0 : 64] to %0[%7] signals %2[%7] : !tile.view<256x64xbf16>, !tile.shared<2x64x64xbf16, #shared128>, !tile.shared<2xi64>
        tile.mbarrier_wait %5[%7] parity %8 : !tile.shared<2xi64>
        tile.mbarrier_expect %4[%7] bytes 8192 : !tile.shared<2xi64>
        tile.copy_tensor %arg2[%arg4 : 64, %c0 : 64] to %1[%7] signals %4[%7] : !tile.view<256x64xbf16>, !tile.shared<2x64x64xbf16, #shared128>, !tile.shared<2xi64>
        %9 = arith.addi %arg5, %c1_i32 : i32
        %10 = arith.cmpi eq, %9, %c2_i32 : i32
        %11 = arith.select %10, %c0_i32, %9 : i32
        %12 = arith.cmpi eq, %11, %c0_i32 : i32
        %13 = arith.xori %arg6, %c1_i32 : i32
        %14 = arith.select %12, %13, %arg6 : i32
        scf.yield %11, %14 : i32, i32
      }
    }
    gpu.return
  }
}
// AFTER: %23:6 = scf.for %arg4 = %22 to %c256 step %c64 iter_args(%arg5 = %18, %arg6 = %21, %arg7 = %cst, %arg8 = %7, %arg9 = %c0_i32, %arg10 = %15) -> (i32, i32, tensor<64x64xf32, #layout>, index, i32, tensor<64x64xbf16, #layout>) {
// AFTER: %34 = tile.dot_async %30, %32, %33 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER: %37 = tile.dot_async %arg10, %36, %35 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER-NEXT: %38 = tile.dot_result %34 : !tile.pending<tensor<64x64xf32, #layout>>
// AFTER: %39 = math.exp2 %38 : tensor<64x64xf32, #layout>
// AFTER-NEXT: %40 = arith.truncf %39 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
// AFTER: %47 = tile.dot_result %37 : !tile.pending<tensor<64x64xf32, #layout>>
// AFTER: scf.yield %43, %46, %47, %29, %arg6, %40 : i32, i32, tensor<64x64xf32, #layout>, index, i32, tensor<64x64xbf16, #layout>
// AFTER-NEXT: }
// AFTER: %26 = tile.dot_async %23#5, %25, %24 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER-NEXT: %27 = tile.dot_result %26 : !tile.pending<tensor<64x64xf32, #layout>>

// The first iteration's scores come before the loop. In the loop each product
// waits for its own operand, and gives it back when it is done; the slot of the
// second one is the last iteration's.
// ORDER: tile.roles compute {
// ORDER: tile.mbarrier_wait %2[%[[S0:.*]]] parity
// ORDER: tile.dot_result
// ORDER: tile.mbarrier_arrive %3[%[[S0]]]
// ORDER: scf.for {{.*}} iter_args({{.*}}, %[[LAST:[a-z0-9]*]] = %[[S0]], %[[PARITY:[a-z0-9]*]] = %c0_i32, %[[P:[a-z0-9]*]] = %{{.*}})
// ORDER: tile.mbarrier_wait %2[%[[S:.*]]] parity
// ORDER: tile.dot_async
// ORDER: tile.mbarrier_wait %4[%[[LAST]]] parity %[[PARITY]]
// ORDER: tile.dot_async %[[P]],
// ORDER: tile.dot_result
// ORDER: tile.mbarrier_arrive %3[%[[S]]]
// ORDER: math.exp2
// ORDER: tile.dot_result
// ORDER: tile.mbarrier_arrive %5[%[[LAST]]]
// ORDER: scf.yield
// ORDER: tile.mbarrier_wait %4[
// ORDER: tile.dot_async
// ORDER: tile.mbarrier_arrive %5[
// ORDER: } copy {
// ORDER-COUNT-1: scf.for

// NOT: tile.roles compute {
// NOT-NEXT: tile.load %arg0
// NOT-NEXT: scf.for %{{.*}} = %c0 to %c256

// A loop may have no iteration.
// MAYBE: %[[ANY:.*]] = arith.cmpi slt, %c0, %[[END:.*]] : index
// MAYBE: scf.if %[[ANY]] -> (tensor<64x64xf32, #layout>, i32, i32) {
// MAYBE: scf.for %{{.*}} to %[[END]]
// MAYBE: } else {
// MAYBE-NEXT: scf.yield %cst, %c0_i32, %c0_i32
