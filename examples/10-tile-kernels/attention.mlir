// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_86 3 %s
// RUN: bash %S/run.sh sm_89 4 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// One head of attention: o = softmax(q k^T / sqrt(80)) v, 240 tokens of 80
// numbers. A program has 64 queries and walks over the keys, 80 at a time. It
// never holds a whole row of scores: it carries the largest so far (m), the sum
// of powers (l) and the sum of values (acc), and scales the latter two down when
// a larger score turns up.
//
// exp(x / sqrt(80)) = exp2(c x) with c = log2(e) / sqrt(80), one multiplication.
gpu.module @kernels {
  gpu.func @attention(%q: !tile.view<240x80xbf16>, %k: !tile.view<240x80xbf16>, %v: !tile.view<240x80xbf16>, %o: !tile.view<240x80xbf16>)
      kernel attributes {tile.grid = array<i64: 4, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c80 = arith.constant 80 : index
    %c240 = arith.constant 240 : index
    %scale = arith.constant dense<0.161298213> : tensor<64x80xf32>
    %no_scores = arith.constant dense<0.0> : tensor<64x80xf32>
    %no_values = arith.constant dense<0.0> : tensor<64x80xf32>
    %no_maximum = arith.constant dense<0xFF800000> : tensor<64xf32>
    %no_sum = arith.constant dense<0.0> : tensor<64xf32>

    %p = tile.program_id x
    %i = arith.muli %p, %c64 : index
    %Q = tile.load %q[%i : 64, %c0 : 80] : !tile.view<240x80xbf16>
    %all:3 = scf.for %j = %c0 to %c240 step %c80 iter_args(%acc = %no_values, %m = %no_maximum, %l = %no_sum)
        -> (tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>) {
      %K = tile.load %k[%j : 80, %c0 : 80] : !tile.view<240x80xbf16>
      %Kt = tile.trans %K : tensor<80x80xbf16>
      %dots = tile.dot %Q, %Kt, %no_scores : tensor<64x80xbf16>, tensor<80x80xbf16> -> tensor<64x80xf32>
      %s = arith.mulf %dots, %scale : tensor<64x80xf32>

      // m' = max(m, scores), powers = exp2(scores - m'), shrink = exp2(m - m')
      %mj = tile.reduce max %s axis 1 : tensor<64x80xf32>
      %m_new = arith.maximumf %m, %mj : tensor<64xf32>
      %m_column = tile.expand_dims %m_new axis 1 : tensor<64xf32>
      %m_block = tile.broadcast %m_column : tensor<64x1xf32> -> tensor<64x80xf32>
      %s_less = arith.subf %s, %m_block : tensor<64x80xf32>
      %powers = math.exp2 %s_less : tensor<64x80xf32>
      %m_less = arith.subf %m, %m_new : tensor<64xf32>
      %shrink = math.exp2 %m_less : tensor<64xf32>

      // l' = shrink l + sum of powers, acc' = shrink acc + powers V
      %lj = tile.reduce add %powers axis 1 : tensor<64x80xf32>
      %l_less = arith.mulf %l, %shrink : tensor<64xf32>
      %l_new = arith.addf %l_less, %lj : tensor<64xf32>
      %shrink_column = tile.expand_dims %shrink axis 1 : tensor<64xf32>
      %shrink_block = tile.broadcast %shrink_column : tensor<64x1xf32> -> tensor<64x80xf32>
      %acc_less = arith.mulf %acc, %shrink_block : tensor<64x80xf32>
      %P = arith.truncf %powers : tensor<64x80xf32> to tensor<64x80xbf16>
      %V = tile.load %v[%j : 80, %c0 : 80] : !tile.view<240x80xbf16>
      %acc_new = tile.dot %P, %V, %acc_less : tensor<64x80xbf16>, tensor<80x80xbf16> -> tensor<64x80xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>
    }

    %l_column = tile.expand_dims %all#2 axis 1 : tensor<64xf32>
    %l_block = tile.broadcast %l_column : tensor<64x1xf32> -> tensor<64x80xf32>
    %out = arith.divf %all#0, %l_block : tensor<64x80xf32>
    %O = arith.truncf %out : tensor<64x80xf32> to tensor<64x80xbf16>
    tile.store %O, %o[%i : 64, %c0 : 80] : !tile.view<240x80xbf16>
    gpu.return
  }
}
