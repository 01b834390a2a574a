// RUN: act-opt %s --split-input-file --verify-diagnostics

// a block, which is not memory
func.func @f(%x: tensor<64x64xf32>) {
  // expected-error@+1 {{must be blocks in shared memory, but got 'tensor<64x64xf32>'}}
  tile.wait_stores %x : tensor<64x64xf32>
  return
}
