// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#b_s_h = #act.dims<b, s, h>
#bxs_h = #act.dims<b*s, h>
#s_axd = #act.dims<s, a*d>
#s_a_8 = #act.dims<s, a, 8>

// CHECK-LABEL: @flatten
// CHECK: act.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
func.func @flatten(%x: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// CHECK-LABEL: @to_a_scalar
// CHECK: act.reshape %{{.+}} : tensor<1x1xi64> -> tensor<i64>
func.func @to_a_scalar(%x: tensor<1x1xi64>) -> tensor<i64> {
  %0 = act.reshape %x : tensor<1x1xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

// CHECK-LABEL: @product_of_names
// CHECK: act.reshape %{{.+}} : tensor<?x4096x3072xbf16, #b_s_h> -> tensor<?x3072xbf16, #bxs_h>
func.func @product_of_names(%x: tensor<?x4096x3072xbf16, #b_s_h>) -> tensor<?x3072xbf16, #bxs_h> {
  %0 = act.reshape %x : tensor<?x4096x3072xbf16, #b_s_h> -> tensor<?x3072xbf16, #bxs_h>
  return %0 : tensor<?x3072xbf16, #bxs_h>
}

// a*d and a * 8 differ as names; 32 and 4 * 8 agree as sizes.
// CHECK-LABEL: @names_and_sizes
// CHECK: act.reshape %{{.+}} : tensor<?x32xbf16, #s_axd> -> tensor<?x4x8xbf16, #s_a_8>
func.func @names_and_sizes(%x: tensor<?x32xbf16, #s_axd>) -> tensor<?x4x8xbf16, #s_a_8> {
  %0 = act.reshape %x : tensor<?x32xbf16, #s_axd> -> tensor<?x4x8xbf16, #s_a_8>
  return %0 : tensor<?x4x8xbf16, #s_a_8>
}

// CHECK-LABEL: @same
// CHECK: act.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
// FOLD-LABEL: @same
// FOLD-NOT: act.reshape
func.func @same(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @twice
// CHECK: act.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK: act.reshape %{{.+}} : tensor<6x4xf32> -> tensor<24xf32>
// FOLD-LABEL: @twice
// FOLD: act.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<24xf32>
// FOLD-NOT: act.reshape
func.func @twice(%x: tensor<2x3x4xf32>) -> tensor<24xf32> {
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = act.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  return %1 : tensor<24xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK: act.reshape %{{.+}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK: act.reshape %{{.+}} : tensor<6x4xf32> -> tensor<2x3x4xf32>
// FOLD-LABEL: @there_and_back
// FOLD-NOT: act.reshape
func.func @there_and_back(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = act.reshape %0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}
