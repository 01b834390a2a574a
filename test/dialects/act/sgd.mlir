// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @w "w" : tensor<4xf32>

// CHECK-LABEL: @plain
// CHECK: act.sgd @w lr(%{{.+}})
func.func @plain(%lr: f32) {
  act.sgd @w lr(%lr)
  return
}

// CHECK-LABEL: @clipped_with_master
// CHECK: act.sgd @w lr(%{{.+}}) clip(%{{.+}} : tensor<f32>) master
func.func @clipped_with_master(%lr: f32, %c: tensor<f32>) {
  act.sgd @w lr(%lr) clip(%c : tensor<f32>) master
  return
}

// CHECK-LABEL: @momentum
// CHECK: act.sgd @w lr(%{{.+}})
// CHECK: act.sgd @w lr(%{{.+}}) momentum 9.000000e-01 weight_decay 1.000000e-02{{$}}
// CHECK: act.sgd @w lr(%{{.+}}) momentum 9.000000e-01 weight_decay 1.000000e-02 master
func.func @momentum(%lr: f32) {
  act.sgd @w lr(%lr)
  act.sgd @w lr(%lr) momentum 9.000000e-01 weight_decay 1.000000e-02
  act.sgd @w lr(%lr) momentum 0.9 weight_decay 0.01 master
  return
}
