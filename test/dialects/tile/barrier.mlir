// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// It reads nothing that a result shows, and is kept all the same.
// CHECK-LABEL: @kept
// CHECK: tile.barrier{{$}}
// CHECK: tile.barrier parts 4{{$}}
func.func @kept() {
  tile.barrier
  tile.barrier parts 4
  return
}
