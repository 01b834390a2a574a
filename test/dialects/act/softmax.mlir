// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @last
// CHECK: act.softmax %{{.+}} axis 1 : tensor<2x4xf32>
func.func @last(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.softmax %x axis 1 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @first
// CHECK: act.softmax %{{.+}} axis 0 : tensor<2x4xbf16>
func.func @first(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = act.softmax %x axis 0 : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
