// RUN: act-opt %s --split-input-file --verify-diagnostics

// rank
func.func @f() {
  // expected-error@+1 {{'act.positions' op result has rank 2, expected 1 for positions}}
  %0 = act.positions : tensor<2x8xi32>
  return
}

// -----

// boundaries' rank
func.func @f(%cu: tensor<2x5xi32>) {
  // expected-error@+1 {{'act.positions' op cu_seqlens has rank 2, expected 1 for boundaries}}
  %0 = act.positions cu_seqlens(%cu : tensor<2x5xi32>) : tensor<8xi32>
  return
}

// -----

// one boundary
func.func @f(%cu: tensor<1xi32>) {
  // expected-error@+1 {{'act.positions' op cu_seqlens has 1 entry, expected 2 or more}}
  %0 = act.positions cu_seqlens(%cu : tensor<1xi32>) : tensor<8xi32>
  return
}
