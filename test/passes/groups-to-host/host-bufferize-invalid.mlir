// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-bufferize --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op places result 3 in argument 0, but has 1 results}}
func.func @no_result(%x: tensor<4xf32> {act.inplace = 3 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{places result 0 of type 'tensor<8xf32>' in argument 0 of type 'tensor<4xf32>'}}
func.func @another_type(%x: tensor<4xf32> {act.inplace = 0 : i64}, %y: tensor<8xf32>) -> tensor<8xf32> {
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{places result 0 in two arguments}}
func.func @two(%x: tensor<4xf32> {act.inplace = 0 : i64}, %y: tensor<4xf32> {act.inplace = 0 : i64}) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}
