// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @tokens
// CHECK: act.label_count %{{.+}} ignore -100 : tensor<2x3xi32> -> tensor<f32>
func.func @tokens(%labels: tensor<2x3xi32>) -> tensor<f32> {
  %0 = act.label_count %labels ignore -100 : tensor<2x3xi32> -> tensor<f32>
  return %0 : tensor<f32>
}
