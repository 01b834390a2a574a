// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @w "w" : tensor<4xf32>

// CHECK-LABEL: @one
// CHECK: act.zero_grad @w
func.func @one() {
  act.zero_grad @w
  return
}
