// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s | act-opt | FileCheck %s

// CHECK: func.func @in_place(%arg0: tensor<4xf32> {act.role = #act.role<in_place, result = 0>})
func.func @in_place(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// CHECK: %arg0: tensor<16x64xf32> {act.role = #act.role<summed, result = 0, tiles = 64>}, %arg1: tensor<4xi32> {act.role = #act.role<turns, result = 0>}, %arg2: tensor<1xi32> {act.role = #act.role<ticket, result = 0>}
func.func @summed(%x: tensor<16x64xf32> {act.role = #act.role<summed, result = 0, tiles = 64>},
                  %t: tensor<4xi32> {act.role = #act.role<turns, result = 0>},
                  %n: tensor<1xi32> {act.role = #act.role<ticket, result = 0>}) -> tensor<16x64xf32> {
  return %x : tensor<16x64xf32>
}
// CHECK: %arg0: tensor<64x8xf32> {act.role = #act.role<parts, result = 0>}, %arg1: tensor<16x64xf32> {act.role = #act.role<read, tiles = 64>}
func.func @parts(%p: tensor<64x8xf32> {act.role = #act.role<parts, result = 0>},
                 %x: tensor<16x64xf32> {act.role = #act.role<read, tiles = 64>}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  return %e : tensor<8xf32>
}
