// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: gpu.func @ring
// CHECK-SAME: tile.schedule = #tile.schedule<warps = 4, stages = 2, roles = {copy = 1}>
// CHECK: tile.roles compute {
// CHECK: tile.mbarrier_wait
// CHECK: } copy {
// CHECK: tile.mbarrier_arrive_copies
// CHECK: }
gpu.module @kernels {
  gpu.func @ring() kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %even = arith.constant 0 : i32
    %odd = arith.constant 1 : i32
    %full = tile.alloc_shared : !tile.shared<2xi64>
    %empty = tile.alloc_shared : !tile.shared<2xi64>
    tile.mbarrier_init %full, 32 : !tile.shared<2xi64>
    tile.mbarrier_init %empty, 4 : !tile.shared<2xi64>
    tile.barrier
    tile.roles compute {
      tile.mbarrier_wait %full[%c0] parity %even : !tile.shared<2xi64>
      tile.mbarrier_arrive %empty[%c0] : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_wait %empty[%c0] parity %odd : !tile.shared<2xi64>
      tile.mbarrier_arrive_copies %full[%c0] : !tile.shared<2xi64>
    }
    gpu.return
  }
}
