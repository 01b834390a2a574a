// RUN: act-opt %s --split-input-file --verify-diagnostics

// boundaries
func.func @f(%cu: tensor<1xi32>) {
  // expected-error@+1 {{'act.segment_mask' op cu_seqlens has 1 entry, expected 2 or more}}
  %0 = act.segment_mask %cu : tensor<1xi32> -> tensor<8x8xi1>
  return
}

// -----

// rank
func.func @f(%cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.segment_mask' op result has rank 1, expected 2 for a mask}}
  %0 = act.segment_mask %cu : tensor<5xi32> -> tensor<8xi1>
  return
}

// -----

// not square
func.func @f(%cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.segment_mask' op result has shape [8, 4], expected [8, 8] for a mask between tokens of one batch}}
  %0 = act.segment_mask %cu : tensor<5xi32> -> tensor<8x4xi1>
  return
}
