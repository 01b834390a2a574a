// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --convert-linalg-to-tile | FileCheck %s

// What is in memory has fewer elements than 2^30, and a body takes its index as it is.
// CHECK-LABEL: gpu.func @small(
// CHECK-SAME: tile.index_bits = 32
func.func @small(%x: tensor<32768x32767xf32>) -> tensor<32768x32767xf32> {
  %empty = tensor.empty() : tensor<32768x32767xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32768x32767xf32>) outs(%empty : tensor<32768x32767xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %w = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %w : f32
    linalg.yield %p : f32
  } -> tensor<32768x32767xf32>
  return %y : tensor<32768x32767xf32>
}

// 2^30 elements.
// CHECK-LABEL: gpu.func @large(
// CHECK-NOT: tile.index_bits
func.func @large(%x: tensor<32768x32768xf32>) -> tensor<32768x32768xf32> {
  %empty = tensor.empty() : tensor<32768x32768xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32768x32768xf32>) outs(%empty : tensor<32768x32768xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %a : f32
    linalg.yield %p : f32
  } -> tensor<32768x32768xf32>
  return %y : tensor<32768x32768xf32>
}

// A body's numbers are at most 2 (an edge) * 1000 * 1000000, ...
// CHECK-LABEL: gpu.func @counts(
// CHECK-SAME: tile.index_bits = 32
func.func @counts(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %million = arith.constant 1000000 : index
  %empty = tensor.empty() : tensor<1000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<1000xf32>) outs(%empty : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %m = arith.muli %i, %million : index
    %n = arith.index_cast %m : index to i64
    %w = arith.sitofp %n : i64 to f32
    linalg.yield %w : f32
  } -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}

// ... and here ten times as many.
// CHECK-LABEL: gpu.func @counts_far(
// CHECK-NOT: tile.index_bits
func.func @counts_far(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %many = arith.constant 10000000 : index
  %empty = tensor.empty() : tensor<1000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<1000xf32>) outs(%empty : tensor<1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %m = arith.muli %i, %many : index
    %n = arith.index_cast %m : index to i64
    %w = arith.sitofp %n : i64 to f32
    linalg.yield %w : f32
  } -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}

// What is read may be any number, of which one more has no place in 32 bits.
// CHECK-LABEL: gpu.func @reads(
// CHECK-NOT: tile.index_bits
func.func @reads(%x: tensor<1000xi32>) -> tensor<1000xf32> {
  %one = arith.constant 1 : index
  %empty = tensor.empty() : tensor<1000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<1000xi32>) outs(%empty : tensor<1000xf32>) {
  ^bb0(%a: i32, %b: f32):
    %i = arith.index_cast %a : i32 to index
    %m = arith.addi %i, %one : index
    %n = arith.index_cast %m : index to i64
    %w = arith.sitofp %n : i64 to f32
    linalg.yield %w : f32
  } -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}
