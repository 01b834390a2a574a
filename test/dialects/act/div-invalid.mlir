// RUN: act-opt %s --split-input-file --verify-diagnostics

// shapes that do not broadcast
func.func @f(%x: tensor<2x4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{'act.div' op cannot broadcast rhs of shape [3] with lhs of shape [2, 4]}}
  %0 = act.div %x, %y : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// a result of another shape
func.func @f(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'act.div' op result has shape [4], expected [2, 4] for lhs of shape [2, 4] and rhs of shape [4]}}
  %0 = act.div %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// mixed element types
func.func @f(%x: tensor<2x4xf32>, %y: tensor<2x4xbf16>) {
  // expected-error@+1 {{'act.div' op rhs has elements of type 'bf16', expected 'f32' as in result}}
  %0 = act.div %x, %y : (tensor<2x4xf32>, tensor<2x4xbf16>) -> tensor<2x4xf32>
  return
}

// -----

// mixed element types on the left
func.func @f(%x: tensor<2x4xbf16>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.div' op lhs has elements of type 'bf16', expected 'f32' as in result}}
  %0 = act.div %x, %y : (tensor<2x4xbf16>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// integers
func.func @f(%x: tensor<4xi32>) {
  // expected-error@+1 {{'act.div' op operand #0 must be ranked tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<4xi32>'}}
  %0 = act.div %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

// dimensions of other names
func.func @f(%x: tensor<?xf32, #act.dims<s>>, %y: tensor<?xf32, #act.dims<t>>) {
  // expected-error@+1 {{'act.div' op cannot broadcast rhs of shape [t] with lhs of shape [s]}}
  %0 = act.div %x, %y : (tensor<?xf32, #act.dims<s>>, tensor<?xf32, #act.dims<t>>) -> tensor<?xf32, #act.dims<s>>
  return
}
