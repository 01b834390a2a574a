// RUN: act-opt %s --split-input-file --verify-diagnostics

// an unknown activation
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+2 {{expected ::act::Activation to be one of: silu, gelu, gelu_new}}
  // expected-error@+1 {{failed to parse Act_ActivationAttr parameter}}
  %0 = act.activation_grad relu %x, %x : tensor<2x4xf32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'act.activation_grad' op input has shape [4], expected [2, 4] as in grad}}
  %0 = "act.activation_grad"(%x, %y) {kind = #act<activation silu>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}
