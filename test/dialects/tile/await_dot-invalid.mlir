// RUN: act-opt %s --split-input-file --verify-diagnostics

// a block, which is not pending
func.func @f(%x: tensor<64x64xf32>) {
  // expected-error@+1 {{must be the sum of a product that may still be computed, but got 'tensor<64x64xf32>'}}
  tile.await_dot %x : tensor<64x64xf32>
  return
}
