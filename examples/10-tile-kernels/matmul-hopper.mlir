// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_90a 5 %s
// RUN: bash %S/run.sh sm_90a 6 %s
// RUN: env SIZES=N=176 bash %S/run.sh sm_90a 5 %s
//
// matmul.mlir for Hopper. The kernel is the same. Its blocks are larger, and its schedule
// asks for two warp groups that multiply, 64 of the 128 rows each, and a third that copies.
gpu.module @kernels {
  gpu.func @matmul(%x: !tile.view<300x192xbf16>, %w: !tile.view<192x480xbf16>, %y: !tile.view<300x480xbf16>)
      kernel attributes {tile.block_sizes = {M = 128, N = 256, K = 64}, tile.grid = #tile.grid<300/M, 480/N>,
                         tile.schedule = #tile.schedule<groups = 2, stages = 4, raster = 2x3, persistent, roles = {copy = 4 at 40, compute at 232}>} {
    %M = tile.block_size M
    %N = tile.block_size N
    %K = tile.block_size K
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %p = tile.program_id x
    %q = tile.program_id y
    %i = arith.muli %p, %M : index
    %j = arith.muli %q, %N : index

    %zero = arith.constant dense<0.0> : tensor<128x256xf32>
    %sum = scf.for %k = %c0 to %c192 step %K iter_args(%acc = %zero) -> tensor<128x256xf32> {
      %a = tile.load %x[%i : M = 128, %k : K = 64] : !tile.view<300x192xbf16>
      %b = tile.load %w[%k : K = 64, %j : N = 256] : !tile.view<192x480xbf16>
      %next = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    %r = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %r, %y[%i : M = 128, %j : N = 256] : !tile.view<300x480xbf16>
    gpu.return
  }
}
