// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s = #act.dims<s>

// CHECK-LABEL: @float
// CHECK: act.fetch %{{.+}} : tensor<4xf32>
// FOLD-LABEL: @float
// FOLD: act.fetch
func.func @float(%h: tensor<4xf32>) -> tensor<4xf32> {
  %x = act.fetch %h : tensor<4xf32>
  return %x : tensor<4xf32>
}

// CHECK-LABEL: @mask
// CHECK: act.fetch %{{.+}} : tensor<?xi1, #s>
func.func @mask(%h: tensor<?xi1, #s>) -> tensor<?xi1, #s> {
  %x = act.fetch %h : tensor<?xi1, #s>
  return %x : tensor<?xi1, #s>
}
