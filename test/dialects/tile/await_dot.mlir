// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.await_dot %arg0 : !tile.pending<tensor<128x256xf32>>
func.func @kept(%p: !tile.pending<tensor<128x256xf32>>) {
  tile.await_dot %p : !tile.pending<tensor<128x256xf32>>
  return
}
