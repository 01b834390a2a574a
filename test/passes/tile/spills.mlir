// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions,tile-assign-layouts,tile-lower-to-threads))' --split-input-file --verify-diagnostics -o /dev/null

// 256x128 numbers of f32 are 256 for each of 128 threads.
gpu.module @kernels {
  gpu.func @many(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x128xbf16>, %z: !tile.view<256x128xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<256x128xf32>
    // expected-warning@+1 {{carries blocks that take 256 registers of each thread of 4 warps, which has 255: some of them spill; use more warps or smaller blocks}}
    %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> tensor<256x128xf32> {
      %a = tile.load %x[%c0 : 256, %k : 16] : !tile.view<256x64xbf16>
      %b = tile.load %y[%k : 16, %c0 : 128] : !tile.view<64x128xbf16>
      %next = tile.dot %a, %b, %acc : tensor<256x16xbf16>, tensor<16x128xbf16> -> tensor<256x128xf32>
      scf.yield %next : tensor<256x128xf32>
    }
    tile.store %sum, %z[%c0 : 256, %c0 : 128] : !tile.view<256x128xf32>
    gpu.return
  }
}

// -----

// 128 for each of 256 threads.
gpu.module @kernels {
  gpu.func @few(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x128xbf16>, %z: !tile.view<256x128xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 8>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<256x128xf32>
    %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> tensor<256x128xf32> {
      %a = tile.load %x[%c0 : 256, %k : 16] : !tile.view<256x64xbf16>
      %b = tile.load %y[%k : 16, %c0 : 128] : !tile.view<64x128xbf16>
      %next = tile.dot %a, %b, %acc : tensor<256x16xbf16>, tensor<16x128xbf16> -> tensor<256x128xf32>
      scf.yield %next : tensor<256x128xf32>
    }
    tile.store %sum, %z[%c0 : 256, %c0 : 128] : !tile.view<256x128xf32>
    gpu.return
  }
}

// -----

// What is read before a sum and divided by it behind: 512 for each of 1024
// threads, of which each has a part of 64K registers.
gpu.module @kernels {
  gpu.func @rows(%x: !tile.view<1024x512xf32>, %y: !tile.view<1024x512xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 32>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 1024, %c0 : 512] : !tile.view<1024x512xf32>
    // expected-warning@+1 {{has behind it blocks that take 512 registers of each thread of 32 warps, which has 64: some of them spill; use more warps or smaller blocks}}
    %s = tile.reduce add %a axis 1 : tensor<1024x512xf32>
    %s1 = tile.expand_dims %s axis 1 : tensor<1024xf32>
    %sb = tile.broadcast %s1 : tensor<1024x1xf32> -> tensor<1024x512xf32>
    %r = arith.divf %a, %sb : tensor<1024x512xf32>
    tile.store %r, %y[%c0 : 1024, %c0 : 512] : !tile.view<1024x512xf32>
    gpu.return
  }
}

// -----

// 64 for each of 512.
gpu.module @kernels {
  gpu.func @fewer(%x: !tile.view<64x512xf32>, %y: !tile.view<64x512xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 16>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 64, %c0 : 512] : !tile.view<64x512xf32>
    %s = tile.reduce add %a axis 1 : tensor<64x512xf32>
    %s1 = tile.expand_dims %s axis 1 : tensor<64xf32>
    %sb = tile.broadcast %s1 : tensor<64x1xf32> -> tensor<64x512xf32>
    %r = arith.divf %a, %sb : tensor<64x512xf32>
    tile.store %r, %y[%c0 : 64, %c0 : 512] : !tile.view<64x512xf32>
    gpu.return
  }
}
