// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --memory-report=file=%t --verify-diagnostics
// RUN: act-opt %s --split-input-file --optimizer=sgd --verify-diagnostics
// RUN: act-opt %s --split-input-file --remat=layer --verify-diagnostics
// RUN: act-opt %s --split-input-file --emit=%t.act --verify-diagnostics
// RUN: not ls %t.act
// RUN: not act-run train %S/Inputs/declared-grad.mlir --data %s --steps 1 --lr 1 2>&1 | FileCheck %s
// CHECK: declared-grad.mlir:9:1: @grad is declared here and has no body

// A file may hold anything under the names of the entries.
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %sum = act.sum_to %x : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// expected-error@+1 {{@grad is declared here and has no body}}
func.func private @grad(tensor<4xf32>) -> tensor<f32>

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %sum = act.sum_to %x : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// expected-error@+1 {{@grad has no results, expected the loss (a float tensor of rank 0)}}
func.func @grad(%x: tensor<4xf32>) {
  return
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %sum = act.sum_to %x : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// expected-error@+1 {{@grad's first result is 'tensor<4xf32>', expected the loss (a float tensor of rank 0)}}
func.func @grad(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %sum = act.sum_to %x : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
// expected-error@+1 {{@grad's first result is 'i64', expected the loss (a float tensor of rank 0)}}
func.func @grad(%x: i64) -> i64 {
  return %x : i64
}

// -----

// expected-error@+1 {{@grad is not a function but an act.parameter}}
act.parameter @grad "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %w = act.param @grad : tensor<4xf32>
  %sum = act.sum_to %w : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@+1 {{@forward is not a function but an act.parameter}}
act.parameter @forward "w" : tensor<4xf32>

// -----

// expected-error@+1 {{@step is not a function but an act.parameter}}
act.parameter @step "w" : tensor<4xf32>

// -----

// expected-error@+1 {{@update is declared here and has no body}}
func.func private @update()

// -----

// expected-error@+1 {{@forward is declared here and has no body}}
func.func private @forward() -> tensor<f32>
