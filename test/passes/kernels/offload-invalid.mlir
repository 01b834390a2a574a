// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics --plan-memory=function=read

func.func @read(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = act.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = act.offload %a : tensor<4xf32>
  // expected-error@+1 {{reads a value on the host; act.fetch brings it back}}
  %y = act.mul %h, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @read(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = act.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{fetches a value that no act.offload has moved}}
  %y = act.fetch %a : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A result leaves through memory of its own, to which nothing is copied.
func.func @read(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = act.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = act.offload %a : tensor<4xf32>
  // expected-error@+1 {{its result leaves the function; a copy stays in an arena}}
  %y = act.fetch %h : tensor<4xf32>
  return %y : tensor<4xf32>
}
