// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_86 3 %s
// RUN: bash %S/run.sh sm_89 4 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// y = x w. A program makes a block of M rows and N columns; the last rows of the
// second one (x has 200) lie outside. Products of bf16 are summed in f32.
gpu.module @kernels {
  gpu.func @matmul(%x: !tile.view<200x192xbf16>, %w: !tile.view<192x160xbf16>, %y: !tile.view<200x160xbf16>)
      kernel attributes {tile.block_sizes = {M = 128, N = 80, K = 64}, tile.grid = #tile.grid<200/M, 160/N>,
                         tile.schedule = #tile.schedule<warps = 4, stages = 3>} {
    %M = tile.block_size M
    %N = tile.block_size N
    %K = tile.block_size K
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %p = tile.program_id x
    %q = tile.program_id y
    %i = arith.muli %p, %M : index
    %j = arith.muli %q, %N : index

    %zero = arith.constant dense<0.0> : tensor<128x80xf32>
    %sum = scf.for %k = %c0 to %c192 step %K iter_args(%acc = %zero) -> tensor<128x80xf32> {
      %a = tile.load %x[%i : M = 128, %k : K = 64] : !tile.view<200x192xbf16>
      %b = tile.load %w[%k : K = 64, %j : N = 80] : !tile.view<192x160xbf16>
      %next = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x80xbf16> -> tensor<128x80xf32>
      scf.yield %next : tensor<128x80xf32>
    }
    %r = arith.truncf %sum : tensor<128x80xf32> to tensor<128x80xbf16>
    tile.store %r, %y[%i : M = 128, %j : N = 80] : !tile.view<200x160xbf16>
    gpu.return
  }
}
