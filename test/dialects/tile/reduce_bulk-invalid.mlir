// RUN: act-opt %s --split-input-file --verify-diagnostics

func.func @elements(%s: !tile.shared<8x64xi32>, %v: !tile.view<512x64xi32>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tile.reduce_bulk' op adds elements that are not f32}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 64] : !tile.shared<8x64xi32>, !tile.view<512x64xi32>
  return
}

// -----

// a part of each row: no run of whole dimensions
func.func @columns(%s: !tile.shared<8x32xf32>, %v: !tile.view<512x64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tile.reduce_bulk' op consists of runs of 1 elements along several dimensions, expected one}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 32] : !tile.shared<8x32xf32>, !tile.view<512x64xf32>
  return
}

// -----

func.func @pieces(%s: !tile.shared<8x6xf32>, %v: !tile.view<512x6xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tile.reduce_bulk' op consists of runs of 6 elements, expected a multiple of 16 bytes}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 6] : !tile.shared<8x6xf32>, !tile.view<512x6xf32>
  return
}

// -----

func.func @begins(%s: !tile.shared<8x64xf32>, %v: !tile.view<512x64xf32, strides = [65, 1]>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tile.reduce_bulk' op is of a view with a stride of 65 elements along dimension 0, expected a multiple of 16 bytes}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 64] : !tile.shared<8x64xf32>, !tile.view<512x64xf32, strides = [65, 1]>
  return
}

// -----

func.func @shape(%s: !tile.shared<64x8xf32>, %v: !tile.view<512x64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{by 0 slot indices to 8 runs of 64 elements, expected a row of f32 for each, without a swizzle}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 64] : !tile.shared<64x8xf32>, !tile.view<512x64xf32>
  return
}

// -----

func.func @size(%s: !tile.shared<8x64xf32>, %v: !tile.view<?x64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tile.reduce_bulk' op is of a view of dynamic size}}
  tile.reduce_bulk %s to %v[%i : 8, %c0 : 64] : !tile.shared<8x64xf32>, !tile.view<?x64xf32>
  return
}

// -----

// by all threads
gpu.module @kernels {
  gpu.func @f(%v: !tile.view<512x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : !tile.shared<8x64xf32>
    // expected-error@+1 {{'tile.reduce_bulk' op is for the region of a tile.roles that stores: each thread that executes it adds the block}}
    tile.reduce_bulk %s to %v[%c0 : 8, %c0 : 64] : !tile.shared<8x64xf32>, !tile.view<512x64xf32>
    gpu.return
  }
}
