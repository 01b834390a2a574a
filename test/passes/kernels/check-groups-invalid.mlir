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

func.func @forward(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) -> tensor<1x8x4x8xf32> {
  // expected-error@+1 {{has the workspaces (); its ops need ('tensor<1xf32>', 'tensor<1x4x8xf32>', 'tensor<1xi32>', 'tensor<1xi32>')}}
  %0 = act.group "attention_grad" (%a = %do : tensor<1x8x4x8xf32>, %b = %q : tensor<1x8x4x8xf32>, %c = %k : tensor<1x8x2x8xf32>, %d = %v : tensor<1x8x2x8xf32>, %e = %o : tensor<1x8x4x8xf32>, %f = %lse : tensor<1x4x8xf32>) -> tensor<1x8x4x8xf32> {
    %1:3 = act.attention_grad %a, %b, %c, %d, %e, %f scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
    act.yield %1#0 : tensor<1x8x4x8xf32>
  }
  return %0 : tensor<1x8x4x8xf32>
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

// -----

// A result in the memory that another result is computed from.
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error@+1 {{lets result 0 overwrite operand 0}}
  %0:2 = act.group "g" (%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>) inplace [0, -1] -> (tensor<4xf32>, tensor<4xf32>) {
    %1 = act.silu %a : tensor<4xf32>
    %2 = act.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    act.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{@forward is not one straight block of ops}}
func.func @forward() {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @forward(%m: memref<4xf32>) {
  %c = arith.constant 1.0 : f32
  // expected-error@+1 {{is in no group}}
  linalg.fill ins(%c : f32) outs(%m : memref<4xf32>)
  return
}
