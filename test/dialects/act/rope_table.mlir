// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s = #act.dims<s>
#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @plain
// CHECK: act.rope_table %{{.+}} theta 1.000000e+04 : tensor<8xi32> -> tensor<8x4xf32>
func.func @plain(%p: tensor<8xi32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<8xi32> -> tensor<8x4xf32>
  return %cos, %sin : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @llama3
// CHECK: act.rope_table %{{.+}} theta 5.000000e+05 llama3 [8.000000e+00, 1.000000e+00, 4.000000e+00, 8.192000e+03] : tensor<8xi32> -> tensor<8x4xf32>
func.func @llama3(%p: tensor<8xi32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %cos, %sin = act.rope_table %p theta 5.000000e+05 llama3 [8.000000e+00, 1.000000e+00, 4.000000e+00, 8.192000e+03] : tensor<8xi32> -> tensor<8x4xf32>
  return %cos, %sin : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @linear
// CHECK: act.rope_table %{{.+}} theta 1.000000e+04 linear(4.000000e+00) : tensor<8xi32> -> tensor<8x4xf32>
func.func @linear(%p: tensor<8xi32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %cos, %sin = act.rope_table %p theta 1.000000e+04 linear(4.000000e+00) : tensor<8xi32> -> tensor<8x4xf32>
  return %cos, %sin : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @named
// CHECK: act.rope_table %{{.+}} theta 1.000000e+04 : tensor<?xi32, #s> -> tensor<?x4xf32, #s_4>
func.func @named(%p: tensor<?xi32, #s>) -> (tensor<?x4xf32, #s_4>, tensor<?x4xf32, #s_4>) {
  %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<?xi32, #s> -> tensor<?x4xf32, #s_4>
  return %cos, %sin : tensor<?x4xf32, #s_4>, tensor<?x4xf32, #s_4>
}
