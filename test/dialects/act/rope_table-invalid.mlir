// RUN: act-opt %s --split-input-file --verify-diagnostics

// positions' rank
func.func @f(%p: tensor<2x8xi32>) {
  // expected-error@+1 {{'act.rope_table' op positions has rank 2, expected 1 for tokens}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<2x8xi32> -> tensor<8x4xf32>
  return
}

// -----

// the table's rank
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op cos has rank 1, expected 2 for a table}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

// the table's rows
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op cos has shape [7, 4], expected [8, 4] for positions of shape [8]}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<8xi32> -> tensor<7x4xf32>
  return
}

// -----

// theta
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op theta is 0.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 0.0 : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// linear's factor
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op linear is -1.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 linear(-1.0) : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// two scalings
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op has several of llama3, linear and frequencies, expected one of them}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 1.0, 4.0, 8192.0] linear(2.0) : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// three numbers
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3 has 3 numbers, expected [factor, low, high, original]}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 1.0, 4.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// llama3's factor
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3's factor is 0.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [0.0, 1.0, 4.0, 8192.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// llama3's low
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3's low is 0.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 0.0, 4.0, 8192.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// llama3's high
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3's high is 0.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 1.0, 0.0, 8192.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// llama3's original
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3's original is 0.000000e+00, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 1.0, 4.0, 0.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// low above high
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op llama3's low is 4.000000e+00, expected less than high, 1.000000e+00}}
  %cos, %sin = act.rope_table %p theta 1.000000e+04 llama3 [8.0, 4.0, 1.0, 8192.0] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

// tables that differ, in the generic form
func.func @f(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op sin has shape [8, 3], expected [8, 4] as in cos}}
  %cos, %sin = "act.rope_table"(%p) {theta = 1.0e4} : (tensor<8xi32>) -> (tensor<8x4xf32>, tensor<8x3xf32>)
  return
}

// -----

func.func @frequencies(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op has 3 frequencies for 4 pairs}}
  %cos, %sin = act.rope_table %p theta 1.0e+04 frequencies [1.0, 0.5, 0.25] : tensor<8xi32> -> tensor<8x4xf32>
  return
}

// -----

func.func @backwards(%p: tensor<8xi32>) {
  // expected-error@+1 {{'act.rope_table' op a frequency is -5.000000e-01, expected a finite number above 0}}
  %cos, %sin = act.rope_table %p theta 1.0e+04 frequencies [1.0, -0.5] : tensor<8xi32> -> tensor<8x2xf32>
  return
}
