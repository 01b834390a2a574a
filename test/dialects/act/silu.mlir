// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @single
// CHECK: act.silu %{{.+}} : tensor<2x4xf32>
func.func @single(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.silu %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @half
// CHECK: act.silu %{{.+}} : tensor<8xf16>
func.func @half(%x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = act.silu %x : tensor<8xf16>
  return %0 : tensor<8xf16>
}
