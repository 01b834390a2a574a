// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#b_s_h = #act.dims<b, s, h>
#b_s_v = #act.dims<b, s, v>

// CHECK-LABEL: @scores
// CHECK: act.matmul %{{.+}}, %{{.+}} transpose_rhs : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
func.func @scores(%a: tensor<2x4x8xf32>, %b: tensor<2x6x8xf32>) -> tensor<2x4x6xf32> {
  %0 = act.matmul %a, %b transpose_rhs : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @weight_gradient
// CHECK: act.matmul %{{.+}}, %{{.+}} transpose_lhs : (tensor<5x3xbf16>, tensor<5x7xbf16>) -> tensor<3x7xbf16>
func.func @weight_gradient(%a: tensor<5x3xbf16>, %b: tensor<5x7xbf16>) -> tensor<3x7xbf16> {
  %0 = act.matmul %a, %b transpose_lhs : (tensor<5x3xbf16>, tensor<5x7xbf16>) -> tensor<3x7xbf16>
  return %0 : tensor<3x7xbf16>
}

// CHECK-LABEL: @both_transposed
// CHECK: act.matmul %{{.+}}, %{{.+}} transpose_lhs transpose_rhs : (tensor<5x3xf64>, tensor<7x5xf64>) -> tensor<3x7xf64>
func.func @both_transposed(%a: tensor<5x3xf64>, %b: tensor<7x5xf64>) -> tensor<3x7xf64> {
  %0 = act.matmul %a, %b transpose_lhs transpose_rhs : (tensor<5x3xf64>, tensor<7x5xf64>) -> tensor<3x7xf64>
  return %0 : tensor<3x7xf64>
}

// CHECK-LABEL: @shared_matrix
// CHECK: act.matmul %{{.+}}, %{{.+}} : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
func.func @shared_matrix(%a: tensor<2x4x8xf32>, %b: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %0 = act.matmul %a, %b : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @named
// CHECK: act.matmul %{{.+}}, %{{.+}} : (tensor<?x?x8xf32, #b_s_h>, tensor<8x6xf32>) -> tensor<?x?x6xf32, #b_s_v>
func.func @named(%a: tensor<?x?x8xf32, #b_s_h>, %b: tensor<8x6xf32>) -> tensor<?x?x6xf32, #b_s_v> {
  %0 = act.matmul %a, %b : (tensor<?x?x8xf32, #b_s_h>, tensor<8x6xf32>) -> tensor<?x?x6xf32, #b_s_v>
  return %0 : tensor<?x?x6xf32, #b_s_v>
}

// CHECK-LABEL: @takes_in_transposes
// CHECK: act.matmul %{{.+}}, %{{.+}} : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
// FOLD-LABEL: @takes_in_transposes
// FOLD-SAME: %[[A:.+]]: tensor<2x8x4xf32>, %[[B:.+]]: tensor
// FOLD-NEXT: act.matmul %[[A]], %[[B]] transpose_lhs transpose_rhs : (tensor<2x8x4xf32>, tensor<2x6x8xf32>)
func.func @takes_in_transposes(%a: tensor<2x8x4xf32>, %b: tensor<2x6x8xf32>) -> tensor<2x4x6xf32> {
  %l = act.transpose %a [0, 2, 1] : tensor<2x8x4xf32> -> tensor<2x4x8xf32>
  %r = act.transpose %b [0, 2, 1] : tensor<2x6x8xf32> -> tensor<2x8x6xf32>
  %0 = act.matmul %l, %r : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @undoes_a_transpose
// CHECK: act.matmul %{{.+}}, %{{.+}} transpose_rhs : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
// FOLD-LABEL: @undoes_a_transpose
// FOLD-NOT: transpose
func.func @undoes_a_transpose(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %r = act.transpose %b [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>
  %0 = act.matmul %a, %r transpose_rhs : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: @keeps_other_transposes
// CHECK: act.matmul %{{.+}}, %{{.+}} : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
// FOLD-LABEL: @keeps_other_transposes
// FOLD: act.transpose
// FOLD-NEXT: act.matmul
func.func @keeps_other_transposes(%a: tensor<4x2x8xf32>, %b: tensor<2x8x6xf32>) -> tensor<2x4x6xf32> {
  %l = act.transpose %a [1, 0, 2] : tensor<4x2x8xf32> -> tensor<2x4x8xf32>
  %0 = act.matmul %l, %b : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}
