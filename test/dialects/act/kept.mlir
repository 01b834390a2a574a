// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s = #act.dims<s>

// CHECK-LABEL: @float
// CHECK: act.kept %{{.+}} : tensor<4xf32>
// FOLD-LABEL: @float
// FOLD: act.kept
func.func @float(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = act.kept %x : tensor<4xf32>
  return %k : tensor<4xf32>
}

// CHECK-LABEL: @mask
// CHECK: act.kept %{{.+}} : tensor<?xi1, #s>
func.func @mask(%x: tensor<?xi1, #s>) -> tensor<?xi1, #s> {
  %k = act.kept %x : tensor<?xi1, #s>
  return %k : tensor<?xi1, #s>
}
