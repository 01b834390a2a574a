// A model for inference whose groups are norms, activations and projections.
#V_h = #act.dims<V, h>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_f = #act.dims<b, s, f>
#b_s_h = #act.dims<b, s, h>
#f_h = #act.dims<f, h>
#h = #act.dims<h>
#h_f = #act.dims<h, f>
module @mlp {
  act.parameter @embed "embed.weight" : tensor<72x32xbf16, #V_h>
  act.parameter @norm "norm.weight" : tensor<32xbf16, #h> init(ones, 0.0)
  act.parameter @gate "gate.weight" : tensor<80x32xbf16, #f_h>
  act.parameter @up "up.weight" : tensor<80x32xbf16, #f_h>
  act.parameter @down "down.weight" : tensor<32x80xbf16, #h_f>

  func.func @forward(%tokens: tensor<2x24xi32, #b_s> {act.name = "tokens"})
      -> (tensor<2x24x72xbf16, #b_s_V> {act.name = "logits"}) {
    %embed = act.param @embed : tensor<72x32xbf16, #V_h>
    %norm = act.param @norm : tensor<32xbf16, #h>
    %gate = act.param @gate : tensor<80x32xbf16, #f_h>
    %up = act.param @up : tensor<80x32xbf16, #f_h>
    %down = act.param @down : tensor<32x80xbf16, #h_f>
    %x = act.embedding %embed, %tokens
      : (tensor<72x32xbf16, #V_h>, tensor<2x24xi32, #b_s>) -> tensor<2x24x32xbf16, #b_s_h>
    %normed = act.rms_norm %x, %norm eps 1.0e-5
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<32xbf16, #h>) -> tensor<2x24x32xbf16, #b_s_h>
    %g = act.linear %normed, %gate
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<80x32xbf16, #f_h>) -> tensor<2x24x80xbf16, #b_s_f>
    %u = act.linear %normed, %up
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<80x32xbf16, #f_h>) -> tensor<2x24x80xbf16, #b_s_f>
    %bent = act.swiglu %g, %u : tensor<2x24x80xbf16, #b_s_f>
    %back = act.linear %bent, %down
      : (tensor<2x24x80xbf16, #b_s_f>, tensor<32x80xbf16, #h_f>) -> tensor<2x24x32xbf16, #b_s_h>
    %sum = act.add %x, %back
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<2x24x32xbf16, #b_s_h>) -> tensor<2x24x32xbf16, #b_s_h>
    %logits = act.linear %sum, %embed
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<72x32xbf16, #V_h>) -> tensor<2x24x72xbf16, #b_s_V>
    return %logits : tensor<2x24x72xbf16, #b_s_V>
  }
}
