// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @half
// CHECK: act.scale %{{.+}} by 5.000000e-01 : tensor<2x4xf32>
func.func @half(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.scale %x by 5.000000e-01 : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @one
// CHECK: act.scale %{{.+}} by 1.000000e+00 : tensor<2xbf16>
// FOLD-LABEL: @one
// FOLD-NOT: act.scale
func.func @one(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %0 = act.scale %x by 1.000000e+00 : tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: @power_of_two_of_scale
// CHECK: act.scale %{{.+}} by 3.000000e-01 : tensor<2x4xf32>
// CHECK: act.scale %{{.+}} by -4.000000e+00 : tensor<2x4xf32>
// FOLD-LABEL: @power_of_two_of_scale
// FOLD: act.scale %{{.+}} by -1.200000e+00
// FOLD-NOT: act.scale
func.func @power_of_two_of_scale(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.scale %x by 3.000000e-01 : tensor<2x4xf32>
  %1 = act.scale %0 by -4.000000e+00 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// 0.7 (0.3 x) is rounded twice; 0.21 x would be another number.
// CHECK-LABEL: @rounds_twice
// CHECK: act.scale %{{.+}} by 3.000000e-01 : tensor<2x4xf32>
// CHECK: act.scale %{{.+}} by 7.000000e-01 : tensor<2x4xf32>
// FOLD-LABEL: @rounds_twice
// FOLD: act.scale %{{.+}} by 3.000000e-01
// FOLD: act.scale %{{.+}} by 7.000000e-01
func.func @rounds_twice(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.scale %x by 3.000000e-01 : tensor<2x4xf32>
  %1 = act.scale %0 by 7.000000e-01 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @overflows
// CHECK: act.scale %{{.+}} by 8.98846567431158e+307
// CHECK: act.scale %{{.+}} by 4.000000e+00
// FOLD-LABEL: @overflows
// FOLD-COUNT-2: act.scale
func.func @overflows(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.scale %x by 8.98846567431158e+307 : tensor<2x4xf32>
  %1 = act.scale %0 by 4.000000e+00 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
