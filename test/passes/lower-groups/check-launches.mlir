// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --check-launches 2>&1 | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.group "silu" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = act.silu %a : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  } launches {
    act.launch @kernels::@k (input 0, result 0 written) main
    act.launch @kernels::@k (input 0, result 0 written)
  }
  return %0 : tensor<4xf32>
}
module @kernels attributes {act.target = ""} {
  func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
// AFTER: {{.*}}: error: 'act.launch' op makes result 0 of its group a second time
