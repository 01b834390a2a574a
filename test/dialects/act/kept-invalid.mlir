// RUN: act-opt %s --split-input-file --verify-diagnostics

// another type, in the generic form
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.kept' op requires the same type for all operands and results}}
  %k = "act.kept"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// a dimension without a name
func.func @f(%x: tensor<?xf32>) {
  // expected-error@+1 {{'act.kept' op operand 0 of type 'tensor<?xf32>' has no name for its dynamic dimension 0}}
  %k = act.kept %x : tensor<?xf32>
  return
}
