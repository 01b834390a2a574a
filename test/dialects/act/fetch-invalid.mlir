// RUN: act-opt %s --split-input-file --verify-diagnostics

// another type, in the generic form
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.fetch' op result has shape [5], expected [4] as in input}}
  %k = "act.fetch"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// a dimension without a name
func.func @f(%x: tensor<?xf32>) {
  // expected-error@+1 {{'act.fetch' op operand 0 of type 'tensor<?xf32>' has no name for its dynamic dimension 0}}
  %k = act.fetch %x : tensor<?xf32>
  return
}

// -----

// the same sizes under other names, in the generic form
func.func @f(%x: tensor<4xf32, #act.dims<"b">>) {
  // expected-error@+1 {{'act.fetch' op result has type 'tensor<4xf32, #act.dims<s>>', expected 'tensor<4xf32, #act.dims<b>>' as in input}}
  %k = "act.fetch"(%x) : (tensor<4xf32, #act.dims<"b">>) -> tensor<4xf32, #act.dims<"s">>
  return
}
