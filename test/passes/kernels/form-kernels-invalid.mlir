// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --form-kernels --verify-diagnostics

// expected-error@+1 {{is not one straight block of ops; kernels cannot be formed}}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<?x8xf32, #act.dims<t, 8>>, %w: tensor<16x8xf32>, %y: tensor<?xi32, #act.dims<t>>) -> tensor<f32> {
  // expected-error@+1 {{'act.linear_cross_entropy' op has an input of shape [t, 8]; kernels of its chunks need numbers}}
  %0 = act.linear_cross_entropy %x, %w, %y ignore -100 reduction mean chunk 16 : (tensor<?x8xf32, #act.dims<t, 8>>, tensor<16x8xf32>, tensor<?xi32, #act.dims<t>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @backward(%d: tensor<f32>, %x: tensor<?x8xf32, #act.dims<t, 8>>, %w: tensor<16x8xf32>, %y: tensor<?xi32, #act.dims<t>>, %lse: tensor<?xf32, #act.dims<t>>) -> tensor<?x8xf32, #act.dims<t, 8>> {
  // expected-error@+1 {{'act.linear_cross_entropy_grad' op has an input of shape [t, 8]; kernels of its chunks need numbers}}
  %0 = act.linear_cross_entropy_grad %d, %x, %w, %y, %lse ignore -100 reduction mean chunk 16 : (tensor<f32>, tensor<?x8xf32, #act.dims<t, 8>>, tensor<16x8xf32>, tensor<?xi32, #act.dims<t>>, tensor<?xf32, #act.dims<t>>) -> tensor<?x8xf32, #act.dims<t, 8>>
  return %0 : tensor<?x8xf32, #act.dims<t, 8>>
}
