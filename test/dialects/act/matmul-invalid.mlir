// RUN: act-opt %s --split-input-file --verify-diagnostics

// contracted sizes
func.func @f(%a: tensor<2x64xf32>, %b: tensor<128x4xf32>) {
  // expected-error@+1 {{'act.matmul' op contracts 64 columns of lhs with 128 rows of rhs}}
  %0 = act.matmul %a, %b : (tensor<2x64xf32>, tensor<128x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// contracted sizes, transposed
func.func @f(%a: tensor<64x2xf32>, %b: tensor<4x128xf32>) {
  // expected-error@+1 {{'act.matmul' op contracts 64 rows of transposed lhs with 128 columns of transposed rhs}}
  %0 = act.matmul %a, %b transpose_lhs transpose_rhs : (tensor<64x2xf32>, tensor<4x128xf32>) -> tensor<2x4xf32>
  return
}

// -----

// contracted names
func.func @f(%a: tensor<2x?xf32, #act.dims<2, h>>, %b: tensor<?x4xf32, #act.dims<k, 4>>) {
  // expected-error@+1 {{'act.matmul' op contracts h columns of lhs with k rows of rhs}}
  %0 = act.matmul %a, %b : (tensor<2x?xf32, #act.dims<2, h>>, tensor<?x4xf32, #act.dims<k, 4>>) -> tensor<2x4xf32>
  return
}

// -----

// a vector
func.func @f(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error@+1 {{'act.matmul' op lhs has rank 1, expected 2 or more}}
  %0 = act.matmul %a, %b : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

// ranks
func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<1x2x8x6xf32>) {
  // expected-error@+1 {{'act.matmul' op rhs has rank 4, expected 3 as in lhs, or 2}}
  %0 = act.matmul %a, %b : (tensor<2x4x8xf32>, tensor<1x2x8x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// leading dimensions
func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<3x8x6xf32>) {
  // expected-error@+1 {{'act.matmul' op lhs of shape [2, 4, 8] and rhs of shape [3, 8, 6] differ in their leading dimensions}}
  %0 = act.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

// the result's shape
func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error@+1 {{'act.matmul' op result has shape [2, 6, 4], expected [2, 4, 6] for lhs of shape [2, 4, 8] and rhs of shape [8, 6]}}
  %0 = act.matmul %a, %b : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

// the operands' element types
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xbf16>) {
  // expected-error@+1 {{'act.matmul' op rhs has elements of type 'bf16', expected 'f32' as in lhs}}
  %0 = act.matmul %a, %b : (tensor<4x8xf32>, tensor<8x6xbf16>) -> tensor<4x6xf16>
  return
}

// -----

// the result's element type
func.func @f(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>) {
  // expected-error@+1 {{'act.matmul' op result has elements of type 'f16', expected 'bf16' as in lhs}}
  %0 = act.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf16>
  return
}
