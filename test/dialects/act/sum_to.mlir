// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s_h = #act.dims<s, h>
#_1_h = #act.dims<1, h>

// CHECK-LABEL: @columns
// CHECK: act.sum_to %{{.+}} : tensor<6x4xf32> -> tensor<1x4xf32>
func.func @columns(%x: tensor<6x4xf32>) -> tensor<1x4xf32> {
  %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// CHECK-LABEL: @groups
// CHECK: act.sum_to %{{.+}} : tensor<6x4xbf16> -> tensor<2x4xbf16>
func.func @groups(%x: tensor<6x4xbf16>) -> tensor<2x4xbf16> {
  %0 = act.sum_to %x : tensor<6x4xbf16> -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// CHECK-LABEL: @named
// CHECK: act.sum_to %{{.+}} : tensor<?x4xf32, #s_h> -> tensor<1x4xf32, #_1_h>
func.func @named(%x: tensor<?x4xf32, #s_h>) -> tensor<1x4xf32, #_1_h> {
  %0 = act.sum_to %x : tensor<?x4xf32, #s_h> -> tensor<1x4xf32, #_1_h>
  return %0 : tensor<1x4xf32, #_1_h>
}

// CHECK-LABEL: @same
// CHECK: act.sum_to %{{.+}} : tensor<6x4xf32> -> tensor<6x4xf32>
// FOLD-LABEL: @same
// FOLD-NOT: act.sum_to
func.func @same(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
