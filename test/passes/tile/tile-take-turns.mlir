// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-take-turns | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/, turns//' %s | act-opt --tile-take-turns | FileCheck %s --check-prefix=NOT
// RUN: act-opt %s --tile-take-turns --tile-lower-to-threads=target=sm_90a | FileCheck %s --check-prefix=THREADS
// RUN: sed 's/^ *%5 = tile.dot_async/tile.barrier\n&/' %s | act-opt --tile-take-turns | FileCheck %s --check-prefix=NOT
// RUN: sed '/%5 = /d; /%7 = /d' %s | act-opt --tile-take-turns | FileCheck %s --check-prefix=NOT

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [8:(16,0)]>
#shared128 = #tile.shared<swizzle = 128>
gpu.module @kernels {
  gpu.func @two(%arg0: !tile.view<512x64xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, rotated, turns, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #layout>
    %0 = tile.alloc_shared : !tile.shared<128x64xbf16, #shared128>
    %1 = tile.alloc_shared : !tile.shared<64x64xbf16, #shared128>
    tile.roles compute {
      scf.for %arg1 = %c0 to %c512 step %c64 {
        %2 = tile.begin_dot %cst : tensor<128x64xf32, #layout>
        %3 = tile.begin_dot %cst : tensor<128x64xf32, #layout>
        %4 = tile.dot_async %0, %1, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<128x64xf32, #layout>>
        %5 = tile.dot_async %0, %1, %3 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<128x64xf32, #layout>>
        %6 = tile.dot_result %4 : !tile.pending<tensor<128x64xf32, #layout>>
        %7 = tile.dot_result %5 : !tile.pending<tensor<128x64xf32, #layout>>
      }
    } copy {
      tile.barrier
    }
    gpu.return
  }
}
// AFTER: tile.await_group_turn
// AFTER-NEXT: %4 = tile.dot_async %0, %1, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER-NEXT: %5 = tile.dot_async %0, %1, %3 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : {{.*}}
// AFTER-NEXT: tile.pass_group_turn
// AFTER-NEXT: %6 = tile.dot_result %4 : !tile.pending<tensor<128x64xf32, #layout>>

// A schedule without turns, products with a barrier of all groups between them, and a single product.
// NOT: tile.dot_async
// NOT-NOT: group_turn

// The last of two groups passes the first turn; barriers 3 and 4 are the groups'.
// THREADS: %[[LAST:.*]] = arith.cmpi uge, %{{.*}}, %c4_i32
// THREADS: scf.if %[[LAST]]
// THREADS: "bar.arrive $0, 256;"
// THREADS: scf.for
// THREADS: %[[GROUP:.*]] = arith.divui %{{.*}}, %c4_i32
// THREADS: %[[MINE:.*]] = arith.addi %[[GROUP]], %c3_i32
// THREADS: "bar.sync $0, 256;", "r,~{memory}" %[[MINE]]
// THREADS: wgmma.mma_async
// THREADS: wgmma.mma_async
// THREADS: "bar.arrive $0, 256;"
