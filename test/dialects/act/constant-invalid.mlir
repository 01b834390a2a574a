// RUN: act-opt %s --split-input-file --verify-diagnostics

// a vector
func.func @f() {
  // expected-error@+1 {{expected a constant of tensor type, got 'vector<4xf32>'}}
  %c = act.constant dense<0.0> : vector<4xf32>
  return
}

// -----

// no constant
func.func @f() {
  // expected-error@+1 {{invalid kind of attribute specified}}
  %c = act.constant 3 : i32
  return
}

// -----

// a value of another type
func.func @f() {
  // expected-error@+1 {{'act.constant' op value has type 'tensor<3xf32>', expected 'tensor<4xf32>' as in result}}
  %c = "act.constant"() {value = dense<0.0> : tensor<3xf32>} : () -> tensor<4xf32>
  return
}

// -----

// an element type without meaning
func.func @f() {
  // expected-error@+1 {{'act.constant' op result #0 must be ranked tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or f8E4M3FN type or 1-bit signless integer or 32-bit signless integer or 64-bit signless integer or a 4-bit normal-float weight element, quantised in blocks values, but got 'tensor<4xi16>'}}
  %c = act.constant dense<0> : tensor<4xi16>
  return
}
