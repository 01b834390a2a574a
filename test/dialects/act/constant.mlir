// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s = #act.dims<s>

// CHECK-LABEL: @minus_infinity
// CHECK: act.constant dense<0xFF800000> : tensor<f32>
func.func @minus_infinity() -> tensor<f32> {
  %c = act.constant dense<0xFF800000> : tensor<f32>
  return %c : tensor<f32>
}

// CHECK-LABEL: @values
// CHECK: act.constant dense<[1, 2, 3]> : tensor<3xi32>
func.func @values() -> tensor<3xi32> {
  %c = act.constant dense<[1, 2, 3]> : tensor<3xi32>
  return %c : tensor<3xi32>
}

// CHECK-LABEL: @named
// CHECK: act.constant dense<1.000000e+00> : tensor<4xbf16, #s>
func.func @named() -> tensor<4xbf16, #s> {
  %c = act.constant dense<1.000000e+00> : tensor<4xbf16, #s>
  return %c : tensor<4xbf16, #s>
}

// CHECK-LABEL: @with_attributes
// CHECK: act.constant dense<true> : tensor<2xi1> {note = "mask"}
func.func @with_attributes() -> tensor<2xi1> {
  %c = act.constant dense<true> : tensor<2xi1> {note = "mask"}
  return %c : tensor<2xi1>
}

// CHECK-LABEL: @dead
// CHECK: act.constant dense<0.000000e+00> : tensor<f32>
// FOLD-LABEL: @dead
// FOLD-NOT: act.constant
func.func @dead() {
  %c = act.constant dense<0.000000e+00> : tensor<f32>
  return
}
