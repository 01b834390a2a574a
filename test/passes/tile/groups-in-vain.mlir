// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --emit-ptx="dir=%t target=sm_90a cache-dir=none" --verify-diagnostics -o /dev/null
//
// What a schedule asks for in vain is not ignored in silence.

// Instructions take whole panels of b's rows.
gpu.module @columns {
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x88xbf16>, %c: !tile.view<128x88xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x88xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x88xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 88] : !tile.view<256x88xbf16>
      // expected-warning@+1 {{is a product of single warps: groups of warps need columns that 16 divides for each group, or a tile.trans as b}}
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x88xbf16> -> tensor<128x88xf32>
      scf.yield %dot : tensor<128x88xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 88] : !tile.view<128x88xf32>
    gpu.return
  }
}
// -----

// No instruction multiplies f32.
gpu.module @elements {
  gpu.func @product(%a: !tile.view<128x256xf32>, %b: !tile.view<256x64xf32>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 32 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 32] : !tile.view<128x256xf32>
      %y = tile.load %b[%l : 32, %c0 : 64] : !tile.view<256x64xf32>
      // expected-warning@+1 {{is a product of single warps: groups of warps need operands of bf16 or f16, and a sum of f32}}
      %dot = tile.dot %x, %y, %acc : tensor<128x32xf32>, tensor<32x64xf32> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
// -----

// An instruction takes 16 of k.
gpu.module @depth {
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 8 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 8] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 8, %c0 : 64] : !tile.view<256x64xbf16>
      // expected-warning@+1 {{is a product of single warps: groups of warps need a k that 16 divides}}
      %dot = tile.dot %x, %y, %acc : tensor<128x8xbf16>, tensor<8x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
// -----

// One product cannot run beside what another one's sum is for.
gpu.module @rotated {
  // expected-warning@+1 {{is rotated, but has no loop of two products where copying warps load the operands, and the second product takes what is computed from the sum of the first}}
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, rotated, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
// -----

// One product takes no turns.
gpu.module @turns {
  // expected-warning@+1 {{has turns, but no loop that starts two products before it waits for one}}
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, turns, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
// -----

// A plan that the compiler made may try things.
gpu.module @planned {
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.planned_bytes = 0 : i64, tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, turns, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}

// -----

// The loop over keys is in one over programs, which loads the queries.
gpu.module @persistent {
  gpu.func @chain(%q: !tile.view<512x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<512x64xbf16>)
      kernel attributes {tile.grid = array<i64: 4, 1, 1>, tile.schedule = #tile.schedule<groups = 2, stages = 2, rotated, turns, persistent, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %end = arith.constant 256 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c128 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %Q = tile.load %q[%i : 128, %c0 : 64] : !tile.view<512x64xbf16>
    %sum = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %K = tile.load %k[%j : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %Kt = tile.trans %K : tensor<64x64xbf16>
      %s = tile.dot %Q, %Kt, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %powers = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
      %V = tile.load %v[%j : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %powers, %V, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    %r = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %r, %o[%i : 128, %c0 : 64] : !tile.view<512x64xbf16>
    gpu.return
  }
}

// -----

// Nothing to multiply.
gpu.module @sums {
  // expected-warning@+1 {{has groups of warps, but no products for them}}
  gpu.func @add(%a: !tile.view<256xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 2>} {
    %c0 = arith.constant 0 : index
    %x = tile.load %a[%c0 : 256] : !tile.view<256xf32>
    %y = arith.addf %x, %x : tensor<256xf32>
    tile.store %y, %a[%c0 : 256] : !tile.view<256xf32>
    gpu.return
  }
}

// -----

// nothing to add
gpu.module @turns {
  // expected-warning@+1 {{has a storing warp, but no block that it could add to memory}}
  gpu.func @product(%a: !tile.view<128x256xbf16>, %b: !tile.view<256x64xbf16>, %c: !tile.view<128x64xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 3 at 24, store = 1, compute at 240}>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %x = tile.load %a[%c0 : 128, %l : 64] : !tile.view<128x256xbf16>
      %y = tile.load %b[%l : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %dot = tile.dot %x, %y, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %dot : tensor<128x64xf32>
    }
    tile.store %sum, %c[%c0 : 128, %c0 : 64] : !tile.view<128x64xf32>
    gpu.return
  }
}
