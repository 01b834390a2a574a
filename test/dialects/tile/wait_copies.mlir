// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// It reads nothing that a result shows, and is kept all the same.
// CHECK-LABEL: @kept
// CHECK: tile.wait_copies 1{{$}}
func.func @kept() {
  tile.wait_copies 1
  return
}
