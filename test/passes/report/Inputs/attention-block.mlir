// SPDX-License-Identifier: Apache-2.0
// An attention block with dropout, in 16 bits, as a layer of a small model.
#V_h = #act.dims<V, h>
#axd_h = #act.dims<a*d, h>
#b_a_s_d = #act.dims<b, a, s, d>
#b_a_s_s = #act.dims<b, a, s, s>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_a_d = #act.dims<b, s, a, d>
#b_s_axd = #act.dims<b, s, a*d>
#b_s_h = #act.dims<b, s, h>
#h_axd = #act.dims<h, a*d>
module @attention_block {
  act.parameter @embed "embed.weight" : tensor<?x?xbf16, #V_h>
  act.parameter @q "layers.{l}.q.weight" : tensor<?x?xbf16, #axd_h> layers(3)
  act.parameter @k "layers.{l}.k.weight" : tensor<?x?xbf16, #axd_h> layers(3)
  act.parameter @v "layers.{l}.v.weight" : tensor<?x?xbf16, #axd_h> layers(3)
  act.parameter @o "layers.{l}.o.weight" : tensor<?x?xbf16, #h_axd> layers(3)
  func.func private @block(%l: i64, %x: tensor<?x?x?xbf16, #b_s_h>, %seed: i64, %step: i64) -> tensor<?x?x?xbf16, #b_s_h> {
    %wq = act.param @q : tensor<?x?xbf16, #axd_h>
    %wk = act.param @k : tensor<?x?xbf16, #axd_h>
    %wv = act.param @v : tensor<?x?xbf16, #axd_h>
    %wo = act.param @o : tensor<?x?xbf16, #h_axd>
    %q = act.linear %x, %wq : (tensor<?x?x?xbf16, #b_s_h>, tensor<?x?xbf16, #axd_h>) -> tensor<?x?x?xbf16, #b_s_axd>
    %k = act.linear %x, %wk : (tensor<?x?x?xbf16, #b_s_h>, tensor<?x?xbf16, #axd_h>) -> tensor<?x?x?xbf16, #b_s_axd>
    %v = act.linear %x, %wv : (tensor<?x?x?xbf16, #b_s_h>, tensor<?x?xbf16, #axd_h>) -> tensor<?x?x?xbf16, #b_s_axd>
    %q4 = act.reshape %q : tensor<?x?x?xbf16, #b_s_axd> -> tensor<?x?x?x?xbf16, #b_s_a_d>
    %k4 = act.reshape %k : tensor<?x?x?xbf16, #b_s_axd> -> tensor<?x?x?x?xbf16, #b_s_a_d>
    %v4 = act.reshape %v : tensor<?x?x?xbf16, #b_s_axd> -> tensor<?x?x?x?xbf16, #b_s_a_d>
    %qt = act.transpose %q4 [0, 2, 1, 3] : tensor<?x?x?x?xbf16, #b_s_a_d> -> tensor<?x?x?x?xbf16, #b_a_s_d>
    %kt = act.transpose %k4 [0, 2, 1, 3] : tensor<?x?x?x?xbf16, #b_s_a_d> -> tensor<?x?x?x?xbf16, #b_a_s_d>
    %vt = act.transpose %v4 [0, 2, 1, 3] : tensor<?x?x?x?xbf16, #b_s_a_d> -> tensor<?x?x?x?xbf16, #b_a_s_d>
    %scores = act.matmul %qt, %kt transpose_rhs : (tensor<?x?x?x?xbf16, #b_a_s_d>, tensor<?x?x?x?xbf16, #b_a_s_d>) -> tensor<?x?x?x?xbf16, #b_a_s_s>
    %scaled = act.scale %scores by 0.125 : tensor<?x?x?x?xbf16, #b_a_s_s>
    %p = act.softmax %scaled axis 3 : tensor<?x?x?x?xbf16, #b_a_s_s>
    %first = act.site 1 layer(%l) : i64
    %dropped = act.dropout %p p 0.1 rng(%seed, %step, %first) : tensor<?x?x?x?xbf16, #b_a_s_s>
    %c = act.matmul %dropped, %vt : (tensor<?x?x?x?xbf16, #b_a_s_s>, tensor<?x?x?x?xbf16, #b_a_s_d>) -> tensor<?x?x?x?xbf16, #b_a_s_d>
    %ct = act.transpose %c [0, 2, 1, 3] : tensor<?x?x?x?xbf16, #b_a_s_d> -> tensor<?x?x?x?xbf16, #b_s_a_d>
    %c3 = act.reshape %ct : tensor<?x?x?x?xbf16, #b_s_a_d> -> tensor<?x?x?xbf16, #b_s_axd>
    %o = act.linear %c3, %wo : (tensor<?x?x?xbf16, #b_s_axd>, tensor<?x?xbf16, #h_axd>) -> tensor<?x?x?xbf16, #b_s_h>
    %second = act.site 2 layer(%l) : i64
    %out = act.dropout %o p 0.1 rng(%seed, %step, %second) : tensor<?x?x?xbf16, #b_s_h>
    return %out : tensor<?x?x?xbf16, #b_s_h>
  }
  func.func @forward(%tokens: tensor<?x?xi32, #b_s> {act.name = "tokens"}, %labels: tensor<?x?xi32, #b_s> {act.name = "labels"},
                     %seed: i64 {act.name = "seed"}, %step: i64 {act.name = "step"}) -> (tensor<f32> {act.name = "loss"}) {
    %table = act.param @embed : tensor<?x?xbf16, #V_h>
    %x = act.embedding %table, %tokens : (tensor<?x?xbf16, #V_h>, tensor<?x?xi32, #b_s>) -> tensor<?x?x?xbf16, #b_s_h>
    %y = act.repeat @block count(L = 3) carry(%x) shared(%seed, %step) : (tensor<?x?x?xbf16, #b_s_h>, i64, i64) -> tensor<?x?x?xbf16, #b_s_h>
    %logits = act.linear %y, %table : (tensor<?x?x?xbf16, #b_s_h>, tensor<?x?xbf16, #V_h>) -> tensor<?x?x?xbf16, #b_s_V>
    %loss = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<?x?x?xbf16, #b_s_V>, tensor<?x?xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
