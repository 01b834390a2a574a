// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-block-sizes{sizes=M=16}))' --split-input-file --verify-diagnostics
// RUN: not act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-block-sizes{sizes=M=0}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-block-sizes{sizes=M}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE

// ZERO: expected a block size as NAME=NUMBER, of 1 to 1048576, found 'M=0'
// NONE: expected a block size as NAME=NUMBER, of 1 to 1048576, found 'M'

// expected-error@+1 {{no kernel has a block size M}}
gpu.module @unknown {
  gpu.func @f() kernel attributes {tile.block_sizes = {N = 64}} {
    gpu.return
  }
}

// -----

gpu.module @unnamed {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : M = 64] : !tile.view<64xf32>
    // expected-error@+1 {{has an extent of 64, which cannot become 16 as M is to be}}
    tile.store %a, %x[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @two {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64, N = 64}} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : M = 64] : !tile.view<64xf32>
    // expected-error@+1 {{has an extent N that becomes 64, but elsewhere in the kernel the same extent is M, which becomes 16}}
    tile.store %a, %x[%c0 : N = 64] : !tile.view<64xf32>
    gpu.return
  }
}

// -----

gpu.module @merged {
  gpu.func @f(%x: !tile.view<64x4xf32>, %y: !tile.view<256xf32>) kernel attributes {tile.block_sizes = {M = 64}} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : M = 64, %c0 : 4] : !tile.view<64x4xf32>
    // expected-error@+1 {{has an extent of 64, which cannot become 16 as M is to be}}
    %b = tile.reshape %a : tensor<64x4xf32> -> tensor<256xf32>
    tile.store %b, %y[%c0 : 256] : !tile.view<256xf32>
    gpu.return
  }
}

// -----

gpu.module @numbers {
  gpu.func @f(%x: !tile.view<2xf32>) kernel attributes {tile.block_sizes = {M = 2}} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{has an extent of 2, which cannot become 16 as M is to be}}
    %n = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    tile.store %n, %x[%c0 : M = 2] : !tile.view<2xf32>
    gpu.return
  }
}

// -----

gpu.module @expanded {
  gpu.func @f(%x: !tile.view<64x64xf32>, %y: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 1}} {
    %c0 = arith.constant 0 : index
    %a = tile.load %y[%c0 : 64] : !tile.view<64xf32>
    // expected-error@+1 {{has an extent of 1, which cannot become 16 as M is to be}}
    %b = tile.expand_dims %a axis 0 : tensor<64xf32>
    tile.store %b, %x[%c0 : M = 1, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}

// -----

#l = #tile.layout<register = [2:(1)], lane = [32:(2)], warp = []>
gpu.module @layouts {
  gpu.func @f(%x: !tile.view<64xf32>) kernel attributes {tile.block_sizes = {M = 64}, tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{has a block with a layout; set block sizes before layouts are assigned}}
    %a = tile.load %x[%c0 : M = 64] : !tile.view<64xf32> -> tensor<64xf32, #l>
    gpu.return
  }
}
