// SPDX-License-Identifier: Apache-2.0
// RUN: split-file %s %t
// RUN: act-opt %t/copy.mlir --tile-make-persistent | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: sed 's/, persistent//' %t/copy.mlir | act-opt --tile-make-persistent | FileCheck %s --check-prefix=NOT
// RUN: act-opt %t/stores.mlir --tile-make-persistent | FileCheck %s --check-prefix=STORES
// RUN: sed 's/4, 4, 1>/4, 4, 3>/' %t/stores.mlir | act-opt --tile-make-persistent | FileCheck %s --check-prefix=PLANES
// RUN: sed 's/tile.grid = array<i64: 5, 1, 1>, //' %t/copy.mlir | not act-opt --tile-make-persistent 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not act-opt %t/ticket.mlir --tile-make-persistent 2>&1 | FileCheck %s --check-prefix=TICKET

//--- copy.mlir
// The manual's example.
gpu.module @kernels {
  gpu.func @copy(%arg0: !tile.view<640xf32>, %arg1: !tile.view<640xf32>) kernel attributes {tile.grid = array<i64: 5, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2, persistent>} {
    %c128 = arith.constant 128 : index
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c128 : index
    %1 = tile.load %arg0[%0 : 128] : !tile.view<640xf32>
    tile.store %1, %arg1[%0 : 128] : !tile.view<640xf32>
    gpu.return
  }
}
// AFTER: scf.for %arg2 = %block_id_x to %c5 step %grid_dim_x {
// AFTER-NEXT: %pid_x = tile.program_id x of %arg2
// AFTER-NEXT: %0 = arith.muli %pid_x, %c128 : index
// AFTER-NEXT: %1 = tile.load %arg0[%0 : 128] : !tile.view<640xf32>
// AFTER-NEXT: tile.store %1, %arg1[%0 : 128] : !tile.view<640xf32>
// AFTER-NEXT: }
// AFTER-NEXT: gpu.return

// NOT-NOT: scf.for
// NOT: tile.program_id x{{$}}

// GRID: error: 'gpu.func' op is persistent, but has no tile.grid that says how many programs there are

//--- stores.mlir
// A store by a tensor map runs on until the next program stores, in memory that nothing else takes; the raster is in the loop.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#shared128 = #tile.shared<swizzle = 128>
gpu.module @kernels {
  gpu.func @store(%arg0: !tile.view<256x256xbf16>) kernel attributes {tile.grid = array<i64: 4, 4, 1>, tile.schedule = #tile.schedule<groups = 1, stages = 2, raster = 2x4, persistent>} {
    %c64 = arith.constant 64 : index
    %x = tile.program_id x
    %y = tile.program_id y
    %i = arith.muli %x, %c64 : index
    %j = arith.muli %y, %c64 : index
    %one = arith.constant dense<1.0> : tensor<64x64xbf16, #layout>
    %0 = tile.alloc_shared : !tile.shared<4x2x16x64xbf16, #shared128>
    tile.store_tensor %one, %arg0[%i : 64, %j : 64] by %0 : tensor<64x64xbf16, #layout>, !tile.view<256x256xbf16>, !tile.shared<4x2x16x64xbf16, #shared128>
    tile.wait_stores %0 : !tile.shared<4x2x16x64xbf16, #shared128>
    gpu.return
  }
}
// STORES: tile.schedule = #tile.schedule<groups = 1, stages = 2, persistent>
// STORES: %[[M:.*]] = tile.alloc_shared
// STORES: scf.for %[[N:.*]] = %{{.*}} to %c16
// STORES: arith.remui %[[N]]
// STORES: arith.minui
// STORES: tile.program_id x of %[[AT:.*]]
// STORES: tile.program_id y of %[[AT]]
// STORES: tile.wait_stores %[[M]]
// STORES-NEXT: tile.store_tensor
// STORES-NEXT: }
// STORES-NEXT: tile.wait_stores %[[M]]
// STORES-NEXT: gpu.return

// A raster is of a plane.
// PLANES: scf.for %[[N:.*]] = %{{.*}} to %c48
// PLANES: arith.divui %[[N]], %c16
// PLANES: %[[IN:.*]] = arith.remui %[[N]], %c16
// PLANES: arith.remui %[[IN]]
// PLANES: tile.program_id x of

//--- ticket.mlir
gpu.module @kernels {
  gpu.func @ticket(%arg0: !tile.view<1xi32>) kernel attributes {tile.grid = array<i64: 5, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2, persistent>} {
    %c0 = arith.constant 0 : index
    %0 = tile.ticket %arg0[%c0] : !tile.view<1xi32>
    gpu.return
  }
}
// TICKET: error: 'tile.ticket' op is in a persistent kernel, whose programs are dealt out before they start
