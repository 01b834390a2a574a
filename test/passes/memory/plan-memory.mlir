// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --plan-memory | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --plan-memory | FileCheck %s

// Three matrices of 64 bytes in a chain: two are alive at once. The result leaves
// through a port and has no place in the arena.
// CHECK: module attributes {act.plan = {arena_bytes = 128 : i64, buffers = [
// CHECK-SAME: {bytes = 64 : i64, first = 0 : i64, last = 1 : i64, name = "softmax", offset = [[A:[0-9]+]] : i64}
// CHECK-SAME: {bytes = 64 : i64, first = 1 : i64, last = 2 : i64, name = "softmax", offset = [[B:[0-9]+]] : i64}
// CHECK-SAME: {bytes = 64 : i64, first = 2 : i64, last = 3 : i64, name = "softmax", offset = [[A]] : i64}
// CHECK-SAME: ], function = "forward", lower_bound_bytes = 128 : i64}
module {
  func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = act.softmax %x axis 1 : tensor<4x4xf32>
    %1 = act.softmax %0 axis 0 : tensor<4x4xf32>
    %2 = act.softmax %1 axis 1 : tensor<4x4xf32>
    %3 = act.softmax %2 axis 0 : tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}

// -----

// A buffer that takes over another's memory has no entry of its own: its bytes
// are those of the owner, which lives on.
// CHECK: module attributes {act.plan = {arena_bytes = 64 : i64, buffers = [
// CHECK-SAME: {bytes = 64 : i64, first = 0 : i64, last = 2 : i64, name = "softmax", offset = 0 : i64}], function
module {
  func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = act.softmax %x axis 1 : tensor<4x4xf32>
    %1 = act.silu %0 : tensor<4x4xf32>
    %2 = act.softmax %1 axis 0 : tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

// -----

// Every place is a multiple of 64 bytes; sizes are as they are.
// CHECK: arena_bytes = 256 : i64
// CHECK-SAME: {bytes = 36 : i64, {{[^}]*}} offset = {{0|64|128|192}} : i64}
// CHECK-SAME: {bytes = 12 : i64, {{[^}]*}} offset = {{0|64|128|192}} : i64}
// CHECK-SAME: lower_bound_bytes = 256 : i64
module {
  func.func @forward(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
    %0 = act.softmax %x axis 1 : tensor<3x3xf32>
    %s = act.sum_to %0 : tensor<3x3xf32> -> tensor<1x3xf32>
    %1 = act.softmax %0 axis 0 : tensor<3x3xf32>
    %2 = act.softmax %1 axis 1 : tensor<3x3xf32>
    %3 = act.matmul %s, %2 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %4 = act.matmul %3, %1 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %5 = act.expand %4 : tensor<1x3xf32> -> tensor<3x3xf32>
    %6 = act.softmax %5 axis 1 : tensor<3x3xf32>
    return %6 : tensor<3x3xf32>
  }
}

// -----

// Workspace has a place while its kernel runs, beside what that reads and makes:
// 64 + 64 + 1024, at a multiple of 64 bytes. Before and after, its memory is free.
// CHECK: module attributes {act.plan = {arena_bytes = 1152 : i64, buffers = [
// CHECK-SAME: {bytes = 1000 : i64, first = 1 : i64, last = 1 : i64, name = "workspace", offset = {{0|64|128}} : i64}
// CHECK-SAME: lower_bound_bytes = 1152 : i64
module {
  func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = act.group "first" (%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
      %s = act.softmax %a axis 1 : tensor<4x4xf32>
      act.yield %s : tensor<4x4xf32>
    }
    %1 = act.group "split" (%a = %0 : tensor<4x4xf32>) workspace(tensor<1000xi8>) -> tensor<4x4xf32> {
      %s = act.softmax %a axis 0 : tensor<4x4xf32>
      act.yield %s : tensor<4x4xf32>
    }
    %2 = act.group "last" (%a = %1 : tensor<4x4xf32>) -> tensor<4x4xf32> {
      %s = act.softmax %a axis 1 : tensor<4x4xf32>
      act.yield %s : tensor<4x4xf32>
    }
    return %2 : tensor<4x4xf32>
  }
}

// -----

// The manual's example.
func.func @forward(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = act.softmax %arg0 axis 1 : tensor<4x4xf32>
  %1 = act.softmax %0 axis 0 : tensor<4x4xf32>
  %2 = act.softmax %1 axis 1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
// AFTER: module attributes {act.plan = {arena_bytes = 128 : i64, buffers = [{bytes = 64 : i64, first = 0 : i64, last = 1 : i64, name = "softmax", offset = 0 : i64}, {{.*}}
