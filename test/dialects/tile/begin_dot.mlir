// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @begun
// CHECK: tile.begin_dot %arg0 : tensor<128x256xf32>
func.func @begun(%zeros: tensor<128x256xf32>) -> !tile.pending<tensor<128x256xf32>> {
  %0 = tile.begin_dot %zeros : tensor<128x256xf32>
  return %0 : !tile.pending<tensor<128x256xf32>>
}
