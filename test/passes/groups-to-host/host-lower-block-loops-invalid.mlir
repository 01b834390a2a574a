// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-lower-block-loops --split-input-file --verify-diagnostics

func.func @dynamic(%x: memref<16xf32>, %n: index, %zero: f32) {
  // expected-error @+1 {{'scf.forall' op has bounds that are not constant: a grid depends on shapes only}}
  scf.forall (%i) in (%n) {
    memref.store %zero, %x[%i] : memref<16xf32>
  }
  return
}

// -----

// expected-error @+1 {{'func.func' op returns values, expected a kernel on memory, as host-bufferize leaves it}}
func.func @tensors(%x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}

// -----

func.func @tensors_inside(%x: memref<16xf32>) {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @+1 {{'scf.forall' op still works on tensors}}
  %y = scf.forall (%i) in (16) shared_outs(%o = %e) -> (tensor<16xf32>) {
  }
  return
}
