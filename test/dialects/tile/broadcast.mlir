// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @rows
// CHECK: tile.broadcast %{{.+}} : tensor<128x1xf32> -> tensor<128x64xf32>
func.func @rows(%0: tensor<128x1xf32>) -> tensor<128x64xf32> {
  %1 = tile.broadcast %0 : tensor<128x1xf32> -> tensor<128x64xf32>
  return %1 : tensor<128x64xf32>
}

// CHECK-LABEL: @same_and_twice
// FOLD-LABEL: @same_and_twice
// FOLD: tile.broadcast %{{.+}} : tensor<1x1xf32> -> tensor<8x4xf32>
// FOLD-NOT: tile.broadcast
func.func @same_and_twice(%a: tensor<1x1xf32>) -> tensor<8x4xf32> {
  %0 = tile.broadcast %a : tensor<1x1xf32> -> tensor<1x1xf32>
  %1 = tile.broadcast %0 : tensor<1x1xf32> -> tensor<8x1xf32>
  %2 = tile.broadcast %1 : tensor<8x1xf32> -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// CHECK-LABEL: @of_equal_elements
// FOLD-LABEL: @of_equal_elements
// FOLD-DAG: arith.constant dense<2> : tensor<8x4xi32>
// FOLD-DAG: tensor.splat %{{.+}} : tensor<8x4xf32>
// FOLD-NOT: tile.
func.func @of_equal_elements(%x: f32) -> (tensor<8x4xi32>, tensor<8x4xf32>) {
  %twos = arith.constant dense<2> : tensor<8x1xi32>
  %xs = tensor.splat %x : tensor<1x4xf32>
  %0 = tile.broadcast %twos : tensor<8x1xi32> -> tensor<8x4xi32>
  %1 = tile.broadcast %xs : tensor<1x4xf32> -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xi32>, tensor<8x4xf32>
}
