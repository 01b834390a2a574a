// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --verify-diagnostics

// the weight's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.normalize' op weight has shape [2], expected [4] for an input of shape [2, 4]}}
  %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the result's element type
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.normalize' op result has elements of type 'bf16', expected 'f32' as in input}}
  %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xbf16>
  return
}

// -----

// rstd's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<4xf32>) {
  // expected-error@+1 {{'act.normalize' op rstd has shape [4], expected [2] for an input of shape [2, 4]}}
  %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// rstd's element type
func.func @f(%x: tensor<2x4xbf16>, %g: tensor<4xbf16>, %rstd: tensor<2xbf16>) {
  // expected-error@+1 {{'act.normalize' op rstd has elements of type 'bf16', expected 'f32' for statistics}}
  %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xbf16>, tensor<4xbf16>, tensor<2xbf16>) -> tensor<2x4xbf16>
  return
}

// -----

// mean's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %mean: tensor<3xf32>, %rstd: tensor<2xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.normalize' op mean has shape [3], expected [2] for an input of shape [2, 4]}}
  %0 = act.normalize %x, %g mean(%mean) rstd(%rstd) bias(%b) : (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// the bias's shape
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'act.normalize' op bias has shape [2], expected [4] for an input of shape [2, 4]}}
  %0 = act.normalize %x, %g mean(%mean) rstd(%rstd) bias(%b) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// a mean without a bias
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %mean: tensor<2xf32>, %rstd: tensor<2xf32>) {
  // expected-error@+1 {{'act.normalize' op has only one of mean and bias, expected both or neither}}
  %0 = act.normalize %x, %g mean(%mean) rstd(%rstd) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// a bias without a mean
func.func @f(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %rstd: tensor<2xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'act.normalize' op has only one of mean and bias, expected both or neither}}
  %0 = act.normalize %x, %g rstd(%rstd) bias(%b) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}
