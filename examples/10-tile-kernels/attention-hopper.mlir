// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_90a 5 %s
// RUN: bash %S/run.sh sm_90a 6 %s
// RUN: sed 's/384/352/g; s/rotated, turns, //' %s > attention-hopper.mlir
// RUN: env SIZES=N=176 bash %S/run.sh sm_90a 5 attention-hopper.mlir
//
// attention.mlir for Hopper: o = softmax(q k^T / sqrt(128)) v, one head of 384 tokens of
// 128 numbers. A program has 128 queries, 64 for each of two warp groups, and walks over
// the keys, 128 at a time. A third group copies the keys and values.
//
// exp(x / sqrt(128)) = exp2(c x) with c = log2(e) / sqrt(128), one multiplication.
gpu.module @kernels {
  gpu.func @attention(%q: !tile.view<384x128xbf16>, %k: !tile.view<384x128xbf16>, %v: !tile.view<384x128xbf16>, %o: !tile.view<384x128xbf16>)
      kernel attributes {tile.block_sizes = {M = 128, N = 128}, tile.grid = #tile.grid<384/M>,
                         tile.schedule = #tile.schedule<groups = 2, stages = 2, rotated, turns, roles = {copy = 4 at 24, compute at 240}>} {
    %M = tile.block_size M
    %N = tile.block_size N
    %c0 = arith.constant 0 : index
    %c384 = arith.constant 384 : index
    %scale = arith.constant dense<0.127517432> : tensor<128x128xf32>
    %no_scores = arith.constant dense<0.0> : tensor<128x128xf32>
    %no_values = arith.constant dense<0.0> : tensor<128x128xf32>
    %no_maximum = arith.constant dense<0xFF800000> : tensor<128xf32>
    %no_sum = arith.constant dense<0.0> : tensor<128xf32>

    %p = tile.program_id x
    %i = arith.muli %p, %M : index
    %Q = tile.load %q[%i : M = 128, %c0 : 128] : !tile.view<384x128xbf16>
    %all:3 = scf.for %j = %c0 to %c384 step %N iter_args(%acc = %no_values, %m = %no_maximum, %l = %no_sum)
        -> (tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>) {
      %K = tile.load %k[%j : N = 128, %c0 : 128] : !tile.view<384x128xbf16>
      %Kt = tile.trans %K : tensor<128x128xbf16>
      %dots = tile.dot %Q, %Kt, %no_scores : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      %s = arith.mulf %dots, %scale : tensor<128x128xf32>

      // m' = max(m, scores), powers = exp2(scores - m'), shrink = exp2(m - m')
      %mj = tile.reduce max %s axis 1 : tensor<128x128xf32>
      %m_new = arith.maximumf %m, %mj : tensor<128xf32>
      %m_column = tile.expand_dims %m_new axis 1 : tensor<128xf32>
      %m_block = tile.broadcast %m_column : tensor<128x1xf32> -> tensor<128x128xf32>
      %s_less = arith.subf %s, %m_block : tensor<128x128xf32>
      %powers = math.exp2 %s_less : tensor<128x128xf32>
      %m_less = arith.subf %m, %m_new : tensor<128xf32>
      %shrink = math.exp2 %m_less : tensor<128xf32>

      // l' = shrink l + sum of powers, acc' = shrink acc + powers V
      %lj = tile.reduce add %powers axis 1 : tensor<128x128xf32>
      %l_less = arith.mulf %l, %shrink : tensor<128xf32>
      %l_new = arith.addf %l_less, %lj : tensor<128xf32>
      %shrink_column = tile.expand_dims %shrink axis 1 : tensor<128xf32>
      %shrink_block = tile.broadcast %shrink_column : tensor<128x1xf32> -> tensor<128x128xf32>
      %acc_less = arith.mulf %acc, %shrink_block : tensor<128x128xf32>
      %P = arith.truncf %powers : tensor<128x128xf32> to tensor<128x128xbf16>
      %V = tile.load %v[%j : N = 128, %c0 : 128] : !tile.view<384x128xbf16>
      %acc_new = tile.dot %P, %V, %acc_less : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>
    }

    %l_column = tile.expand_dims %all#2 axis 1 : tensor<128xf32>
    %l_block = tile.broadcast %l_column : tensor<128x1xf32> -> tensor<128x128xf32>
    %out = arith.divf %all#0, %l_block : tensor<128x128xf32>
    %O = arith.truncf %out : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %O, %o[%i : M = 128, %c0 : 128] : !tile.view<384x128xbf16>
    gpu.return
  }
}
