// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_4 = #act.dims<s, 4>
#s_8 = #act.dims<s, 8>

// CHECK-LABEL: @qk
// CHECK: act.concat %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
func.func @qk(%q: tensor<2x4xf32>, %k: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %0 = act.concat %q, %k : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: @named
// CHECK: act.concat %{{.+}}, %{{.+}} : (tensor<?x4xf32, #s_4>, tensor<?x4xf32, #s_4>) -> tensor<?x8xf32, #s_8>
func.func @named(%q: tensor<?x4xf32, #s_4>) -> tensor<?x8xf32, #s_8> {
  %0 = act.concat %q, %q : (tensor<?x4xf32, #s_4>, tensor<?x4xf32, #s_4>) -> tensor<?x8xf32, #s_8>
  return %0 : tensor<?x8xf32, #s_8>
}
