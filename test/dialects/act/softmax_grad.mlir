// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @last
// CHECK: act.softmax_grad %{{.+}}, %{{.+}} axis 1 : tensor<2x4xf32>
func.func @last(%dy: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.softmax_grad %dy, %y axis 1 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @first
// CHECK: act.softmax_grad %{{.+}}, %{{.+}} axis 0 : tensor<2x4xbf16>
func.func @first(%dy: tensor<2x4xbf16>, %y: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = act.softmax_grad %dy, %y axis 0 : tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
