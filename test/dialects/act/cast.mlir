// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @narrow
// CHECK: act.cast %{{.+}} : tensor<2x4xf32> to tensor<2x4xbf16>
func.func @narrow(%x: tensor<2x4xf32>) -> tensor<2x4xbf16> {
  %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// CHECK-LABEL: @mask
// CHECK: act.cast %{{.+}} : tensor<3xi1> to tensor<3xf32>
func.func @mask(%x: tensor<3xi1>) -> tensor<3xf32> {
  %0 = act.cast %x : tensor<3xi1> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @integers
// CHECK: act.cast %{{.+}} : tensor<3xi32> to tensor<3xi64>
func.func @integers(%x: tensor<3xi32>) -> tensor<3xi64> {
  %0 = act.cast %x : tensor<3xi32> to tensor<3xi64>
  return %0 : tensor<3xi64>
}

// CHECK-LABEL: @float8
// CHECK: act.cast %{{.+}} : tensor<3xf8E4M3FN> to tensor<3xf16>
func.func @float8(%x: tensor<3xf8E4M3FN>) -> tensor<3xf16> {
  %0 = act.cast %x : tensor<3xf8E4M3FN> to tensor<3xf16>
  return %0 : tensor<3xf16>
}

// CHECK-LABEL: @same
// CHECK: act.cast %{{.+}} : tensor<2x4xf32> to tensor<2x4xf32>
// FOLD-LABEL: @same
// FOLD-NOT: act.cast
func.func @same(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK: act.cast %{{.+}} : tensor<2x4xbf16> to tensor<2x4xf32>
// CHECK: act.cast %{{.+}} : tensor<2x4xf32> to tensor<2x4xbf16>
// FOLD-LABEL: @there_and_back
// FOLD-NOT: act.cast
func.func @there_and_back(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = act.cast %x : tensor<2x4xbf16> to tensor<2x4xf32>
  %1 = act.cast %0 : tensor<2x4xf32> to tensor<2x4xbf16>
  return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: @rounds
// CHECK: act.cast %{{.+}} : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK: act.cast %{{.+}} : tensor<2x4xbf16> to tensor<2x4xf32>
// FOLD-LABEL: @rounds
// FOLD-COUNT-2: act.cast
func.func @rounds(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xbf16>
  %1 = act.cast %0 : tensor<2x4xbf16> to tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @halves_are_not_bfloats
// CHECK: act.cast %{{.+}} : tensor<2x4xbf16> to tensor<2x4xf16>
// CHECK: act.cast %{{.+}} : tensor<2x4xf16> to tensor<2x4xbf16>
// FOLD-LABEL: @halves_are_not_bfloats
// FOLD-COUNT-2: act.cast
func.func @halves_are_not_bfloats(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %0 = act.cast %x : tensor<2x4xbf16> to tensor<2x4xf16>
  %1 = act.cast %0 : tensor<2x4xf16> to tensor<2x4xbf16>
  return %1 : tensor<2x4xbf16>
}

// CHECK-LABEL: @integers_back
// CHECK: act.cast %{{.+}} : tensor<3xi32> to tensor<3xi64>
// CHECK: act.cast %{{.+}} : tensor<3xi64> to tensor<3xi32>
// FOLD-LABEL: @integers_back
// FOLD-NOT: act.cast
func.func @integers_back(%x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = act.cast %x : tensor<3xi32> to tensor<3xi64>
  %1 = act.cast %0 : tensor<3xi64> to tensor<3xi32>
  return %1 : tensor<3xi32>
}

// CHECK-LABEL: @narrow_integers_back
// CHECK: act.cast %{{.+}} : tensor<3xi64> to tensor<3xi32>
// CHECK: act.cast %{{.+}} : tensor<3xi32> to tensor<3xi64>
// FOLD-LABEL: @narrow_integers_back
// FOLD-COUNT-2: act.cast
func.func @narrow_integers_back(%x: tensor<3xi64>) -> tensor<3xi64> {
  %0 = act.cast %x : tensor<3xi64> to tensor<3xi32>
  %1 = act.cast %0 : tensor<3xi32> to tensor<3xi64>
  return %1 : tensor<3xi64>
}
