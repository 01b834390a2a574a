// Passes on layouts say so where there are none, and the one that assigns them
// looks at blocks first.
// RUN: not act-opt %S/../../../examples/10-tile-kernels/softmax.mlir --tile-lower-to-threads -o /dev/null 2>&1 | FileCheck %s
// RUN: not act-opt %S/../../../examples/10-tile-kernels/matmul.mlir --tile-share-conversions -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: {{.*}} has {{a result|an argument}} that is a block of type 'tensor<{{.*}}>'; expected a layout: --tile-assign-layouts gives blocks one
// RUN: not act-opt %s --tile-assign-layouts -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: 'tile.load' op has a result that is a block of type 'tensor<4096x4096xf32>'; expected at most 1048576 elements
gpu.module @kernels {
  gpu.func @large(%x: !tile.view<64x64xf32>) kernel {
    %zero = arith.constant 0 : index
    %block = tile.load %x[%zero : 4096, %zero : 4096] : !tile.view<64x64xf32>
    gpu.return
  }
}
