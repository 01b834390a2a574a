// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{argument 0: act.role is an #act.role on an argument of a function}}
func.func @f(%x: tensor<4xf32> {act.role = 0 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: has a role, expected a tensor of static shape}}
func.func @f(%x: f32 {act.role = #act.role<in_place, result = 0>}) -> f32 {
  return %x : f32
}

// -----

// expected-error@+1 {{argument 0: its role names result 3 of 1}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 3>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: its role names result 0, which is no tensor}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> f32 {
  %c = arith.constant 0.0 : f32
  return %c : f32
}

// -----

// expected-error@+1 {{argument 0: of type 'tensor<4xf32>' cannot have the role in_place of a result of type 'tensor<8xf32>'}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}, %y: tensor<8xf32>) -> tensor<8xf32> {
  return %y : tensor<8xf32>
}

// -----

// expected-error@+1 {{argument 0: and argument 1 are both the memory of result 0}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0>},
             %y: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: is summed in turns, but no arguments have the roles turns and ticket of result 0}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<summed, result = 0>},
             %t: tensor<4xi32> {act.role = #act.role<turns, result = 0>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: of type 'tensor<4xf32>' cannot have the role ticket of a result of type 'tensor<4xf32>'}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<ticket, result = 0>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: of type 'tensor<64x8xf32>' cannot have the role parts of a result of type 'tensor<4xf32>'}}
func.func @f(%p: tensor<64x8xf32> {act.role = #act.role<parts, result = 0>}, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{role turns needs the number of a result}}
func.func @f(%x: tensor<4xi32> {act.role = #act.role<turns>}) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}

// -----

// expected-error@+1 {{role in_place has no tiles; summed and read may have}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<in_place, result = 0, tiles = 8>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{tiles are cut from rows of 12 numbers, expected a multiple of 8}}
func.func @f(%x: tensor<4xf32> {act.role = #act.role<read, tiles = 12>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
