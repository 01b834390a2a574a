// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

#s_k = #act.dims<s, k>
#s_a = #act.dims<s, a>

// CHECK-LABEL: @query_groups
// CHECK: act.expand %{{.+}} : tensor<2x2x3x4xf32> -> tensor<2x6x3x4xf32>
func.func @query_groups(%k: tensor<2x2x3x4xf32>) -> tensor<2x6x3x4xf32> {
  %0 = act.expand %k : tensor<2x2x3x4xf32> -> tensor<2x6x3x4xf32>
  return %0 : tensor<2x6x3x4xf32>
}

// CHECK-LABEL: @heads_by_name
// CHECK: act.expand %{{.+}} : tensor<?x?xf32, #s_k> -> tensor<?x?xf32, #s_a>
func.func @heads_by_name(%k: tensor<?x?xf32, #s_k>) -> tensor<?x?xf32, #s_a> {
  %0 = act.expand %k : tensor<?x?xf32, #s_k> -> tensor<?x?xf32, #s_a>
  return %0 : tensor<?x?xf32, #s_a>
}

// CHECK-LABEL: @same
// CHECK: act.expand %{{.+}} : tensor<2x3xf32> -> tensor<2x3xf32>
// FOLD-LABEL: @same
// FOLD-NOT: act.expand
func.func @same(%k: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = act.expand %k : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
