// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @one
// CHECK: act.clip %{{.+}} max_norm 1.000000e+00 : tensor<f32>
func.func @one(%s: tensor<f32>) -> tensor<f32> {
  %c = act.clip %s max_norm 1.000000e+00 : tensor<f32>
  return %c : tensor<f32>
}

// CHECK-LABEL: @scaled
// CHECK: act.clip %{{.+}} max_norm 1.000000e+00 : tensor<f32>
// CHECK: act.clip %{{.+}} scale(%{{.+}} : tensor<f32>) : tensor<f32>
// CHECK: act.clip %{{.+}} scale(%{{.+}} : tensor<f32>) max_norm 1.000000e+00 : tensor<f32>
func.func @scaled(%s: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = act.clip %s max_norm 1.000000e+00 : tensor<f32>
  %b = act.clip %s scale(%k : tensor<f32>) : tensor<f32>
  %c = act.clip %s scale(%k : tensor<f32>) max_norm 1.0 : tensor<f32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
}
