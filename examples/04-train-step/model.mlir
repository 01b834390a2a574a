// RUN: act-opt %s --remat=layer --optimizer=sgd --form-kernels | FileCheck %s
// RUN: act-run train %s --data %examples/data/tinyshakespeare.txt --steps 20 --lr 0.01

// A model of two equal layers, small enough to read its training step whole.
// CHECK-DAG: func.func {{.*}}@layer.bwd
// CHECK-DAG: act.recompute
// CHECK-DAG: func.func {{.*}}@step
#V_h = #act.dims<V, h>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_f = #act.dims<b, s, f>
#b_s_h = #act.dims<b, s, h>
#f_h = #act.dims<f, h>
#h_f = #act.dims<h, f>
module @two_layers {
  act.parameter @embed "embed.weight" : tensor<65x16xf32, #V_h>
  act.parameter @up "layers.{l}.up.weight" : tensor<32x16xf32, #f_h> layers(2)
  act.parameter @down "layers.{l}.down.weight" : tensor<16x32xf32, #h_f> layers(2)

  func.func private @layer(%x: tensor<1x8x16xf32, #b_s_h>) -> tensor<1x8x16xf32, #b_s_h> {
    %up = act.param @up : tensor<32x16xf32, #f_h>
    %down = act.param @down : tensor<16x32xf32, #h_f>
    %wide = act.linear %x, %up : (tensor<1x8x16xf32, #b_s_h>, tensor<32x16xf32, #f_h>) -> tensor<1x8x32xf32, #b_s_f>
    %bent = act.silu %wide : tensor<1x8x32xf32, #b_s_f>
    %back = act.linear %bent, %down : (tensor<1x8x32xf32, #b_s_f>, tensor<16x32xf32, #h_f>) -> tensor<1x8x16xf32, #b_s_h>
    %y = act.add %x, %back : (tensor<1x8x16xf32, #b_s_h>, tensor<1x8x16xf32, #b_s_h>) -> tensor<1x8x16xf32, #b_s_h>
    return %y : tensor<1x8x16xf32, #b_s_h>
  }
  func.func @forward(%tokens: tensor<1x8xi32, #b_s> {act.name = "tokens"},
                     %labels: tensor<1x8xi32, #b_s> {act.name = "labels"})
      -> (tensor<f32> {act.name = "loss"}) {
    %embed = act.param @embed : tensor<65x16xf32, #V_h>
    %x = act.embedding %embed, %tokens : (tensor<65x16xf32, #V_h>, tensor<1x8xi32, #b_s>) -> tensor<1x8x16xf32, #b_s_h>
    %y = act.repeat @layer count(L = 2) carry(%x) : (tensor<1x8x16xf32, #b_s_h>) -> tensor<1x8x16xf32, #b_s_h>
    %logits = act.linear %y, %embed : (tensor<1x8x16xf32, #b_s_h>, tensor<65x16xf32, #V_h>) -> tensor<1x8x65xf32, #b_s_V>
    %loss = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<1x8x65xf32, #b_s_V>, tensor<1x8xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
