// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  // expected-error@+1 {{tile.index_bits is 16 : i32, expected 32 or 64}}
  gpu.func @bits(%x: !tile.view<8xf32>) kernel attributes {tile.index_bits = 16 : i32} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{tile.index_bits is "32", expected 32 or 64}}
  gpu.func @text(%x: !tile.view<8xf32>) kernel attributes {tile.index_bits = "32"} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{has an argument of type index, but tile.index_bits = 32}}
  gpu.func @argument(%x: !tile.ptr<f32>, %n: index) kernel attributes {tile.index_bits = 32 : i32} {
    gpu.return
  }
}

// -----

// expected-error@+1 {{has tile.index_bits, expected it on a gpu.func that is a kernel}}
gpu.module @kernels attributes {tile.index_bits = 32 : i32} {
  gpu.func @elsewhere(%x: !tile.ptr<f32>, %n: index) kernel attributes {tile.index_bits = 64 : i32} {
    gpu.return
  }
}
