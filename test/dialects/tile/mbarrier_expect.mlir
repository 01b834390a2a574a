// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.mbarrier_expect %arg0[%arg1] bytes 49152 : !tile.shared<2xi64>
// CHECK-NEXT: tile.mbarrier_expect %arg0[%arg1] bytes 49152 : !tile.shared<2xi64>
func.func @kept(%full: !tile.shared<2xi64>, %slot: index) {
  tile.mbarrier_expect %full[%slot] bytes 49152 : !tile.shared<2xi64>
  tile.mbarrier_expect %full[%slot] bytes 49152 : !tile.shared<2xi64>
  return
}
