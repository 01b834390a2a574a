// RUN: act-opt %s --split-input-file --verify-diagnostics

// too few indices
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op has 1 indices for a view of rank 2}}
  %0 = tile.load %v[%i : 8] : !tile.view<8x4xf32>
  return
}

// -----

// too few extents
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op has 1 extents for a view of rank 2}}
  %0 = "tile.load"(%v, %i, %i) <{extents = array<i64: 8>}> : (!tile.view<8x4xf32>, index, index) -> tensor<8xf32>
  return
}

// -----

// an extent of nothing
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{a block's extent is 0, expected 1 or more}}
  %0 = tile.load %v[%i : 0, %i] : !tile.view<8x4xf32>
  return
}

// -----

// a negative extent
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op extent 1 is -2, expected 1 or more, or -1}}
  %0 = "tile.load"(%v, %i, %i) <{extents = array<i64: 8, -2>}> : (!tile.view<8x4xf32>, index, index) -> tensor<8xf32>
  return
}

// -----

// two gathers
func.func @f(%v: !tile.view<8x4xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'tile.load' op indices 0 and 1 are tensors, expected one at most}}
  %0 = tile.load %v[%i : tensor<3xi32>, %i : tensor<3xi32>] : !tile.view<8x4xf32>
  return
}

// -----

// a gather of another length
func.func @f(%v: !tile.view<8x4xf32>, %i: index, %k: tensor<3xi32>) {
  // expected-error@+1 {{'tile.load' op index 0 has shape [3], expected [5], the extent there}}
  %0 = "tile.load"(%v, %k, %i) <{extents = array<i64: 5, -1>}> : (!tile.view<8x4xf32>, tensor<3xi32>, index) -> tensor<5xf32>
  return
}

// -----

// the result's shape
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op result has shape [4, 8], expected [8, 4] for a block of a view of shape [8, 4]}}
  %0 = tile.load %v[%i : 8, %i : 4] : !tile.view<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

// a block where a scalar is read
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op result has shape [1], expected a scalar for a block of a view of shape [8, 4]}}
  %0 = tile.load %v[%i, %i] : !tile.view<8x4xf32> -> tensor<1xf32>
  return
}

// -----

// the result's element type
func.func @f(%v: !tile.view<8x4xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op result has elements of type 'bf16', expected 'f32' as in view}}
  %0 = tile.load %v[%i : 8, %i : 4] : !tile.view<8x4xf32> -> tensor<8x4xbf16>
  return
}

// -----

// padding that is no such number
func.func @f(%v: !tile.view<8xi32>, %i: index) {
  // expected-error@+1 {{pad is not a number of type 'i32'}}
  %0 = tile.load %v[%i : 8] pad = neg_inf : !tile.view<8xi32>
  return
}

// -----

// padding too large for the type
func.func @f(%v: !tile.view<8xf16>, %i: index) {
  // expected-error@+1 {{pad is not a number of type 'f16'}}
  %0 = tile.load %v[%i : 8] pad = 1.0e6 : !tile.view<8xf16>
  return
}

// -----

// infinity in a type that has none
func.func @f(%v: !tile.view<8xf8E4M3FN>, %i: index) {
  // expected-error@+1 {{pad is not a number of type 'f8E4M3FN'}}
  %0 = tile.load %v[%i : 8] pad = inf : !tile.view<8xf8E4M3FN>
  return
}

// -----

// an integer too large for the type
func.func @f(%v: !tile.view<8xi8>, %i: index) {
  // expected-error@+1 {{pad is not a number of type 'i8'}}
  %0 = tile.load %v[%i : 8] pad = 256 : !tile.view<8xi8>
  return
}

// -----

// padding of another type
func.func @f(%v: !tile.view<8xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op pad is of type 'f64', expected 'f32' as in view}}
  %0 = "tile.load"(%v, %i) <{extents = array<i64: 8>, pad = 0.0 : f64}> : (!tile.view<8xf32>, index) -> tensor<8xf32>
  return
}

// -----

// not from a view
func.func @f(%v: tensor<8xf32>, %i: index) {
  // expected-error@+1 {{expected a view, got 'tensor<8xf32>'}}
  %0 = tile.load %v[%i : 8] : tensor<8xf32>
  return
}

// -----

// an index that is no number
func.func @f(%v: !tile.view<8xf32>, %i: f32) {
  // expected-error@+1 {{'tile.load' op operand #1 must be variadic of index or 32-bit signless integer or 64-bit signless integer or 1D tensor of 32-bit signless integer or 64-bit signless integer values, but got 'f32'}}
  %0 = tile.load %v[%i : f32 : 8] : !tile.view<8xf32>
  return
}

// -----

// an index too few: the error is here, not where the result is used
func.func @f(%v: !tile.view<64x64xf32>, %i: index, %a: tensor<8x8xf32>) {
  // expected-error@+1 {{'tile.load' op has 1 indices for a view of rank 2}}
  %0 = tile.load %v[%i : 8] : !tile.view<64x64xf32>
  %1 = arith.addf %0, %a : tensor<8x8xf32>
  return
}

// -----

// rows whose number is not known
func.func @f(%v: !tile.view<64x64xf32>, %i: tensor<?xi32>, %c: index, %a: tensor<8x8xf32>) {
  // expected-error@+1 {{'tile.load' op index 0 has shape [?], expected one dimension of a size that is known}}
  %0 = tile.load %v[%i : tensor<?xi32>, %c : 8] : !tile.view<64x64xf32>
  %1 = arith.addf %0, %a : tensor<8x8xf32>
  return
}
