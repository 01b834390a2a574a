// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-share-conversions | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
#layout = #tile.layout<register = [2:(0,1), 2:(8,0), 4:(0,16)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0), 2:(0,8)]>
#layout1 = #tile.layout<register = [8:(0,1), 2:(32,0)], lane = [8:(0,8), 4:(1,0)], warp = [8:(4,0)]>
#layout2 = #tile.layout<register = [2:(0,1), 2:(8,0), 8:(0,8)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0), 2:(0,0)]>
#layout3 = #tile.layout<register = [2:(1,0), 8:(8,0), 4:(0,16)], lane = [4:(2,0), 8:(0,1)], warp = [4:(0,0), 2:(0,8)]>
#layout4 = #tile.layout<register = [2:(1,0), 2:(0,8), 4:(16,0)], lane = [4:(2,0), 8:(0,1)], warp = [4:(0,16), 2:(8,0)]>
#layout5 = #tile.layout<register = [4:(0,1), 4:(16,0)], lane = [16:(0,4), 2:(1,0)], warp = [8:(2,0)]>
gpu.module @kernels {
  gpu.func @twice(%arg0: !tile.view<64x64xbf16>, %arg1: !tile.view<64x64xf32>, %arg2: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout>
    %0 = tile.load %arg0[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16, #layout1>
    %1 = tile.convert_layout %0 : tensor<64x64xbf16, #layout1> -> tensor<64x64xbf16, #layout2>
    %2 = tile.convert_layout %0 : tensor<64x64xbf16, #layout1> -> tensor<64x64xbf16, #layout3>
    %3 = tile.dot %1, %2, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    %4 = arith.truncf %3 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %5 = tile.trans %4 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout4>
    %6 = tile.convert_layout %5 : tensor<64x64xbf16, #layout4> -> tensor<64x64xbf16, #layout2>
    %7 = tile.dot %6, %2, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    %8 = tile.convert_layout %4 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout2>
    %9 = tile.dot %8, %2, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    %10 = tile.convert_layout %7 : tensor<64x64xf32, #layout> -> tensor<64x64xf32, #layout5>
    tile.store %10, %arg1[%c0 : 64, %c0 : 64] : tensor<64x64xf32, #layout5>, !tile.view<64x64xf32>
    %11 = tile.convert_layout %9 : tensor<64x64xf32, #layout> -> tensor<64x64xf32, #layout5>
    tile.store %11, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xf32, #layout5>, !tile.view<64x64xf32>
    gpu.return
  }
}
// AFTER: %5 = arith.truncf %4 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
// AFTER-NEXT: %6 = tile.alloc_shared : !tile.shared<64x64xbf16, #shared128>
// AFTER-NEXT: tile.store_shared %5, %6 : tensor<64x64xbf16, #layout>, !tile.shared<64x64xbf16, #shared128>
// AFTER-NEXT: tile.barrier
// AFTER-NEXT: %7 = tile.load_shared %6 : !tile.shared<64x64xbf16, #shared128> -> tensor<64x64xbf16, #layout4>
// AFTER-NEXT: %8 = tile.trans %7 : tensor<64x64xbf16, #layout4> -> tensor<64x64xbf16, #layout2>
// AFTER-NEXT: %9 = tile.dot %8, %3, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
// AFTER-NEXT: %10 = tile.load_shared %6 : !tile.shared<64x64xbf16, #shared128> -> tensor<64x64xbf16, #layout2>
// AFTER-NEXT: %11 = tile.dot %10, %3, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
