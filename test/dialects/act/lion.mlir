// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @w "w" : tensor<4xf32>

// CHECK-LABEL: @both
// CHECK: act.lion @w lr(%{{.+}}) betas [9.000000e-01, 9.900000e-01] weight_decay 1.000000e-01{{$}}
// CHECK: act.lion @w lr(%{{.+}}) clip(%{{.+}} : tensor<f32>) betas [9.000000e-01, 9.900000e-01] weight_decay 1.000000e-01 master
func.func @both(%lr: f32, %c: tensor<f32>) {
  act.lion @w lr(%lr) betas [9.000000e-01, 9.900000e-01] weight_decay 1.000000e-01
  act.lion @w lr(%lr) clip(%c : tensor<f32>) betas [0.9, 0.99] weight_decay 0.1 master
  return
}
