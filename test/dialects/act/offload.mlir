// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s = #act.dims<s>

// CHECK-LABEL: @float
// CHECK: act.offload %{{.+}} : tensor<4xf32>
// FOLD-LABEL: @float
// FOLD: act.offload
func.func @float(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = act.offload %x : tensor<4xf32>
  return %h : tensor<4xf32>
}

// CHECK-LABEL: @mask
// CHECK: act.offload %{{.+}} : tensor<?xi1, #s>
func.func @mask(%x: tensor<?xi1, #s>) -> tensor<?xi1, #s> {
  %h = act.offload %x : tensor<?xi1, #s>
  return %h : tensor<?xi1, #s>
}
