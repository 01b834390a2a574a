// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @scale
// CHECK: %[[Y:.+]] = act.group "scale" (%[[A:.+]] = %{{.+}} : tensor<4xf32>) -> tensor<4xf32> {
// CHECK: %[[S:.+]] = act.scale %[[A]] by 2.000000e+00 : tensor<4xf32>
// CHECK: act.yield %[[S]] : tensor<4xf32>
// CHECK: }
// CHECK: return %[[Y]] : tensor<4xf32>
func.func @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = act.group "scale" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.scale %a by 2.000000e+00 : tensor<4xf32>
    act.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @two_results_in_place
// CHECK: act.group "both" (%[[A:.+]] = %{{.+}} : tensor<4xf32>, %[[B:.+]] = %{{.+}} : tensor<2x2xf32>) workspace(tensor<1024xi8>, tensor<4xi32>) inplace [1, -1] -> (tensor<4xf32>, tensor<4xf32>) attributes {act.loop = 1 : i64} {
// CHECK: %[[C:.+]] = act.reshape %[[B]]
// CHECK: act.yield %[[C]], %[[A]]
func.func @two_results_in_place(%x: tensor<4xf32>, %z: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = act.group "both" (%a = %x : tensor<4xf32>, %b = %z : tensor<2x2xf32>) workspace(tensor<1024xi8>, tensor<4xi32>) inplace [1, -1] -> (tensor<4xf32>, tensor<4xf32>) attributes {act.loop = 1 : i64} {
    %c = act.reshape %b : tensor<2x2xf32> -> tensor<4xf32>
    act.yield %c, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @nothing
// CHECK: act.group "empty \22quoted\22" () {
// CHECK: act.yield
func.func @nothing() {
  act.group "empty \22quoted\22" () {
    act.yield
  }
  return
}

// CHECK-LABEL: @numbers_its_values_anew
// CHECK: act.group "add"
func.func @numbers_its_values_anew(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.scale %x by 2.000000e+00 : tensor<4xf32>
  %1 = act.group "add" (%a = %0 : tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    act.yield %0 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
