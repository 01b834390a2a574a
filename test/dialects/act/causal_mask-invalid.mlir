// RUN: act-opt %s --split-input-file --verify-diagnostics

// rank
func.func @f() {
  // expected-error@+1 {{'act.causal_mask' op result has rank 1, expected 2 for a mask}}
  %0 = act.causal_mask : tensor<8xi1>
  return
}

// -----

// an empty window
func.func @f() {
  // expected-error@+1 {{'act.causal_mask' op window is 0, expected 1 or more}}
  %0 = act.causal_mask window(0) : tensor<8x8xi1>
  return
}

// -----

// a negative window
func.func @f() {
  // expected-error@+1 {{'act.causal_mask' op window is -3, expected 1 or more}}
  %0 = act.causal_mask window(-3) : tensor<8x8xi1>
  return
}
