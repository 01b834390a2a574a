// RUN: act-opt %s --split-input-file --verify-diagnostics

// no iterations
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op count is 0, expected 1 to 2^31 - 1}}
  %0 = act.repeat @layer count(L = 0) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// too many iterations
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op count is 4294967296, expected 1 to 2^31 - 1}}
  %0 = act.repeat @layer count(L = 4294967296) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a negative start
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op from is -1, expected 0 or more, and less than 2^31 with count}}
  %0 = act.repeat @layer count(L = 2) from(-1) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a letter that is none
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op letter '2b' is not an identifier}}
  %0 = "act.repeat"(%x) {callee = @layer, letter = "2b", count = 2, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a carried value without a result
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op has 0 results, expected 1 carried ones or more}}
  act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> ()
  return
}

// -----

// a carried value of another type
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op result 0 has type 'tensor<8xf32>', expected 'tensor<4x8xf32>' as carried}}
  %0 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// a stack of another height
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{'act.repeat' op stacked operand 0 has type 'tensor<3x8xf32>', expected a tensor whose first dimension is 2 (L)}}
  %0 = act.repeat @layer count(L = 2) carry(%x) stack(%w) : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a stack of scalars
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>, %w: i64) {
  // expected-error@+1 {{'act.repeat' op stacked operand 0 has type 'i64', expected a tensor whose first dimension is 2 (L)}}
  %0 = act.repeat @layer count(L = 2) carry(%x) stack(%w) : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  return
}

// -----

// a stacked result of another height
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op stacked result 0 has type 'tensor<3x8xf32>', expected a tensor whose first dimension is 2 (L)}}
  %0:2 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>)
  return
}

// -----

// no callee
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op calls @layer, which does not exist}}
  %0 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a callee that is no function
act.parameter @layer "w" : tensor<4xf32>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op calls @layer, which is not a function}}
  %0 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a declaration
func.func private @layer(tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op calls @layer, which has no body}}
  %0 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a function that repeats itself
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'act.repeat' op calls @f, which calls this function again}}
  %0 = act.repeat @f count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// functions that repeat each other
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'act.repeat' op calls @g, which calls this function again}}
  %0 = act.repeat @g count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @g(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = func.call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// too many values
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op passes 3 values to @layer, which takes 1}}
  %0 = act.repeat @layer count(L = 2) carry(%x) shared(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// another number of results
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op has 2 results, but @layer returns 1}}
  %0:2 = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>)
  return
}

// -----

// an argument of another type
// expected-note@+1 {{declared here}}
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%x: tensor<8xf32>) {
  // expected-error@+1 {{'act.repeat' op argument 0 of @layer has type 'tensor<4x8xf32>', expected 'tensor<8xf32>'}}
  %0 = act.repeat @layer count(L = 2) carry(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// a slice of another type
// expected-note@+1 {{declared here}}
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @f(%w: tensor<2x8xf32>) {
  // expected-error@+1 {{'act.repeat' op argument 0 of @layer has type 'tensor<4x8xf32>', expected 'tensor<8xf32>'}}
  act.repeat @layer count(L = 2) stack(%w) : (tensor<2x8xf32>) -> ()
  return
}

// -----

// a result of another type
// expected-note@+1 {{declared here}}
func.func @g(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = act.constant dense<0.0> : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op result 0 of @g has type 'tensor<2x8xf32>', expected 'tensor<4x8xf32>'}}
  %0 = act.repeat @g count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a slice of another result
// expected-note@+1 {{declared here}}
func.func @g(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = act.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.repeat' op result 0 of @g has type 'tensor<4xf32>', expected 'tensor<8xf32>'}}
  %0 = act.repeat @g count(L = 2) shared(%x) : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

// no count
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected integer value}}
  %0 = act.repeat @f count() carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// a letter and no count
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected '='}}
  %0 = act.repeat @f count(L) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// more micro-batches than dropout can tell apart
func.func @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.repeat' op has micro-batches up to 4097, expected 4096 at most}}
  %y = act.repeat @layer count(4097) micro_batches carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
