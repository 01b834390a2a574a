// SPDX-License-Identifier: Apache-2.0
// Which program the machine's next one is: of rows of 7 two begin together, the last is alone. Each program runs once.
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,tile-lower-to-threads,canonicalize))' | FileCheck %s
// RUN: %python %S/Inputs/raster.py act-run kernel %s --target sm_80 --cache-dir=none
// RUN: %python %S/Inputs/raster.py act-run kernel %s --device host
// REQUIRES: python-packages

// CHECK: gpu.func @count
// CHECK-SAME: tile.schedule = #tile.schedule<warps = 1, stages = 2>
// CHECK-DAG: %[[GROUP:.*]] = arith.constant 14 : index
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant 7 : index
// CHECK: %[[BX:.*]] = gpu.block_id x
// CHECK: %[[BY:.*]] = gpu.block_id y
// CHECK: %[[UP:.*]] = arith.muli %[[BY]], %[[SEVEN]]
// CHECK: %[[N:.*]] = arith.addi %[[UP]], %[[BX]]
// CHECK: %[[IN:.*]] = arith.remui %[[N]], %[[GROUP]]
// CHECK: %[[OF:.*]] = arith.divui %[[N]], %[[GROUP]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[OF]], %[[TWO]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK: %[[OWN:.*]] = arith.minui %[[LEFT]], %[[TWO]]
// CHECK: %[[DOWN:.*]] = arith.remui %[[IN]], %[[OWN]]
// CHECK: arith.addi %[[FIRST]], %[[DOWN]]
// CHECK: arith.divui %[[IN]], %[[OWN]]
gpu.module @kernels {
  gpu.func @count(%numbers: !tile.view<5x7xi32>, %times: !tile.view<5x7xi32>) kernel
      attributes {tile.grid = array<i64: 7, 5, 1>, tile.schedule = #tile.schedule<warps = 1, raster = 2x7>} {
    %x = tile.program_id x
    %y = tile.program_id y
    %c10 = arith.constant 10 : index
    %r = arith.muli %y, %c10 : index
    %v = arith.addi %r, %x : index
    %i = arith.index_cast %v : index to i32
    tile.store %i, %numbers[%y, %x] : !tile.view<5x7xi32>
    %one = arith.constant 1 : i32
    tile.atomic_add %one, %times[%y, %x] : !tile.view<5x7xi32>
    gpu.return
  }
}
