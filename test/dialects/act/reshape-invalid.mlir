// RUN: act-opt %s --split-input-file --verify-diagnostics

// fewer elements
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.reshape' op result of shape [4, 5] has a different number of elements than input of shape [2, 3, 4]}}
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<4x5xf32>
  return
}

// -----

// another product of names
func.func @f(%x: tensor<?x4xf32, #act.dims<b*s, 4>>) {
  // expected-error@+1 {{'act.reshape' op result of shape [b*t, 4] has a different number of elements than input of shape [b*s, 4]}}
  %0 = act.reshape %x : tensor<?x4xf32, #act.dims<b*s, 4>> -> tensor<?x4xf32, #act.dims<b*t, 4>>
  return
}

// -----

// products past 2^63
func.func @f(%x: tensor<?x?xf32, #act.dims<4611686018427387904*s, 4*t>>) {
  // expected-error@+1 {{'act.reshape' op result of shape [s*t] has a different number of elements than input of shape [4611686018427387904*s, 4*t]}}
  %0 = act.reshape %x : tensor<?x?xf32, #act.dims<4611686018427387904*s, 4*t>> -> tensor<?xf32, #act.dims<s*t>>
  return
}

// -----

// another element type
func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'act.reshape' op result has elements of type 'f16', expected 'f32' as in input}}
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf16>
  return
}
