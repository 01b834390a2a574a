// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.cluster_barrier
// CHECK-NEXT: tile.cluster_barrier
gpu.module @kernels {
  gpu.func @kept() kernel attributes {tile.schedule = #tile.schedule<warps = 4, cluster = 2, roles = {copy = 1}>} {
    tile.cluster_barrier
    tile.cluster_barrier
    gpu.return
  }
}

// CHECK-LABEL: gpu.func @cluster
// CHECK-SAME: tile.schedule = #tile.schedule<warps = 4, stages = 2, cluster = 2, roles = {copy = 1}>
// CHECK: tile.cluster_barrier
// CHECK-NEXT: tile.roles compute {
// CHECK: tile.mbarrier_arrive {{.*}} cluster
// CHECK: tile.cluster_barrier
gpu.module @clusters {
  gpu.func @cluster() kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}, cluster = 2>} {
    %c0 = arith.constant 0 : index
    %odd = arith.constant 1 : i32
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %empty, 8 : !tile.shared<2xi64>
    tile.cluster_barrier
    tile.roles compute {
      tile.mbarrier_arrive %empty[%c0] cluster : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_wait %empty[%c0] parity %odd cluster : !tile.shared<2xi64>
    }
    tile.cluster_barrier
    gpu.return
  }
}
