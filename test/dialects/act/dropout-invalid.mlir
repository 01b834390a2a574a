// RUN: act-opt %s --split-input-file --verify-diagnostics

// p = 1
func.func @f(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.dropout' op p is 1.000000e+00, expected 0 <= p < 1}}
  %0 = act.dropout %x p 1.000000e+00 rng(%seed, %step, %site) : tensor<2x4xf32>
  return
}

// -----

// p = negative
func.func @f(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.dropout' op p is -1.000000e-01, expected 0 <= p < 1}}
  %0 = act.dropout %x p -1.000000e-01 rng(%seed, %step, %site) : tensor<2x4xf32>
  return
}

// -----

// p = nan
func.func @f(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.dropout' op p is nan, expected 0 <= p < 1}}
  %0 = act.dropout %x p 0x7FF8000000000000 rng(%seed, %step, %site) : tensor<2x4xf32>
  return
}

// -----

// a result of another type
func.func @f(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.dropout' op result has shape [4], expected [2, 4] as in input}}
  %0 = "act.dropout"(%x, %seed, %step, %site) {p = 0.1} : (tensor<2x4xf32>, i64, i64, i64) -> tensor<4xf32>
  return
}
