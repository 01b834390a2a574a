// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-transpose-dots | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --tile-transpose-dots | FileCheck %s --check-prefix=BOTH
// RUN: sed 's/groups = 2/warps = 8/' %s | act-opt --tile-transpose-dots | FileCheck %s --check-prefix=WARPS

// The manual's example: the gradient of keys, from scores that are computed
// with queries as rows.
gpu.module @kernels {
  gpu.func @keys(%arg0: !tile.view<64x32xbf16>, %arg1: !tile.view<128x32xbf16>, %arg2: !tile.view<64xf32>, %arg3: !tile.view<128x32xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x32xf32>
    %0 = tile.load %arg0[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %1 = tile.load %arg1[%c0 : 128, %c0 : 32] : !tile.view<128x32xbf16>
    %2 = tile.load %arg2[%c0 : 64] : !tile.view<64xf32>
    %3 = tile.trans %1 : tensor<128x32xbf16>
    %4 = tile.dot %0, %3, %cst : tensor<64x32xbf16>, tensor<32x128xbf16> -> tensor<64x128xf32>
    %5 = tile.expand_dims %2 axis 1 : tensor<64xf32>
    %6 = tile.broadcast %5 : tensor<64x1xf32> -> tensor<64x128xf32>
    %7 = arith.subf %4, %6 : tensor<64x128xf32>
    %8 = arith.truncf %7 : tensor<64x128xf32> to tensor<64x128xbf16>
    %9 = tile.trans %8 : tensor<64x128xbf16>
    %10 = tile.dot %9, %0, %cst_0 : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    tile.store %10, %arg3[%c0 : 128, %c0 : 32] : !tile.view<128x32xf32>
    gpu.return
  }
  // AFTER: %3 = tile.trans %0 : tensor<64x32xbf16>
  // AFTER-NEXT: %4 = tile.dot %1, %3, %cst : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
  // AFTER-NEXT: %5 = tile.expand_dims %2 axis 0 : tensor<64xf32>
  // AFTER-NEXT: %6 = tile.broadcast %5 : tensor<1x64xf32> -> tensor<128x64xf32>
  // AFTER-NEXT: %7 = arith.subf %4, %6 : tensor<128x64xf32>
  // AFTER-NEXT: %8 = arith.truncf %7 : tensor<128x64xf32> to tensor<128x64xbf16>
  // AFTER-NEXT: %9 = tile.dot %8, %0, %cst_0 : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>

  // What else reads the block gets it transposed back. Loads are transposed, and
  // so is what is the same everywhere.
  // BOTH-LABEL: gpu.func @both
  // BOTH: %[[A:.*]] = tile.trans %[[LOADED:.*]] : tensor<64x128xf32>
  // BOTH: %[[S:.*]] = tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
  // BOTH: %[[SUM:.*]] = arith.addf %[[S]], %[[A]] : tensor<128x64xf32>
  // BOTH: %[[P:.*]] = arith.truncf %[[SUM]] : tensor<128x64xf32> to tensor<128x64xbf16>
  // BOTH: %[[BACK:.*]] = tile.trans %[[P]] : tensor<128x64xbf16>
  // BOTH: tile.dot %[[P]], %{{.*}} : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
  // BOTH: tile.dot %[[BACK]], %{{.*}} : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xf32>
  gpu.func @both(%arg0: !tile.view<64x32xbf16>, %arg1: !tile.view<128x32xbf16>, %arg2: !tile.view<64x128xf32>, %arg3: !tile.view<128x32xf32>, %arg4: !tile.view<64x32xf32>) kernel attributes {tile.schedule = #tile.schedule<groups = 2, stages = 2>} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x32xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
    %0 = tile.load %arg0[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %1 = tile.load %arg1[%c0 : 128, %c0 : 32] : !tile.view<128x32xbf16>
    %2 = tile.load %arg2[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
    %3 = tile.trans %1 : tensor<128x32xbf16>
    %4 = tile.dot %0, %3, %cst : tensor<64x32xbf16>, tensor<32x128xbf16> -> tensor<64x128xf32>
    %5 = arith.addf %4, %2 : tensor<64x128xf32>
    %6 = arith.truncf %5 : tensor<64x128xf32> to tensor<64x128xbf16>
    %7 = tile.trans %6 : tensor<64x128xbf16>
    %8 = tile.dot %7, %0, %cst_0 : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    %9 = tile.dot %6, %1, %cst_1 : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xf32>
    tile.store %8, %arg3[%c0 : 128, %c0 : 32] : !tile.view<128x32xf32>
    tile.store %9, %arg4[%c0 : 64, %c0 : 32] : !tile.view<64x32xf32>
    gpu.return
  }
}

// Elsewhere an operand goes by way of shared memory either way.
// WARPS: %[[P:.*]] = arith.truncf
// WARPS: %[[T:.*]] = tile.trans %[[P]] : tensor<64x128xbf16>
// WARPS: tile.dot %[[T]]
