// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_90a cache-dir=none" --verify-diagnostics -o /dev/null

// A sum that is still computed is in registers, too. A thread has those of its role.
gpu.module @kernels {
  gpu.func @many(%x: !tile.view<256x256xbf16>, %y: !tile.view<256x256xbf16>, %z: !tile.view<256x256xf32>)
      kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2, roles = {copy = 4 at 40, compute at 232}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<256x256xf32>
    // expected-warning@+1 {{carries blocks that take 256 registers of each thread of 8 warps, which has 232: some of them spill; use more warps or smaller blocks}}
    %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> tensor<256x256xf32> {
      %a = tile.load %x[%c0 : 256, %k : 64] : !tile.view<256x256xbf16>
      %b = tile.load %y[%k : 64, %c0 : 256] : !tile.view<256x256xbf16>
      %next = tile.dot %a, %b, %acc : tensor<256x64xbf16>, tensor<64x256xbf16> -> tensor<256x256xf32>
      scf.yield %next : tensor<256x256xf32>
    }
    tile.store %sum, %z[%c0 : 256, %c0 : 256] : !tile.view<256x256xf32>
    gpu.return
  }
}
