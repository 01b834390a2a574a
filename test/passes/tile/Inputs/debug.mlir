// SPDX-License-Identifier: Apache-2.0
gpu.module @kernels {
  gpu.func @say(%n: index) kernel {
    %i = tile.iota 0 to 4
    %h = arith.constant dense<0.5> : tensor<4xf32>
    tile.print "100% of {}: {}, {}", %n, %i, %h : index, tensor<4xi32>, tensor<4xf32>
    tile.print "just {}", %n : index
    gpu.return
  }
  gpu.func @insist() kernel {
    %i = tile.iota 0 to 4
    %three = arith.constant dense<3> : tensor<4xi32>
    %ok = arith.cmpi slt, %i, %three : tensor<4xi32>
    tile.assert %ok, "below three" : tensor<4xi1>
    gpu.return
  }
}
