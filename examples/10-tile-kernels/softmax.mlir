// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_86 3 %s
// RUN: bash %S/run.sh sm_89 4 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// Softmax of each of 37 rows. A program takes 4 of them, 10 programs take 40.
// Columns from 200 on read as -inf, whose exponential adds nothing to a sum.
gpu.module @kernels {
  gpu.func @softmax(%x: !tile.view<37x200xf32>, %y: !tile.view<37x200xf32>)
      kernel attributes {tile.grid = array<i64: 10, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c4 : index
    %a = tile.load %x[%i : 4, %c0 : 256] pad = neg_inf : !tile.view<37x200xf32>

    %m = tile.reduce max %a axis 1 : tensor<4x256xf32>
    %m1 = tile.expand_dims %m axis 1 : tensor<4xf32>
    %mb = tile.broadcast %m1 : tensor<4x1xf32> -> tensor<4x256xf32>
    %d = arith.subf %a, %mb : tensor<4x256xf32>
    %e = math.exp %d : tensor<4x256xf32>

    %s = tile.reduce add %e axis 1 : tensor<4x256xf32>
    %s1 = tile.expand_dims %s axis 1 : tensor<4xf32>
    %sb = tile.broadcast %s1 : tensor<4x1xf32> -> tensor<4x256xf32>
    %r = arith.divf %e, %sb : tensor<4x256xf32>
    tile.store %r, %y[%i : 4, %c0 : 256] : !tile.view<37x200xf32>
    gpu.return
  }
}
