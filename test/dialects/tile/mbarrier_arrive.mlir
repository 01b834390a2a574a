// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.mbarrier_arrive %{{.+}}[%{{.+}}] : !tile.shared<2xi64>
// CHECK-NEXT: tile.mbarrier_arrive %{{.+}}[%{{.+}}] : !tile.shared<2xi64>
func.func @kept(%full: !tile.shared<2xi64>, %empty: !tile.shared<2xi64>, %slot: index, %round: i32) {
  tile.mbarrier_arrive %empty[%slot] : !tile.shared<2xi64>
  tile.mbarrier_arrive %empty[%slot] : !tile.shared<2xi64>
  return
}

// CHECK-LABEL: @cluster
// CHECK: tile.mbarrier_arrive %{{.+}}[%{{.+}}] cluster : !tile.shared<2xi64>
gpu.module @kernels {
  gpu.func @cluster(%round: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 4, cluster = 2, roles = {copy = 1}>} {
    %slot = arith.constant 0 : index
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %empty, 8 : !tile.shared<2xi64>
    tile.mbarrier_arrive %empty[%slot] : !tile.shared<2xi64>
    tile.mbarrier_arrive %empty[%slot] cluster : !tile.shared<2xi64>
    gpu.return
  }
}
