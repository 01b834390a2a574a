// RUN: act-opt %s --split-input-file --verify-diagnostics

// no matrix
func.func @f(%a: tensor<2x16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tile.dot' op a has rank 3, expected 2}}
  %0 = tile.dot %a, %b, %c : tensor<2x16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  return
}

// -----

// columns and rows
func.func @f(%a: tensor<16x64xf16>, %b: tensor<128x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{'tile.dot' op contracts 64 columns of a with 128 rows of b}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<128x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// the accumulator's shape
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<8x16xf32>) {
  // expected-error@+1 {{'tile.dot' op acc has shape [8, 16], expected [16, 8] for a of shape [16, 64] and b of shape [64, 8]}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<8x16xf32>
  return
}

// -----

// two element types
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{'tile.dot' op b has elements of type 'bf16', expected 'f16' as in a}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xf16>, tensor<64x8xbf16> -> tensor<16x8xf32>
  return
}

// -----

// an accumulator that is too narrow
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x8xbf16>, %c: tensor<16x8xbf16>) {
  // expected-error@+1 {{'tile.dot' op acc has elements of type 'bf16', expected 'f32' to add up products}}
  %0 = tile.dot %a, %b, %c : tensor<16x64xbf16>, tensor<64x8xbf16> -> tensor<16x8xbf16>
  return
}

// -----

// no products of these
func.func @f(%a: tensor<16x16xi32>) {
  // expected-error@+1 {{'tile.dot' op a has elements of type 'i32', expected bf16, f16, f8, f32, f64 or i8}}
  %0 = tile.dot %a, %a, %a : tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xi32>
  return
}

// -----

// a precision of bf16
func.func @f(%a: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error@+1 {{'tile.dot' op precision is tf32, expected none for elements of type 'bf16'}}
  %0 = tile.dot %a, %a, %c precision = tf32 : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  return
}

// -----

// no such precision
func.func @f(%a: tensor<16x16xf32>) {
  // expected-error@+1 {{expected ieee, tf32 or bf16x3, got f32}}
  %0 = tile.dot %a, %a, %a precision = f32 : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

// an end for each column
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>, %low: tensor<64xi32>) {
  // expected-error@+1 {{'tile.dot' op low has shape [64], expected [16] for a of shape [16, 64]}}
  %0 = tile.dot %a, %b, %c within(%low, %low : tensor<64xi32>, tensor<64xi32>) : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// ends of another type
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>, %low: tensor<16xi32>, %high: tensor<16xi64>) {
  // expected-error@+1 {{'tile.dot' op high has elements of type 'i64', expected 'i32' as places along k}}
  %0 = tile.dot %a, %b, %c within(%low, %high : tensor<16xi32>, tensor<16xi64>) : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// one end
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>, %low: tensor<16xi32>) {
  // expected-error@+1 {{'tile.dot' op has 1 within bounds, expected two, low and high}}
  %0 = tile.dot %a, %b, %c within(%low : tensor<16xi32>) : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// ends of a product of integers
func.func @f(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xi32>, %low: tensor<16xi32>) {
  // expected-error@+1 {{'tile.dot' op has within bounds for elements of type 'i8', expected bf16, f16 or f32}}
  %0 = tile.dot %a, %b, %c within(%low, %low : tensor<16xi32>, tensor<16xi32>) : tensor<16x32xi8>, tensor<32x8xi8> -> tensor<16x8xi32>
  return
}

// -----

// an instruction of another type
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{'tile.dot' op of 'tensor<16x64xf16>' does not become #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>}}
  %0 = tile.dot %a, %b, %c {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>} : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// an instruction whose k does not divide the block's
func.func @f(%a: tensor<16x24xf16>, %b: tensor<24x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{'tile.dot' op of 'tensor<16x24xf16>' does not become #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16>}}
  %0 = tile.dot %a, %b, %c {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16>} : tensor<16x24xf16>, tensor<24x8xf16> -> tensor<16x8xf32>
  return
}

// -----

// f32 that is split, without parts
func.func @f(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{does not become #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>}}
  %0 = tile.dot %a, %b, %c {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>} : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

// no such instruction
func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{there is no mma_sync of 16x8x32 on 'f16'}}
  %0 = tile.dot %a, %b, %c {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 32, element = f16>} : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{operands in 2 parts of 'f16', expected 1, or up to 3 of bf16}}
  %0 = tile.dot %a, %b, %c {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16, parts = 2>} : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}
