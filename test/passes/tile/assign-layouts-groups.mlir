// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-select-instructions=target=sm_90a --tile-assign-layouts | FileCheck %s
// RUN: act-opt %s --tile-select-instructions=target=sm_80 --tile-assign-layouts | FileCheck %s --check-prefix=AMPERE

// A tensor that is added to a sum of warp groups is loaded in the sum's layout, and f32 is stored in it: whole sectors. 16-bit
// numbers are converted first, for a store of 16 bytes or by a tensor map.
// CHECK-DAG: #[[SUM:.*]] = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
// CHECK: %[[D:.*]] = tile.load %arg2{{.*}} -> tensor<64x64xbf16, #[[SUM]]>
// CHECK: arith.extf %[[D]]
// CHECK-NOT: tile.convert_layout
// CHECK: tile.store {{.*}} : tensor<64x64xf32, #[[SUM]]>
// CHECK: %[[C:.*]] = tile.convert_layout
// CHECK: tile.store %[[C]]
// AMPERE: %[[D:.*]] = tile.load %arg2
// AMPERE: tile.convert_layout
// AMPERE: %[[C:.*]] = tile.convert_layout
// AMPERE: tile.store %[[C]], %arg3
gpu.module @kernels {
  gpu.func @added(%a: !tile.view<64x256xbf16>, %b: !tile.view<256x64xbf16>, %d: !tile.view<64x64xbf16>, %c: !tile.view<64x64xf32>, %e: !tile.view<64x64xbf16>)
      kernel attributes {tile.schedule = #tile.schedule<groups = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %x = tile.load %a[%c0 : 64, %k : 32] : !tile.view<64x256xbf16>
      %y = tile.load %b[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
      %next = tile.dot %x, %y, %acc : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %0 = tile.load %d[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %1 = arith.extf %0 : tensor<64x64xbf16> to tensor<64x64xf32>
    %2 = arith.addf %sum, %1 : tensor<64x64xf32>
    tile.store %2, %c[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    %3 = arith.truncf %2 : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %3, %e[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    gpu.return
  }
}
