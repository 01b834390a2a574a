// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --check-groups 2>&1 | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.group "softmax" (%a = %x : tensor<4xf32>) inplace [0] -> tensor<4xf32> {
    %1 = act.softmax %a axis 0 : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
// AFTER: {{.*}}: error: 'act.group' op lets result 0 overwrite operand 0, which it does not read element by element, or which is read for another result
