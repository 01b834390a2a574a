// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#b_s_h = #act.dims<b, s, h>
#b_h_s = #act.dims<b, h, s>

// CHECK-LABEL: @last_two
// CHECK: act.transpose %{{.+}} [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
func.func @last_two(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = act.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: @names
// CHECK: act.transpose %{{.+}} [0, 2, 1] : tensor<?x3x4xf32, #b_s_h> -> tensor<?x4x3xf32, #b_h_s>
func.func @names(%x: tensor<?x3x4xf32, #b_s_h>) -> tensor<?x4x3xf32, #b_h_s> {
  %0 = act.transpose %x [0, 2, 1] : tensor<?x3x4xf32, #b_s_h> -> tensor<?x4x3xf32, #b_h_s>
  return %0 : tensor<?x4x3xf32, #b_h_s>
}

// CHECK-LABEL: @identity
// CHECK: act.transpose %{{.+}} [0, 1, 2] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
// FOLD-LABEL: @identity
// FOLD-NOT: act.transpose
func.func @identity(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = act.transpose %x [0, 1, 2] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK: act.transpose %{{.+}} [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
// CHECK: act.transpose %{{.+}} [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
// FOLD-LABEL: @there_and_back
// FOLD-NOT: act.transpose
func.func @there_and_back(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = act.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = act.transpose %0 [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @twice
// CHECK: act.transpose %{{.+}} [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
// CHECK: act.transpose %{{.+}} [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
// FOLD-LABEL: @twice
// FOLD: act.transpose %{{.+}} [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// FOLD-NOT: act.transpose
func.func @twice(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = act.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = act.transpose %0 [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}
