// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @hidden
// CHECK: act.not %{{.+}} : tensor<2x4xi1>
func.func @hidden(%hide: tensor<2x4xi1>) -> tensor<2x4xi1> {
  %0 = act.not %hide : tensor<2x4xi1>
  return %0 : tensor<2x4xi1>
}
