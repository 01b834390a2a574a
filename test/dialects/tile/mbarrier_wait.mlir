// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.mbarrier_wait %{{.+}}[%{{.+}}] parity %{{.+}} : !tile.shared<2xi64>
// CHECK-NEXT: tile.mbarrier_wait %{{.+}}[%{{.+}}] parity %{{.+}} : !tile.shared<2xi64>
func.func @kept(%full: !tile.shared<2xi64>, %empty: !tile.shared<2xi64>, %slot: index, %round: i32) {
  tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2xi64>
  tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2xi64>
  return
}
