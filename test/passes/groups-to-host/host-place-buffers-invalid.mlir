// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-place-buffers --split-input-file --verify-diagnostics

func.func @unbounded(%v: f32, %n: index, %block: i64) {
  // expected-error @+1 {{'memref.alloc' op in a kernel has no constant bound on its size}}
  %t = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %t[%n] : memref<?xf32>
  return
}

// -----

func.func @transposed(%v: f32, %i: index, %block: i64) {
  // expected-error @+1 {{'memref.alloc' op in a kernel is not contiguous}}
  %t = memref.alloc() : memref<8x8xf32, affine_map<(i, j) -> (j, i)>>
  memref.store %v, %t[%i, %i] : memref<8x8xf32, affine_map<(i, j) -> (j, i)>>
  return
}

// -----

// expected-error @+1 {{'func.func' op has no number of the block as its last argument, before which the scratch goes}}
func.func @no_block(%v: f32, %i: index) {
  %t = memref.alloc() : memref<512xf32>
  memref.store %v, %t[%i] : memref<512xf32>
  return
}
