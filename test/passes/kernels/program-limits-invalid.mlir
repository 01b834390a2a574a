// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --plan-memory --verify-diagnostics
// RUN: act-opt %s --split-input-file --memory-report=file=%t --verify-diagnostics
// RUN: not act-opt %S/Inputs/long-repeat.mlir --inline-repeats 2>&1 | FileCheck %s
// CHECK: error: 'act.repeat' op runs @layer 1000000000 times; at most 65536 are written out

// A program that is written out fits in memory, or is refused at once.
module {
  func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.silu %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{'act.repeat' op runs @layer 1000000000 times; an unrolled program has at most 4194304 kernels}}
    %y = act.repeat @layer count(1000000000) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// Stacks of a billion slices are refused before they are made.
func.func private @layer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = act.silu %x : tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'act.repeat' op runs @layer 1000000000 times}}
  %y, %s = act.repeat @layer count(1000000000) carry(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1000000000x4xf32>)
  return %y : tensor<4xf32>
}

// -----

func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.softmax %x axis 0 : tensor<4xf32>
  %1 = act.softmax %0 axis 0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'act.repeat' op runs @layer 2097153 times, each 2 kernels; an unrolled program has at most 4194304}}
  %y = act.repeat @layer count(2097153) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.softmax %x axis 0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @stage(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.repeat @layer count(100000) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'act.repeat' op runs @stage 100000 times, each 100000 kernels}}
  %y = act.repeat @stage count(100000) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
