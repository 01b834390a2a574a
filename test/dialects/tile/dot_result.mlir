// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.dot_result %arg0 : !tile.pending<tensor<128x256xf32>>
func.func @kept(%p: !tile.pending<tensor<128x256xf32>>) -> tensor<128x256xf32> {
  %0 = tile.dot_result %p : !tile.pending<tensor<128x256xf32>>
  return %0 : tensor<128x256xf32>
}
