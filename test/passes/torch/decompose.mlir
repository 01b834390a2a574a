// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --decompose=torch | FileCheck %s --check-prefix=AFTER --match-full-lines

// The manual's example.
#V_h = #act.dims<V, h>
#axd_h = #act.dims<a*d, h>
#b_a_s_d = #act.dims<b, a, s, d>
#b_a_s_s = #act.dims<b, a, s, s>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_a_d = #act.dims<b, s, a, d>
#b_s_axd = #act.dims<b, s, a*d>
#b_s_f = #act.dims<b, s, f>
#b_s_h = #act.dims<b, s, h>
#f_h = #act.dims<f, h>
#h = #act.dims<h>
#h_axd = #act.dims<h, a*d>
#h_f = #act.dims<h, f>
#s = #act.dims<s>
#s_p = #act.dims<s, p>
#s_s = #act.dims<s, s>
module {
  act.parameter @embed_tokens "model.embed_tokens.weight" : tensor<32x8xf32, #V_h> tied ["lm_head.weight"]
  act.parameter @input_layernorm "model.layers.{l}.input_layernorm.weight" : tensor<8xf32, #h> layers(1) init(ones, 0.000000e+00)
  act.parameter @q_proj "model.layers.{l}.self_attn.q_proj.weight" : tensor<8x8xf32, #axd_h> layers(1)
  act.parameter @k_proj "model.layers.{l}.self_attn.k_proj.weight" : tensor<8x8xf32, #axd_h> layers(1)
  act.parameter @v_proj "model.layers.{l}.self_attn.v_proj.weight" : tensor<8x8xf32, #axd_h> layers(1)
  act.parameter @o_proj "model.layers.{l}.self_attn.o_proj.weight" : tensor<8x8xf32, #h_axd> layers(1)
  act.parameter @post_attention_layernorm "model.layers.{l}.post_attention_layernorm.weight" : tensor<8xf32, #h> layers(1) init(ones, 0.000000e+00)
  act.parameter @gate_proj "model.layers.{l}.mlp.gate_proj.weight" : tensor<16x8xf32, #f_h> layers(1)
  act.parameter @up_proj "model.layers.{l}.mlp.up_proj.weight" : tensor<16x8xf32, #f_h> layers(1)
  act.parameter @down_proj "model.layers.{l}.mlp.down_proj.weight" : tensor<8x16xf32, #h_f> layers(1)
  act.parameter @norm "model.norm.weight" : tensor<8xf32, #h> init(ones, 0.000000e+00)
  func.func private @layer(%arg0: tensor<1x4x8xf32, #b_s_h>, %arg1: tensor<4x2xf32, #s_p>, %arg2: tensor<4x2xf32, #s_p>) -> tensor<1x4x8xf32, #b_s_h> {
    %input_layernorm = act.param @input_layernorm : tensor<8xf32, #h>
    %result = act.rms_norm %arg0, %input_layernorm eps 1.000000e-05 : (tensor<1x4x8xf32, #b_s_h>, tensor<8xf32, #h>) -> tensor<1x4x8xf32, #b_s_h>
    %q_proj = act.param @q_proj : tensor<8x8xf32, #axd_h>
    %0 = act.linear %result, %q_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<8x8xf32, #axd_h>) -> tensor<1x4x8xf32, #b_s_axd>
    %k_proj = act.param @k_proj : tensor<8x8xf32, #axd_h>
    %1 = act.linear %result, %k_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<8x8xf32, #axd_h>) -> tensor<1x4x8xf32, #b_s_axd>
    %v_proj = act.param @v_proj : tensor<8x8xf32, #axd_h>
    %2 = act.linear %result, %v_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<8x8xf32, #axd_h>) -> tensor<1x4x8xf32, #b_s_axd>
    %3 = act.reshape %0 : tensor<1x4x8xf32, #b_s_axd> -> tensor<1x4x2x4xf32, #b_s_a_d>
    %4 = act.reshape %1 : tensor<1x4x8xf32, #b_s_axd> -> tensor<1x4x2x4xf32, #b_s_a_d>
    %5 = act.reshape %2 : tensor<1x4x8xf32, #b_s_axd> -> tensor<1x4x2x4xf32, #b_s_a_d>
    %6 = act.rope %3, %arg1, %arg2 : tensor<1x4x2x4xf32, #b_s_a_d>, tensor<4x2xf32, #s_p>
    %7 = act.rope %4, %arg1, %arg2 : tensor<1x4x2x4xf32, #b_s_a_d>, tensor<4x2xf32, #s_p>
    %8 = act.transpose %6 [0, 2, 1, 3] : tensor<1x4x2x4xf32, #b_s_a_d> -> tensor<1x2x4x4xf32, #b_a_s_d>
    %9 = act.transpose %7 [0, 2, 1, 3] : tensor<1x4x2x4xf32, #b_s_a_d> -> tensor<1x2x4x4xf32, #b_a_s_d>
    %10 = act.transpose %5 [0, 2, 1, 3] : tensor<1x4x2x4xf32, #b_s_a_d> -> tensor<1x2x4x4xf32, #b_a_s_d>
    %11 = act.matmul %8, %9 transpose_rhs : (tensor<1x2x4x4xf32, #b_a_s_d>, tensor<1x2x4x4xf32, #b_a_s_d>) -> tensor<1x2x4x4xf32, #b_a_s_s>
    %12 = act.scale %11 by 5.000000e-01 : tensor<1x2x4x4xf32, #b_a_s_s>
    %13 = act.causal_mask : tensor<4x4xi1, #s_s>
    %14 = act.constant dense<0xFF800000> : tensor<f32>
    %15 = act.select %13, %12, %14 : (tensor<4x4xi1, #s_s>, tensor<1x2x4x4xf32, #b_a_s_s>, tensor<f32>) -> tensor<1x2x4x4xf32, #b_a_s_s>
    %16 = act.softmax %15 axis 3 : tensor<1x2x4x4xf32, #b_a_s_s>
    %17 = act.matmul %16, %10 : (tensor<1x2x4x4xf32, #b_a_s_s>, tensor<1x2x4x4xf32, #b_a_s_d>) -> tensor<1x2x4x4xf32, #b_a_s_d>
    %18 = act.transpose %17 [0, 2, 1, 3] : tensor<1x2x4x4xf32, #b_a_s_d> -> tensor<1x4x2x4xf32, #b_s_a_d>
    %19 = act.reshape %18 : tensor<1x4x2x4xf32, #b_s_a_d> -> tensor<1x4x8xf32, #b_s_axd>
    %o_proj = act.param @o_proj : tensor<8x8xf32, #h_axd>
    %20 = act.linear %19, %o_proj : (tensor<1x4x8xf32, #b_s_axd>, tensor<8x8xf32, #h_axd>) -> tensor<1x4x8xf32, #b_s_h>
    %21 = act.add %arg0, %20 : (tensor<1x4x8xf32, #b_s_h>, tensor<1x4x8xf32, #b_s_h>) -> tensor<1x4x8xf32, #b_s_h>
    %post_attention_layernorm = act.param @post_attention_layernorm : tensor<8xf32, #h>
    %result_0 = act.rms_norm %21, %post_attention_layernorm eps 1.000000e-05 : (tensor<1x4x8xf32, #b_s_h>, tensor<8xf32, #h>) -> tensor<1x4x8xf32, #b_s_h>
    %gate_proj = act.param @gate_proj : tensor<16x8xf32, #f_h>
    %22 = act.linear %result_0, %gate_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<16x8xf32, #f_h>) -> tensor<1x4x16xf32, #b_s_f>
    %up_proj = act.param @up_proj : tensor<16x8xf32, #f_h>
    %23 = act.linear %result_0, %up_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<16x8xf32, #f_h>) -> tensor<1x4x16xf32, #b_s_f>
    %24 = act.swiglu %22, %23 : tensor<1x4x16xf32, #b_s_f>
    %down_proj = act.param @down_proj : tensor<8x16xf32, #h_f>
    %25 = act.linear %24, %down_proj : (tensor<1x4x16xf32, #b_s_f>, tensor<8x16xf32, #h_f>) -> tensor<1x4x8xf32, #b_s_h>
    %26 = act.add %21, %25 : (tensor<1x4x8xf32, #b_s_h>, tensor<1x4x8xf32, #b_s_h>) -> tensor<1x4x8xf32, #b_s_h>
    return %26 : tensor<1x4x8xf32, #b_s_h>
  }
  func.func @forward(%arg0: tensor<1x4xi32, #b_s> {act.name = "tokens"}, %arg1: tensor<1x4xi32, #b_s> {act.name = "labels"}) -> (tensor<f32> {act.name = "loss"}) {
    %embed_tokens = act.param @embed_tokens : tensor<32x8xf32, #V_h>
    %0 = act.embedding %embed_tokens, %arg0 : (tensor<32x8xf32, #V_h>, tensor<1x4xi32, #b_s>) -> tensor<1x4x8xf32, #b_s_h>
    %1 = act.positions : tensor<4xi32, #s>
    %cos, %sin = act.rope_table %1 theta 1.000000e+04 : tensor<4xi32, #s> -> tensor<4x2xf32, #s_p>
    %2 = act.repeat @layer count(L = 1) carry(%0) shared(%cos, %sin) : (tensor<1x4x8xf32, #b_s_h>, tensor<4x2xf32, #s_p>, tensor<4x2xf32, #s_p>) -> tensor<1x4x8xf32, #b_s_h>
    %norm = act.param @norm : tensor<8xf32, #h>
    %result = act.rms_norm %2, %norm eps 1.000000e-05 : (tensor<1x4x8xf32, #b_s_h>, tensor<8xf32, #h>) -> tensor<1x4x8xf32, #b_s_h>
    %3 = act.linear %result, %embed_tokens : (tensor<1x4x8xf32, #b_s_h>, tensor<32x8xf32, #V_h>) -> tensor<1x4x32xf32, #b_s_V>
    %loss = act.cross_entropy %3, %arg1 ignore -100 reduction mean : (tensor<1x4x32xf32, #b_s_V>, tensor<1x4xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
// AFTER: %55 = "aten.t"(%gate_proj) {node = "TBackward0", storage_of = 0 : i64, strides = array<i64: 1, 8>} : {{.*}}
// AFTER-NEXT: %56 = "aten.view"(%54) {node = "ViewBackward0", storage_of = 0 : i64} : {{.*}}
// AFTER-NEXT: %57 = "aten.mm"(%56, %55) {node = "MmBackward0", saves = ["mat2 %1", "self %0"]} : {{.*}}
// AFTER-NEXT: %58 = "aten._unsafe_view"(%57) {node = "UnsafeViewBackward0", storage_of = 0 : i64} : {{.*}}
// AFTER-NEXT: %59 = "aten.silu"(%58) {node = "SiluBackward0", saves = ["self %0"]} : {{.*}}
// AFTER: %64 = "aten.mul"(%59, %63) {node = "MulBackward0", saves = ["other %1", "self %0"]} : {{.*}}
