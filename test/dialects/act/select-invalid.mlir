// RUN: act-opt %s --split-input-file --verify-diagnostics

// a condition of another shape
func.func @f(%m: tensor<3xi1>, %x: tensor<2x4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'act.select' op cannot broadcast if_true of shape [2, 4] with condition of shape [3]}}
  %0 = act.select %m, %x, %c : (tensor<3xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

// an else of another shape
func.func @f(%m: tensor<4xi1>, %x: tensor<2x4xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'act.select' op cannot broadcast if_false of shape [3] with condition of shape [4] and if_true of shape [2, 4]}}
  %0 = act.select %m, %x, %c : (tensor<4xi1>, tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// a result of another shape
func.func @f(%m: tensor<4xi1>, %x: tensor<2x4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'act.select' op result has shape [4], expected [2, 4] for condition of shape [4] and if_true of shape [2, 4] and if_false of shape []}}
  %0 = act.select %m, %x, %c : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// mixed element types
func.func @f(%m: tensor<4xi1>, %x: tensor<2x4xf32>, %c: tensor<bf16>) {
  // expected-error@+1 {{'act.select' op if_false has elements of type 'bf16', expected 'f32' as in result}}
  %0 = act.select %m, %x, %c : (tensor<4xi1>, tensor<2x4xf32>, tensor<bf16>) -> tensor<2x4xf32>
  return
}

// -----

// mixed element types
func.func @f(%m: tensor<4xi1>, %x: tensor<2x4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'act.select' op if_true has elements of type 'f32', expected 'bf16' as in result}}
  %0 = act.select %m, %x, %c : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xbf16>
  return
}

// -----

// a condition of floats
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{'act.select' op operand #0 must be ranked tensor of 1-bit signless integer values, but got 'tensor<2x4xf32>'}}
  %0 = act.select %x, %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
