// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  // expected-error@+1 {{tile.block_sizes is 3 : i64, expected {NAME = number, ..}}}
  gpu.func @no_sizes() kernel attributes {tile.block_sizes = 3} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{block size M is 0 : i64, expected 1 to 1048576}}
  gpu.func @zero() kernel attributes {tile.block_sizes = {M = 0}} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{block size M is 64 : i32, expected 1 to 1048576}}
  gpu.func @narrow() kernel attributes {tile.block_sizes = {M = 64 : i32}} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{has tile.block_sizes, expected it on a gpu.func that is a kernel}}
  gpu.func @no_kernel() attributes {tile.block_sizes = {M = 64}} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @other_number(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{has 32 for M, expected 64 as the kernel's tile.block_sizes say}}
    %a = tile.load %x[%c0 : M = 32] : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @other_name(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{has an extent K, which the kernel's tile.block_sizes do not have}}
    %a = tile.load %x[%c0 : K = 64] : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_extent(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{index 0 has no extent that could be M}}
    %a = tile.load %x[%c0] {tile.extent_names = ["M"]} : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_access(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    // expected-error@+1 {{has tile.extent_names, expected it on a load, a store or an atomic_add}}
    %c0 = arith.constant {tile.extent_names = ["M"]} 0 : index
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @too_many(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{expected a string for each index}}
    %a = tile.load %x[%c0 : 64] {tile.extent_names = ["M", "M"]} : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_number(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{expected '='}}
    %a = tile.load %x[%c0 : M] : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unknown() kernel attributes {tile.block_sizes = {M = 64}} {
    // expected-error@+1 {{is of K, which the kernel's tile.block_sizes do not have}}
    %k = tile.block_size K
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @none() kernel {
    // expected-error@+1 {{is of K, which the kernel's tile.block_sizes do not have}}
    %k = tile.block_size K
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{tile.grid has blocks of K, which tile.block_sizes do not have}}
  gpu.func @grid() kernel attributes {tile.block_sizes = {M = 64}, tile.grid = #tile.grid<100/K>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{tile.grid is 70000 along y, expected 1 to 65535}}
  gpu.func @long() kernel attributes {tile.block_sizes = {M = 1}, tile.grid = #tile.grid<1, 70000/M>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{expected array<i64: x, y, z>}}
  gpu.func @product() kernel attributes {tile.grid = #tile.grid<4611686018427387904 * 4611686018427387904>} {
    gpu.return
  }
}

// -----

// expected-error@+1 {{a grid has 4 axes, expected 1 to 3}}
"builtin.unrealized_conversion_cast"() {a = #tile.grid<1, 2, 3, 4>} : () -> ()

// -----

// expected-error@+1 {{a grid has a factor of 0, expected 1 or more}}
"builtin.unrealized_conversion_cast"() {a = #tile.grid<2 * 0/M>} : () -> ()

// -----

// expected-error@+1 {{a grid has no axis}}
"builtin.unrealized_conversion_cast"() {a = #tile.grid<>} : () -> ()

// -----

gpu.module @kernels {
  gpu.func @broken(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    // expected-error@+1 {{expected 1 or more operands}}
    %a = "tile.load"() {tile.extent_names = ["M"]} : () -> tensor<64xf32>
    gpu.return
  }
}
