// RUN: act-opt %s --split-input-file --verify-diagnostics

// contracted sizes
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x9xf32>) {
  // expected-error@+1 {{'act.linear' op contracts 8 columns of input with 9 inputs of weight of shape [6, 9]}}
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<6x9xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// contracted sizes, in_out
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error@+1 {{'act.linear' op contracts 8 columns of input with 6 inputs of weight of shape [6, 8]}}
  %0 = act.linear %x, %w in_out : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// a scalar
func.func @f(%x: tensor<f32>, %w: tensor<6x8xf32>) {
  // expected-error@+1 {{'act.linear' op input has rank 0, expected 1 or more}}
  %0 = act.linear %x, %w : (tensor<f32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// the weight's rank
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{'act.linear' op weight has rank 1, expected 2 for a linear layer}}
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// the result's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error@+1 {{'act.linear' op result has shape [2, 4, 7], expected [2, 4, 6] for an input of shape [2, 4, 8] and a weight of shape [6, 8]}}
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x7xf32>
  return
}

// -----

// the result's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error@+1 {{'act.linear' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xbf16>
  return
}

// -----

// the weight's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xbf16>) {
  // expected-error@+1 {{'act.linear' op weight has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<6x8xbf16>) -> tensor<2x4x6xf32>
  return
}

// -----

// the bias's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<5xf32>) {
  // expected-error@+1 {{'act.linear' op bias has shape [5], expected [6] for a weight of shape [6, 8]}}
  %0 = act.linear %x, %w bias(%b) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<5xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// the bias's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xbf16>) {
  // expected-error@+1 {{'act.linear' op bias has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear %x, %w bias(%b) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<6xbf16>) -> tensor<2x4x6xf32>
  return
}

// -----

// A's rank
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3xf32>, %b: tensor<6x3xf32>) {
  // expected-error@+1 {{'act.linear' op lora's A has rank 1, expected 2 for a weight of shape [6, 8]}}
  %0 = act.linear %x, %w lora(%a, %b, 2.0) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// A's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x6xf32>, %b: tensor<6x3xf32>) {
  // expected-error@+1 {{'act.linear' op lora's A has shape [3, 6], expected [3, 8] for a weight of shape [6, 8]}}
  %0 = act.linear %x, %w lora(%a, %b, 2.0) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x6xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// B's shape
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xf32>, %b: tensor<6x4xf32>) {
  // expected-error@+1 {{'act.linear' op lora's B has shape [6, 4], expected [6, 3] for a weight of shape [6, 8] and A of shape [3, 8]}}
  %0 = act.linear %x, %w lora(%a, %b, 2.0) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>, tensor<6x4xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// A's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xbf16>, %b: tensor<6x3xf32>) {
  // expected-error@+1 {{'act.linear' op lora's A has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear %x, %w lora(%a, %b, 2.0) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xbf16>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// B's element type
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xf32>, %b: tensor<6x3xbf16>) {
  // expected-error@+1 {{'act.linear' op lora's B has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.linear %x, %w lora(%a, %b, 2.0) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>, tensor<6x3xbf16>) -> tensor<2x4x6xf32>
  return
}

// -----

// lora's scale
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xf32>, %b: tensor<6x3xf32>) {
  // expected-error@+1 {{'act.linear' op lora_scale is not finite}}
  %0 = act.linear %x, %w lora(%a, %b, 0x7FF0000000000000) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// A without B
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xf32>) {
  // expected-error@+1 {{'act.linear' op has only some of lora's A, B and scale, expected all or none}}
  %0 = "act.linear"(%x, %w, %a) {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>} : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// a scale without matrices
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>) {
  // expected-error@+1 {{'act.linear' op has only some of lora's A, B and scale, expected all or none}}
  %0 = act.linear %x, %w {lora_scale = 2.0} : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
  return
}
