// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#N_8 = #act.dims<N, 8>
func.func @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
func.func @indexed(%l: i64, %x: tensor<4x8xf32>, %m: tensor<8xi1>, %w: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  return %x, %w : tensor<4x8xf32>, tensor<8xf32>
}
func.func @scalar(%l: i64) -> i64 {
  return %l : i64
}

// CHECK-LABEL: @carried
// CHECK: act.repeat @layer count(L = 2) carry(%{{.+}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @carried(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @without_a_letter
// CHECK: act.repeat @layer count(28) carry(%{{.+}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @without_a_letter(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = act.repeat @layer count(28) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @backward_with_stacks
// CHECK: act.repeat @indexed count(L = 3) from(2) reverse carry(%{{.+}}) shared(%{{.+}}) stack(%{{.+}}) : (tensor<4x8xf32>, tensor<8xi1>, tensor<3x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>)
func.func @backward_with_stacks(%x: tensor<4x8xf32>, %m: tensor<8xi1>, %w: tensor<3x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>) {
  %0:2 = act.repeat @indexed count(L = 3) from(2) reverse carry(%x) shared(%m) stack(%w) : (tensor<4x8xf32>, tensor<8xi1>, tensor<3x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: @named_stack
// CHECK: act.repeat @indexed count(N = 3) carry(%{{.+}}) shared(%{{.+}}) stack(%{{.+}}) : (tensor<4x8xf32>, tensor<8xi1>, tensor<?x8xf32, #N_8>) -> (tensor<4x8xf32>, tensor<?x8xf32, #N_8>)
func.func @named_stack(%x: tensor<4x8xf32>, %m: tensor<8xi1>, %w: tensor<?x8xf32, #N_8>) -> (tensor<4x8xf32>, tensor<?x8xf32, #N_8>) {
  %0:2 = act.repeat @indexed count(N = 3) carry(%x) shared(%m) stack(%w) : (tensor<4x8xf32>, tensor<8xi1>, tensor<?x8xf32, #N_8>) -> (tensor<4x8xf32>, tensor<?x8xf32, #N_8>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<?x8xf32, #N_8>
}

// The callee's i64 is accounted for, so it is not the layer's index.
// CHECK-LABEL: @an_i64_that_is_carried
// CHECK: act.repeat @scalar count(L = 3) carry(%{{.+}}) : (i64) -> i64
func.func @an_i64_that_is_carried(%l: i64) -> i64 {
  %0 = act.repeat @scalar count(L = 3) carry(%l) : (i64) -> i64
  return %0 : i64
}

// CHECK-LABEL: @micro_batches
// CHECK: act.repeat @layer count(4) micro_batches carry(%{{.+}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @micro_batches(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = act.repeat @layer count(4) micro_batches carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
