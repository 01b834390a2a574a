// RUN: act-opt %s --split-input-file --verify-diagnostics

// no scalar
func.func @f(%labels: tensor<2x3xi32>) {
  // expected-error@+1 {{'act.label_count' op result has rank 1, expected 0 for a count}}
  %0 = act.label_count %labels ignore -100 : tensor<2x3xi32> -> tensor<1xf32>
  return
}
