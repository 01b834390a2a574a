// RUN: act-opt %s --split-input-file --verify-diagnostics

// another block
func.func @f(%a: tensor<16x32xf32>, %s: !tile.shared<2x16x64xf32>, %i: index) {
  // expected-error@+1 {{'tile.store_shared' op value has shape [16, 32], expected [16, 64] for shared memory of shape [2, 16, 64]}}
  tile.store_shared %a, %s[%i] : tensor<16x32xf32>, !tile.shared<2x16x64xf32>
  return
}

// -----

// another element type
func.func @f(%a: tensor<16xf16>, %s: !tile.shared<16xf32>) {
  // expected-error@+1 {{'tile.store_shared' op value has elements of type 'f16', expected 'f32' as in shared}}
  tile.store_shared %a, %s : tensor<16xf16>, !tile.shared<16xf32>
  return
}

// -----

func.func @order(%a: tensor<8x16x64xf32>, %s: !tile.shared<8x1024xf32>) {
  // expected-error@+1 {{'tile.store_shared' op has order [0, 2, 2], expected a permutation of the dimensions of 'tensor<8x16x64xf32>'}}
  tile.store_shared %a, %s order [0, 2, 2] : tensor<8x16x64xf32>, !tile.shared<8x1024xf32>
  return
}

// -----

func.func @rows(%a: tensor<8x16x64xf32>, %s: !tile.shared<8x512xf32>) {
  // expected-error@+1 {{expected rows with as many elements, without a swizzle}}
  tile.store_shared %a, %s order [0, 2, 1] : tensor<8x16x64xf32>, !tile.shared<8x512xf32>
  return
}
