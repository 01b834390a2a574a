// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-wrap-kernel --split-input-file --verify-diagnostics

// expected-error @+1 {{'llvm.func' op has no 'act.scratch_bytes', which host-place-buffers sets}}
llvm.func @no_scratch(%x: !llvm.ptr, %block: i64) attributes {act.grid = 8 : i64} {
  llvm.return
}

// -----

// expected-error @+1 {{'llvm.func' op is no kernel: expected a body, and the number of the block as the last argument}}
llvm.func @no_block(%x: !llvm.ptr) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64} {
  llvm.return
}

// -----

// expected-error @+1 {{'llvm.func' op is no kernel: expected a body}}
llvm.func @declared(!llvm.ptr, i64) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64}
