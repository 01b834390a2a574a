// RUN: act-opt %s --split-input-file --verify-diagnostics

// columns that do not add up
func.func @f(%x: tensor<2x12xf32>) {
  // expected-error@+1 {{'act.split' op parts have 8 columns, expected 12 for input of shape [2, 12]}}
  %0, %1 = act.split %x : tensor<2x12xf32> -> tensor<2x4xf32>, tensor<2x4xf32>
  return
}

// -----

// other rows
func.func @f(%x: tensor<2x12xf32>) {
  // expected-error@+1 {{'act.split' op part 1 has shape [3, 8], expected [2, 8] for input of shape [2, 12]}}
  %0, %1 = act.split %x : tensor<2x12xf32> -> tensor<2x4xf32>, tensor<3x8xf32>
  return
}

// -----

// another rank
func.func @f(%x: tensor<2x12xf32>) {
  // expected-error@+1 {{'act.split' op part 0 has shape [12], expected [2, 12] for input of shape [2, 12]}}
  %0 = act.split %x : tensor<2x12xf32> -> tensor<12xf32>
  return
}

// -----

// another element type
func.func @f(%x: tensor<2x12xf32>) {
  // expected-error@+1 {{'act.split' op part 0 has elements of type 'f16', expected 'f32' as in input}}
  %0 = act.split %x : tensor<2x12xf32> -> tensor<2x12xf16>
  return
}

// -----

// no parts
func.func @f(%x: tensor<2x12xf32>) {
  // expected-error@+1 {{'act.split' op has no parts}}
  "act.split"(%x) : (tensor<2x12xf32>) -> ()
  return
}

// -----

// a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error@+1 {{'act.split' op input has no last dimension}}
  %0 = act.split %x : tensor<f32> -> tensor<f32>
  return
}
