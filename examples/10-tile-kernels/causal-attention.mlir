// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_80 3 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// attention.mlir with a mask: a query sees the keys up to its own position. A
// program has blocks of M queries and N keys; queries, keys and values have 80
// numbers.
// Blocks of keys that all M queries see come first and need no mask; then the
// blocks that the diagonal crosses, whose hidden scores become -inf; blocks that
// nobody sees are not visited.
gpu.module @kernels {
  gpu.func @causal(%q: !tile.view<240x80xbf16>, %k: !tile.view<240x80xbf16>, %v: !tile.view<240x80xbf16>, %o: !tile.view<240x80xbf16>)
      kernel attributes {tile.block_sizes = {M = 64, N = 80}, tile.grid = #tile.grid<240/M>,
                         tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %M = tile.block_size M
    %N = tile.block_size N
    %c240 = arith.constant 240 : index
    %scale = arith.constant dense<0.161298213> : tensor<64x80xf32>
    %no_scores = arith.constant dense<0.0> : tensor<64x80xf32>
    %no_values = arith.constant dense<0.0> : tensor<64x80xf32>
    %no_maximum = arith.constant dense<0xFF800000> : tensor<64xf32>
    %no_sum = arith.constant dense<0.0> : tensor<64xf32>

    %p = tile.program_id x
    %i = arith.muli %p, %M : index
    %Q = tile.load %q[%i : M = 64, %c0 : 80] : !tile.view<240x80xbf16>

    // Keys below `full`, a multiple of N, are seen by all; from `end` on by none.
    %c1 = arith.constant 1 : index
    %i1 = arith.addi %i, %c1 : index
    %blocks = arith.divui %i1, %N : index
    %full = arith.muli %blocks, %N : index
    %i64 = arith.addi %i, %M : index
    %end = arith.minui %i64, %c240 : index

    %below:3 = scf.for %j = %c0 to %full step %N iter_args(%acc = %no_values, %m = %no_maximum, %l = %no_sum)
        -> (tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>) {
      %K = tile.load %k[%j : N = 80, %c0 : 80] : !tile.view<240x80xbf16>
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
      %V = tile.load %v[%j : N = 80, %c0 : 80] : !tile.view<240x80xbf16>
      %acc_new = tile.dot %P, %V, %acc_less : tensor<64x80xbf16>, tensor<80x80xbf16> -> tensor<64x80xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>
    }

    // The positions of the queries, one per row.
    %rows = tile.iota 0 to 64
    %columns = tile.iota 0 to 80
    %minus_inf = arith.constant dense<0xFF800000> : tensor<64x80xf32>
    %i32 = arith.index_cast %i : index to i32
    %i_block = tensor.splat %i32 : tensor<64xi32>
    %queries = arith.addi %i_block, %rows : tensor<64xi32>
    %queries_column = tile.expand_dims %queries axis 1 : tensor<64xi32>
    %queries_block = tile.broadcast %queries_column : tensor<64x1xi32> -> tensor<64x80xi32>
    %all:3 = scf.for %j = %full to %end step %N iter_args(%acc = %below#0, %m = %below#1, %l = %below#2)
        -> (tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>) {
      %K = tile.load %k[%j : N = 80, %c0 : 80] : !tile.view<240x80xbf16>
      %Kt = tile.trans %K : tensor<80x80xbf16>
      %dots = tile.dot %Q, %Kt, %no_scores : tensor<64x80xbf16>, tensor<80x80xbf16> -> tensor<64x80xf32>
      %all_s = arith.mulf %dots, %scale : tensor<64x80xf32>

      // hidden: position of the key > position of the query
      %j32 = arith.index_cast %j : index to i32
      %j_block = tensor.splat %j32 : tensor<80xi32>
      %keys = arith.addi %j_block, %columns : tensor<80xi32>
      %keys_row = tile.expand_dims %keys axis 0 : tensor<80xi32>
      %keys_block = tile.broadcast %keys_row : tensor<1x80xi32> -> tensor<64x80xi32>
      %hidden = arith.cmpi sgt, %keys_block, %queries_block : tensor<64x80xi32>
      %s = arith.select %hidden, %minus_inf, %all_s : tensor<64x80xi1>, tensor<64x80xf32>

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
      %V = tile.load %v[%j : N = 80, %c0 : 80] : !tile.view<240x80xbf16>
      %acc_new = tile.dot %P, %V, %acc_less : tensor<64x80xbf16>, tensor<80x80xbf16> -> tensor<64x80xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<64x80xf32>, tensor<64xf32>, tensor<64xf32>
    }

    %l_column = tile.expand_dims %all#2 axis 1 : tensor<64xf32>
    %l_block = tile.broadcast %l_column : tensor<64x1xf32> -> tensor<64x80xf32>
    %out = arith.divf %all#0, %l_block : tensor<64x80xf32>
    %O = arith.truncf %out : tensor<64x80xf32> to tensor<64x80xbf16>
    tile.store %O, %o[%i : M = 64, %c0 : 80] : !tile.view<240x80xbf16>
    gpu.return
  }
}
