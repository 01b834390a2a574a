// RUN: act-opt %s --split-input-file --verify-diagnostics

// rank
func.func @f(%x: tensor<8x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) {
  // expected-error@+1 {{'act.rope' op input has rank 2, expected 3 or more}}
  %0 = act.rope %x, %cos, %sin : tensor<8x8xf32>, tensor<8x4xf32>
  return
}

// -----

// rank, heads first
func.func @f(%x: tensor<8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) {
  // expected-error@+1 {{'act.rope' op input has rank 1, expected 2 or more}}
  %0 = act.rope %x, %cos, %sin heads_first : tensor<8xf32>, tensor<8x4xf32>
  return
}

// -----

// the table's rank
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<8xf32>, %sin: tensor<8xf32>) {
  // expected-error@+1 {{'act.rope' op cos has rank 1, expected 2 for a table}}
  %0 = act.rope %x, %cos, %sin : tensor<1x8x2x8xf32>, tensor<8xf32>
  return
}

// -----

// odd heads
func.func @f(%x: tensor<1x8x2x7xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) {
  // expected-error@+1 {{'act.rope' op input of shape [1, 8, 2, 7] has heads of odd size}}
  %0 = act.rope %x, %cos, %sin : tensor<1x8x2x7xf32>, tensor<8x4xf32>
  return
}

// -----

// the table's rows
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<7x4xf32>, %sin: tensor<7x4xf32>) {
  // expected-error@+1 {{'act.rope' op cos has shape [7, 4], expected [8, 4] for an input of shape [1, 8, 2, 8]}}
  %0 = act.rope %x, %cos, %sin : tensor<1x8x2x8xf32>, tensor<7x4xf32>
  return
}

// -----

// the table's columns
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x8xf32>, %sin: tensor<8x8xf32>) {
  // expected-error@+1 {{'act.rope' op cos has shape [8, 8], expected [8, 4] for an input of shape [1, 8, 2, 8]}}
  %0 = act.rope %x, %cos, %sin : tensor<1x8x2x8xf32>, tensor<8x8xf32>
  return
}

// -----

// tokens are not heads
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) {
  // expected-error@+1 {{'act.rope' op cos has shape [8, 4], expected [2, 4] for an input of shape [1, 8, 2, 8]}}
  %0 = act.rope %x, %cos, %sin heads_first : tensor<1x8x2x8xf32>, tensor<8x4xf32>
  return
}

// -----

// another shape of the result, in the generic form
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>) {
  // expected-error@+1 {{'act.rope' op result has shape [1, 8, 1, 8], expected [1, 8, 2, 8] as in input}}
  %0 = "act.rope"(%x, %cos, %cos) : (tensor<1x8x2x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x1x8xf32>
  return
}

// -----

// tables that differ, in the generic form
func.func @f(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x8xf32>) {
  // expected-error@+1 {{'act.rope' op sin has shape [8, 8], expected [8, 4] as in cos}}
  %0 = "act.rope"(%x, %cos, %sin) : (tensor<1x8x2x8xf32>, tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<1x8x2x8xf32>
  return
}
