// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-wrap-kernel | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-wrap-kernel | FileCheck %s
// RUN: act-opt %s --host-wrap-kernel=may-alias=true | FileCheck %s --check-prefix=ALIAS

// The example of the manual: a pointer and a scalar, from the list.
// AFTER: llvm.func @fill(%arg0: !llvm.ptr, %arg1: i64) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64} {
// AFTER-NEXT: %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// AFTER-NEXT: %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
// AFTER-NEXT: %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// AFTER-NEXT: %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
// AFTER-NEXT: %4 = llvm.load %3 : !llvm.ptr -> f32
// AFTER-NEXT: llvm.call @fill.body(%1, %4, %arg1) : (!llvm.ptr, f32, i64) -> ()
// AFTER-NEXT: llvm.return
// AFTER-NEXT: }
// AFTER-NEXT: llvm.func internal @fill.body(%arg0: !llvm.ptr {llvm.noalias, llvm.noundef}, %arg1: f32, %arg2: i64) attributes {always_inline} {
llvm.func @fill(%x: !llvm.ptr, %value: f32, %block: i64) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64} {
  %p = llvm.getelementptr %x[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %value, %p : f32, !llvm.ptr
  llvm.return
}

// Pointers alone are marked.
// CHECK-LABEL: llvm.func internal @fill.body
// CHECK-SAME: (%{{.+}}: !llvm.ptr {llvm.noalias, llvm.noundef}, %{{.+}}: f32, %{{.+}}: i64) attributes {always_inline}
// ALIAS-LABEL: llvm.func internal @fill.body
// ALIAS-SAME: (%{{.+}}: !llvm.ptr, %{{.+}}: f32, %{{.+}}: i64) attributes {always_inline}

// What is no kernel stays.
// CHECK: llvm.func @other(!llvm.ptr)
// CHECK-NOT: llvm.func
llvm.func @other(!llvm.ptr)
