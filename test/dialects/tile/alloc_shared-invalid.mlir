// RUN: act-opt %s --split-input-file --verify-diagnostics

// an offset between chunks
func.func @f() {
  // expected-error@+1 {{'tile.alloc_shared' op offset is 24, expected a multiple of 16, 0 or more}}
  %0 = tile.alloc_shared offset 24 : !tile.shared<64xf32>
  return
}

// -----

// a negative offset
func.func @f() {
  // expected-error@+1 {{'tile.alloc_shared' op offset is -16, expected a multiple of 16, 0 or more}}
  %0 = tile.alloc_shared offset -16 : !tile.shared<64xf32>
  return
}
