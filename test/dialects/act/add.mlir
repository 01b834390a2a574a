// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @same_shapes
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @same_shapes(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = act.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @broadcasts_a_row
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @broadcasts_a_row(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = act.add %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @broadcasts_both
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x1xbf16>, tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16>
func.func @broadcasts_both(%x: tensor<2x1xbf16>, %y: tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16> {
  %0 = act.add %x, %y : (tensor<2x1xbf16>, tensor<3x1x4xbf16>) -> tensor<3x2x4xbf16>
  return %0 : tensor<3x2x4xbf16>
}

// CHECK-LABEL: @named_dimensions
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
func.func @named_dimensions(%x: tensor<?x4xf32, #s_4>, %y: tensor<1x4xf32>) -> tensor<?x4xf32, #s_4> {
  %0 = act.add %x, %y : (tensor<?x4xf32, #s_4>, tensor<1x4xf32>) -> tensor<?x4xf32, #s_4>
  return %0 : tensor<?x4xf32, #s_4>
}

// CHECK-LABEL: @zero_right
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// FOLD-LABEL: @zero_right
// FOLD-NOT: act.add
func.func @zero_right(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = act.constant dense<0.0> : tensor<f32>
  %0 = act.add %x, %c : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @zero_left
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// FOLD-LABEL: @zero_left
// FOLD-NOT: act.add
func.func @zero_left(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = act.constant dense<-0.0> : tensor<2x4xf32>
  %0 = act.add %c, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @zero_that_broadcasts_the_other
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// FOLD-LABEL: @zero_that_broadcasts_the_other
// FOLD: act.add
func.func @zero_that_broadcasts_the_other(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = act.constant dense<0.0> : tensor<2x4xf32>
  %0 = act.add %x, %c : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @not_zero
// CHECK: act.add %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// FOLD-LABEL: @not_zero
// FOLD: act.add
func.func @not_zero(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = act.constant dense<1.0e-30> : tensor<f32>
  %0 = act.add %x, %c : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
