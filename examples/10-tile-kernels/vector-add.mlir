// SPDX-License-Identifier: Apache-2.0
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: bash %S/run.sh sm_86 3 %s
// RUN: bash %S/run.sh sm_89 4 %s
// RUN: bash %S/run.sh sm_90a 5 %s
//
// z = x + y. Four programs of 256 elements each; the last one has 232.
gpu.module @kernels {
  gpu.func @add(%x: !tile.view<1000xf32>, %y: !tile.view<1000xf32>, %z: !tile.view<1000xf32>)
      kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
    %c256 = arith.constant 256 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c256 : index
    %a = tile.load %x[%i : 256] : !tile.view<1000xf32>
    %b = tile.load %y[%i : 256] : !tile.view<1000xf32>
    %c = arith.addf %a, %b : tensor<256xf32>
    tile.store %c, %z[%i : 256] : !tile.view<1000xf32>
    gpu.return
  }
}
