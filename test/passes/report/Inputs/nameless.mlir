// SPDX-License-Identifier: Apache-2.0
func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = act.silu %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
