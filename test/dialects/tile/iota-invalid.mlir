// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing to count
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from 8 to 8, expected an ascending range of i32}}
  %0 = tile.iota 8 to 8
  return
}

// -----

// past i32
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from 2147483647 to 2147483649, expected an ascending range of i32}}
  %0 = tile.iota 2147483647 to 2147483649
  return
}

// -----

// past i64
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from -9223372036854775808 to 9223372036854775807, expected an ascending range of i32}}
  %0 = tile.iota -9223372036854775808 to 9223372036854775807
  return
}

// -----

// another length
func.func @f() {
  // expected-error@+1 {{'tile.iota' op result has shape [4], expected [8] for numbers from 0 to 8}}
  %0 = tile.iota 0 to 8 : tensor<4xi32>
  return
}
