// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @heads
// CHECK: tile.reshape %{{.+}} : tensor<128x64xf32> -> tensor<128x8x8xf32>
func.func @heads(%a: tensor<128x64xf32>) -> tensor<128x8x8xf32> {
  %0 = tile.reshape %a : tensor<128x64xf32> -> tensor<128x8x8xf32>
  return %0 : tensor<128x8x8xf32>
}

// CHECK-LABEL: @twice
// FOLD-LABEL: @twice
// FOLD: tile.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<24xf32>
// FOLD-NOT: tile.reshape
func.func @twice(%a: tensor<2x3x4xf32>) -> tensor<24xf32> {
  %0 = tile.reshape %a : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = tile.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  return %1 : tensor<24xf32>
}

// CHECK-LABEL: @there_and_back
// FOLD-LABEL: @there_and_back
// FOLD-NOT: tile.
func.func @there_and_back(%a: tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>) {
  %0 = tile.reshape %a : tensor<12xf32> -> tensor<3x4xf32>
  %1 = tile.reshape %0 : tensor<3x4xf32> -> tensor<12xf32>
  %2 = tile.expand_dims %a axis 0 : tensor<12xf32>
  %3 = tile.reshape %2 : tensor<1x12xf32> -> tensor<12xf32>
  return %1, %3 : tensor<12xf32>, tensor<12xf32>
}

// CHECK-LABEL: @of_equal_elements
// FOLD-LABEL: @of_equal_elements
// FOLD-DAG: arith.constant dense<2> : tensor<12xi32>
// FOLD-DAG: tensor.splat %{{.+}} : tensor<12xf32>
// FOLD-NOT: tile.
func.func @of_equal_elements(%x: f32) -> (tensor<12xi32>, tensor<12xf32>) {
  %twos = arith.constant dense<2> : tensor<3x4xi32>
  %xs = tensor.splat %x : tensor<3x4xf32>
  %0 = tile.reshape %twos : tensor<3x4xi32> -> tensor<12xi32>
  %1 = tile.reshape %xs : tensor<3x4xf32> -> tensor<12xf32>
  return %0, %1 : tensor<12xi32>, tensor<12xf32>
}
