// RUN: act-opt %s --split-input-file --verify-diagnostics

// nothing to count
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from 8 to 8, expected an end past the start}}
  %0 = tile.iota 8 to 8
  return
}

// -----

// past i32
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from 2147483647 to 2147483649, expected numbers of i32}}
  %0 = tile.iota 2147483647 to 2147483649
  return
}

// -----

// past i64
func.func @f() {
  // expected-error@+1 {{'tile.iota' op counts from -9223372036854775808 to 9223372036854775807, expected numbers of i32}}
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

// -----

// the error is here, not where the result is used
func.func @f(%a: tensor<128xi32>) {
  // expected-error@+1 {{'tile.iota' op counts from 128 to 0, expected an end past the start}}
  %0 = tile.iota 128 to 0
  %1 = arith.addi %0, %a : tensor<128xi32>
  return
}

// -----

// the same in the form that states all types
func.func @f(%a: tensor<128xi32>) {
  // expected-error@+1 {{'tile.iota' op counts from 128 to 0, expected an end past the start}}
  %0 = "tile.iota"() <{start = 128, end = 0}> : () -> tensor<128xi32>
  %1 = arith.addi %0, %a : tensor<128xi32>
  return
}
