// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-hold-waits | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --tile-hold-waits | FileCheck %s --check-prefix=BOTH

// The manual's example: a sum that the first wait's product lets go on, and the
// second one's product, which runs meanwhile.
gpu.module @kernels {
  gpu.func @loop(%arg0: index, %arg1: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0:3 = scf.for %arg2 = %c0 to %arg0 step %c1 iter_args(%arg3 = %arg1, %arg4 = %arg1, %arg5 = %arg1) -> (f32, f32, f32) {
      %1 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,0,~{memory}" %arg3 : (f32) -> f32
      %2 = arith.addf %arg4, %1 : f32
      %3 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %arg5 : (f32) -> f32
      scf.yield %1, %2, %3 : f32, f32, f32
    }
    gpu.return
  }
  // AFTER: %2 = arith.addf %arg4, %1 : f32
  // AFTER-NEXT: %3 = arith.bitcast %2 : f32 to i32
  // AFTER-NEXT: llvm.inline_asm has_side_effects "{ .reg .pred %never; setp.eq.u32 %never, $0, 0x7fdeadbe; @%never pmevent 1; }", "r,~{memory}" %3 : (i32) -> ()
  // AFTER-NEXT: %4 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %arg5 : (f32) -> f32

  // Of two sums both are held, but not what one of them is computed from, nor
  // what needs the product.
  // BOTH-LABEL: gpu.func @sums
  // BOTH: %[[M:.*]] = arith.mulf
  // BOTH: %[[A:.*]] = arith.addf %{{.*}}, %[[M]]
  // BOTH: %[[B:.*]] = arith.addf
  // BOTH-NEXT: %[[X:.*]] = arith.bitcast %[[A]]
  // BOTH-NEXT: %[[Y:.*]] = arith.bitcast %[[B]]
  // BOTH-NEXT: %[[XY:.*]] = arith.xori %[[X]], %[[Y]]
  // BOTH-NEXT: pmevent{{.*}} %[[XY]] :
  // BOTH-NEXT: wait_group
  gpu.func @sums(%arg0: index, %z: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0:5 = scf.for %i = %c0 to %arg0 step %c1 iter_args(%s = %z, %m = %z, %a = %z, %b = %z, %o = %z) -> (f32, f32, f32, f32, f32) {
      %1 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,0,~{memory}" %s : (f32) -> f32
      %2 = arith.mulf %m, %1 : f32
      %3 = arith.addf %a, %2 : f32
      %4 = arith.addf %b, %1 : f32
      %5 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %o : (f32) -> f32
      %6 = arith.mulf %5, %2 : f32
      scf.yield %1, %2, %3, %4, %6 : f32, f32, f32, f32, f32
    }
    gpu.return
  }

  // One wait is waited for by all that follows.
  // BOTH-LABEL: gpu.func @one
  // BOTH-NOT: pmevent
  gpu.func @one(%arg0: index, %z: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0:2 = scf.for %i = %c0 to %arg0 step %c1 iter_args(%s = %z, %a = %z) -> (f32, f32) {
      %1 = arith.addf %a, %s : f32
      %2 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %s : (f32) -> f32
      scf.yield %2, %1 : f32, f32
    }
    gpu.return
  }
}
