// SPDX-License-Identifier: Apache-2.0
// What is no kernel on tensors. The next two passes expect the same.
// RUN: act-opt %s --host-prepare-kernel --split-input-file --verify-diagnostics
// RUN: act-opt %s --host-distribute-blocks --split-input-file --verify-diagnostics
// RUN: act-opt %s --host-bufferize --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op must have a body of one block to be a kernel}}
func.func private @declared(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @+1 {{argument 0 has type 'tensor<?xf32>', expected a static shape of f64, f32, bf16, f16, i1, i8, i32 or i64}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{result 0 has type 'tensor<4xf8E5M2>', expected a static shape of f64}}
func.func @narrow(%x: tensor<4xf32>) -> tensor<4xf8E5M2> {
  %e = tensor.empty() : tensor<4xf8E5M2>
  return %e : tensor<4xf8E5M2>
}

// -----

// expected-error @+1 {{argument 0 has type 'bf16', expected a tensor or a scalar}}
func.func @scalar(%x: bf16) {
  return
}

// -----

// expected-error @+1 {{result 0 has type 'f32', expected a tensor}}
func.func @scalar_result(%x: f32) -> f32 {
  return %x : f32
}
