// RUN: act-opt %s --split-input-file --verify-diagnostics

// another type, in the generic form
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.offload' op result has shape [5], expected [4] as in input}}
  %k = "act.offload"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// a dimension without a name
func.func @f(%x: tensor<?xf32>) {
  // expected-error@+1 {{'act.offload' op operand 0 of type 'tensor<?xf32>' has no name for its dynamic dimension 0}}
  %k = act.offload %x : tensor<?xf32>
  return
}

// -----

// the same sizes under other names, in the generic form
func.func @f(%x: tensor<4xf32, #act.dims<"b">>) {
  // expected-error@+1 {{'act.offload' op result has type 'tensor<4xf32, #act.dims<s>>', expected 'tensor<4xf32, #act.dims<b>>' as in input}}
  %k = "act.offload"(%x) : (tensor<4xf32, #act.dims<"b">>) -> tensor<4xf32, #act.dims<"s">>
  return
}
