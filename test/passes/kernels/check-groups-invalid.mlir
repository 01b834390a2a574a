// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --check-groups --verify-diagnostics

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.silu %x : tensor<4xf32> // expected-error {{is in no group}}
  return %0 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.group "kept" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{is in a group, but has no linalg form}}
    %1 = act.kept %a : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has the workspaces [tensor<4xf32>]; its ops need ()}}
  %0 = act.group "silu" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
    %1 = act.silu %a : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

act.parameter @w "w" : tensor<4xf32>
func.func @forward() -> tensor<4xf32> {
  %w = act.param @w : tensor<4xf32>
  // expected-error@+1 {{lets result 0 overwrite operand 0, a parameter}}
  %0 = act.group "silu" (%a = %w : tensor<4xf32>) inplace [0] -> tensor<4xf32> {
    %1 = act.silu %a : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
