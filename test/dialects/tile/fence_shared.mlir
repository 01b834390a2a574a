// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.fence_shared
func.func @kept() {
  tile.fence_shared
  return
}
