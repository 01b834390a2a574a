// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_86 3 %s
// RUN: bash %S/run.sh sm_89 4 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// y = x w. A program makes a block of 128 rows and 80 columns; the last rows of
// the second one (x has 200) lie outside. Products of bf16 are summed in f32.
gpu.module @kernels {
  gpu.func @matmul(%x: !tile.view<200x192xbf16>, %w: !tile.view<192x160xbf16>, %y: !tile.view<200x160xbf16>)
      kernel attributes {tile.grid = array<i64: 2, 2, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 3>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c80 = arith.constant 80 : index
    %c128 = arith.constant 128 : index
    %c192 = arith.constant 192 : index
    %p = tile.program_id x
    %q = tile.program_id y
    %i = arith.muli %p, %c128 : index
    %j = arith.muli %q, %c80 : index

    %zero = arith.constant dense<0.0> : tensor<128x80xf32>
    %sum = scf.for %k = %c0 to %c192 step %c64 iter_args(%acc = %zero) -> tensor<128x80xf32> {
      %a = tile.load %x[%i : 128, %k : 64] : !tile.view<200x192xbf16>
      %b = tile.load %w[%k : 64, %j : 80] : !tile.view<192x160xbf16>
      %next = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x80xbf16> -> tensor<128x80xf32>
      scf.yield %next : tensor<128x80xf32>
    }
    %r = arith.truncf %sum : tensor<128x80xf32> to tensor<128x80xbf16>
    tile.store %r, %y[%i : 128, %j : 80] : !tile.view<200x160xbf16>
    gpu.return
  }
}
