// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_80 cache-dir=none" -o /dev/null
// RUN: FileCheck %s --input-file=%t/parts.ptx
// RUN: act-run kernel %s --cache-dir none --arg "out:bf16[3]:%t/y.npy"

// Two warps' parts of three sums are 12 bytes, which LLVM reads as 16: the rest is
// written by one thread, or the read were one of what nobody has written.
gpu.module @kernels {
  // CHECK: .visible .entry parts(
  // CHECK: st.shared.b32 [tile_shared+12], 0
  // CHECK: bar.sync
  // CHECK: ld.shared.v4.b32
  gpu.func @parts(%y: !tile.view<3xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 2>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %i = tile.iota 0 to 256
    %f = arith.sitofp %i : tensor<256xi32> to tensor<256xbf16>
    %e = tile.expand_dims %f axis 1 : tensor<256xbf16>
    %b = tile.broadcast %e : tensor<256x1xbf16> -> tensor<256x3xbf16>
    %s = tile.reduce max %b axis 0 : tensor<256x3xbf16>
    tile.store %s, %y[%c0 : 3] : !tile.view<3xbf16>
    gpu.return
  }
}
