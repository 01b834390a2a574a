// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-sink-arithmetic | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/groups = 1/warps = 4/' %s | act-opt --tile-sink-arithmetic | FileCheck %s --check-prefix=SAME
// RUN: sed 's/wgmma.mma_async/mma.sync/' %s | act-opt --tile-sink-arithmetic | FileCheck %s --check-prefix=SAME

// The manual's example.
gpu.module @kernels {
  gpu.func @two(%arg0: index, %arg1: f32, %arg2: f32, %arg3: !llvm.ptr<1>, %arg4: !llvm.ptr<1>) kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = scf.for %arg5 = %c0 to %arg0 step %c1 iter_args(%arg6 = %arg1) -> (f32) {
      %5 = llvm.inline_asm has_side_effects "wgmma.mma_async", "=f,0" %arg6 : (f32) -> f32
      scf.yield %5 : f32
    }
    %1 = arith.addf %0, %arg1 : f32
    %2 = arith.addf %0, %arg2 : f32
    %3 = arith.mulf %1, %arg1 : f32
    %4 = arith.mulf %2, %arg2 : f32
    llvm.store %3, %arg3 : f32, !llvm.ptr<1>
    llvm.store %4, %arg4 : f32, !llvm.ptr<1>
    gpu.return
  }
}
// AFTER: %1 = arith.addf %0, %arg1 : f32
// AFTER-NEXT: %2 = arith.mulf %1, %arg1 : f32
// AFTER-NEXT: llvm.store %2, %arg3 : f32, !llvm.ptr<1>
// AFTER-NEXT: %3 = arith.addf %0, %arg2 : f32
// AFTER-NEXT: %4 = arith.mulf %3, %arg2 : f32
// AFTER-NEXT: llvm.store %4, %arg4 : f32, !llvm.ptr<1>

// SAME: arith.addf
// SAME-NEXT: arith.addf
// SAME-NEXT: arith.mulf
// SAME-NEXT: arith.mulf
