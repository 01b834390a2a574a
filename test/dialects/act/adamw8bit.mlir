// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @w "w" : tensor<8x32xf32>

// CHECK-LABEL: @plain
// CHECK: act.adamw8bit @w lr(%{{.+}}) step(%{{.+}}) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
func.func @plain(%lr: f32, %t: i64) {
  act.adamw8bit @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
  return
}

// CHECK-LABEL: @clipped_with_master
// CHECK: act.adamw8bit @w lr(%{{.+}}) step(%{{.+}}) clip(%{{.+}} : tensor<f32>) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02 master
func.func @clipped_with_master(%lr: f32, %t: i64, %c: tensor<f32>) {
  act.adamw8bit @w lr(%lr) step(%t) clip(%c : tensor<f32>) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02 master
  return
}
