// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @qkv
// CHECK: act.split %{{.+}} : tensor<2x12xf32> -> tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
func.func @qkv(%qkv: tensor<2x12xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %q, %k, %v = act.split %qkv : tensor<2x12xf32> -> tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  return %q, %k, %v : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @uneven
// CHECK: act.split %{{.+}} : tensor<5xf16> -> tensor<2xf16>, tensor<3xf16>
func.func @uneven(%x: tensor<5xf16>) -> (tensor<2xf16>, tensor<3xf16>) {
  %0, %1 = act.split %x : tensor<5xf16> -> tensor<2xf16>, tensor<3xf16>
  return %0, %1 : tensor<2xf16>, tensor<3xf16>
}
