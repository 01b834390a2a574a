// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @running_sum
// CHECK: tile.scan add %{{.+}} axis 0 : tensor<128xi32>
func.func @running_sum(%x: tensor<128xi32>) -> tensor<128xi32> {
  %0 = tile.scan add %x axis 0 : tensor<128xi32>
  return %0 : tensor<128xi32>
}

// x -> a x + b, composed: the state of a linear recurrence.
// CHECK-LABEL: @recurrence
// CHECK: tile.scan %{{.+}}, %{{.+}} axis 1 : tensor<4x8xf32>, tensor<4x8xf32> {
// FOLD-LABEL: @recurrence
// FOLD: tile.scan %{{.+}}, %{{.+}} axis 1
func.func @recurrence(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:2 = tile.scan %a, %b axis 1 : tensor<4x8xf32>, tensor<4x8xf32> {
  ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.mulf %a1, %b0 : f32
    %r = arith.addf %q, %b1 : f32
    tile.yield %p, %r : f32, f32
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @word
// FOLD-LABEL: @word
// FOLD: tile.scan mul %{{.+}} axis 0 : tensor<8xf32>
func.func @word(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tile.scan %x axis 0 : tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    tile.yield %r : f32
  }
  return %0 : tensor<8xf32>
}
