// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#rows = #tile.layout<register = [4:(0,1)], lane = [32:(1,0)], warp = []>
#columns = #tile.layout<register = [4:(8,0)], lane = [8:(1,0), 4:(0,1)], warp = []>
#four = #tile.layout<register = [4:(0,1)], lane = [32:(1,0)], warp = [4:(0,0)]>

// CHECK-LABEL: @other_threads
// CHECK: tile.convert_layout %{{.+}} : tensor<32x4xf32, #[[ROWS:.+]]> -> tensor<32x4xf32, #[[COLUMNS:.+]]>
func.func @other_threads(%0: tensor<32x4xf32, #rows>) -> tensor<32x4xf32, #columns> {
  %1 = tile.convert_layout %0 : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
  return %1 : tensor<32x4xf32, #columns>
}

// CHECK-LABEL: @there_and_back
// FOLD-LABEL: @there_and_back
// FOLD-NOT: tile.convert_layout
func.func @there_and_back(%0: tensor<32x4xf32, #rows>) -> tensor<32x4xf32, #rows> {
  %1 = tile.convert_layout %0 : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
  %2 = tile.convert_layout %1 : tensor<32x4xf32, #columns> -> tensor<32x4xf32, #rows>
  return %2 : tensor<32x4xf32, #rows>
}

// CHECK-LABEL: @on_the_way
// FOLD-LABEL: @on_the_way
// FOLD-COUNT-1: tile.convert_layout
// FOLD-NOT: tile.convert_layout
func.func @on_the_way(%0: tensor<32x4xf32, #rows>) -> tensor<32x4xf32, #four> {
  %1 = tile.convert_layout %0 : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
  %2 = tile.convert_layout %1 : tensor<32x4xf32, #columns> -> tensor<32x4xf32, #four>
  return %2 : tensor<32x4xf32, #four>
}

// CHECK-LABEL: @of_equal_elements
// FOLD-LABEL: @of_equal_elements
// FOLD-NOT: tile.
func.func @of_equal_elements(%x: f32) -> (tensor<32x4xf32, #columns>, tensor<32x4xf32, #columns>) {
  %ones = arith.constant dense<1.0> : tensor<32x4xf32, #rows>
  %xs = tensor.splat %x : tensor<32x4xf32, #rows>
  %0 = tile.convert_layout %ones : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
  %1 = tile.convert_layout %xs : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
  return %0, %1 : tensor<32x4xf32, #columns>, tensor<32x4xf32, #columns>
}
