// RUN: act-opt %s --split-input-file --verify-diagnostics

// masks that do not broadcast
func.func @f(%m: tensor<4x4xi1>, %n: tensor<3xi1>) {
  // expected-error@+1 {{'act.and' op cannot broadcast rhs of shape [3] with lhs of shape [4, 4]}}
  %0 = act.and %m, %n : (tensor<4x4xi1>, tensor<3xi1>) -> tensor<4x4xi1>
  return
}

// -----

// a result of another shape
func.func @f(%m: tensor<4x4xi1>, %n: tensor<4xi1>) {
  // expected-error@+1 {{'act.and' op result has shape [4], expected [4, 4] for lhs of shape [4, 4] and rhs of shape [4]}}
  %0 = act.and %m, %n : (tensor<4x4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}
