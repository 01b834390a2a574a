// RUN: act-opt %s --memory-report -o /dev/null
// RUN: act-run train %s --data %examples/data/tinyshakespeare.txt --steps 20 --lr 0.01

// A layer between the character and the next one's logits. Its residual add, its norm
// and its activation decide what is kept for backward.
#V_h = #act.dims<V, h>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_f = #act.dims<b, s, f>
#b_s_h = #act.dims<b, s, h>
#f_h = #act.dims<f, h>
#h = #act.dims<h>
#h_f = #act.dims<h, f>
module @mlp {
  act.parameter @embed "embed.weight" : tensor<65x32xf32, #V_h>
  act.parameter @norm "norm.weight" : tensor<32xf32, #h> init(ones, 0.0)
  act.parameter @up "up.weight" : tensor<128x32xf32, #f_h>
  act.parameter @down "down.weight" : tensor<32x128xf32, #h_f>

  func.func @forward(%tokens: tensor<8x64xi32, #b_s> {act.name = "tokens"},
                     %labels: tensor<8x64xi32, #b_s> {act.name = "labels"})
      -> (tensor<f32> {act.name = "loss"}) {
    %embed = act.param @embed : tensor<65x32xf32, #V_h>
    %norm = act.param @norm : tensor<32xf32, #h>
    %up = act.param @up : tensor<128x32xf32, #f_h>
    %down = act.param @down : tensor<32x128xf32, #h_f>
    %x = act.embedding %embed, %tokens
      : (tensor<65x32xf32, #V_h>, tensor<8x64xi32, #b_s>) -> tensor<8x64x32xf32, #b_s_h>
    %normed = act.rms_norm %x, %norm eps 1.0e-5
      : (tensor<8x64x32xf32, #b_s_h>, tensor<32xf32, #h>) -> tensor<8x64x32xf32, #b_s_h>
    %wide = act.linear %normed, %up
      : (tensor<8x64x32xf32, #b_s_h>, tensor<128x32xf32, #f_h>) -> tensor<8x64x128xf32, #b_s_f>
    %bent = act.gelu %wide : tensor<8x64x128xf32, #b_s_f>
    %back = act.linear %bent, %down
      : (tensor<8x64x128xf32, #b_s_f>, tensor<32x128xf32, #h_f>) -> tensor<8x64x32xf32, #b_s_h>
    %sum = act.add %x, %back
      : (tensor<8x64x32xf32, #b_s_h>, tensor<8x64x32xf32, #b_s_h>) -> tensor<8x64x32xf32, #b_s_h>
    %logits = act.linear %sum, %embed
      : (tensor<8x64x32xf32, #b_s_h>, tensor<65x32xf32, #V_h>) -> tensor<8x64x65xf32, #b_s_V>
    %loss = act.cross_entropy %logits, %labels ignore -100 reduction mean
      : (tensor<8x64x65xf32, #b_s_V>, tensor<8x64xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
