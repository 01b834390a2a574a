// RUN: act-opt %s --allow-unregistered-dialect --raise-to-act --split-input-file --verify-diagnostics | FileCheck %s

// As JAX writes it: @main becomes the model, and what it calls becomes part of it.
// CHECK-LABEL: @forward(
// CHECK-NEXT: %[[P:.+]] = act.matmul %arg0, %arg1 transpose_rhs : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %[[C:.+]] = act.cast %[[P]]
// CHECK-NEXT: %[[S:.+]] = act.silu %[[C]]
// CHECK-NEXT: return %[[S]]
// CHECK-NOT: @silu
// expected-remark@+1 {{raise-to-act: found 1 act.matmul, 1 act.cast, 1 act.silu; 0 ops are left}}
func.func public @main(%a: tensor<2x4x8xbf16>, %b: tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16> {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %1 = func.call @silu(%0) : (tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16>
  return %1 : tensor<2x4x6xbf16>
}
func.func private @silu(%x: tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16> {
  %0 = "stablehlo.logistic"(%x) : (tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16>
  %1 = "stablehlo.multiply"(%x, %0) : (tensor<2x4x6xbf16>, tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16>
  return %1 : tensor<2x4x6xbf16>
}

// -----

// Numbers that are known are computed: -1 / sqrt(4).
// CHECK-LABEL: @forward
// CHECK: act.scale %arg0 by -5.000000e-01
// expected-remark@+1 {{found 1 act.scale}}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.constant"() <{value = dense<4.0> : tensor<f32>}> : () -> tensor<f32>
  %1 = "stablehlo.sqrt"(%0) : (tensor<f32>) -> tensor<f32>
  %2 = "stablehlo.constant"() <{value = dense<-1.0> : tensor<f32>}> : () -> tensor<f32>
  %3 = "stablehlo.divide"(%2, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
  %5 = "stablehlo.multiply"(%x, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.cholesky' is not known, or not in this form}}
  %0 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xui32>) -> tensor<4xui32> {
  // expected-error@+1 {{'stablehlo.add' is not known, or not in this form}}
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}

// -----

func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{'stablehlo.transpose' is not known, or not in this form}}
  %0 = "stablehlo.transpose"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// An op of another dialect that MLIR does not have stays, too.
// CHECK-LABEL: @other
// CHECK: "other.something"
// CHECK-NEXT: act.scale
// expected-remark@+1 {{found 1 act.scale; 1 ops are left}}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{'other.something' is left as it is}}
  %0 = "other.something"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.negate"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
