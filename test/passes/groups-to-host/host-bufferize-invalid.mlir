// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-bufferize --split-input-file --verify-diagnostics

// expected-error @+1 {{places result 0 of type 'tensor<8xf16>' in argument 0 of type 'tensor<4xf32>'}}
func.func @another_type(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}, %y: tensor<8xf16>) -> tensor<8xf16> {
  return %y : tensor<8xf16>
}

// -----

// expected-error @+1 {{argument 1 has the role parts; a kernel for the host has results in place only}}
func.func @parts(%x: tensor<4xf32>, %y: tensor<64x4xf32> {act.role = #act.role<parts, result = 0>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
