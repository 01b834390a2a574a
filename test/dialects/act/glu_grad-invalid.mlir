// RUN: act-opt %s --split-input-file --verify-diagnostics

// an unknown activation
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+2 {{expected ::act::Activation to be one of: silu, gelu, gelu_new}}
  // expected-error@+1 {{failed to parse Act_ActivationAttr parameter}}
  %0:2 = act.glu_grad relu %x, %x, %x : tensor<2x4xf32>
  return
}

// -----

// another shape, in the generic form
func.func @f(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'act.glu_grad' op up has shape [4], expected [2, 4] as in grad}}
  %0:2 = "act.glu_grad"(%x, %x, %y) {kind = #act<activation silu>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

// another shape of the second result, in the generic form
func.func @f(%dy: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.glu_grad' op d_up has shape [4], expected [2, 4] as in grad}}
  %0:2 = "act.glu_grad"(%dy, %dy, %dy) {kind = #act<activation silu>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
  return
}
