// RUN: act-opt %s --fuse-attention | FileCheck %s
// RUN: act-opt %s --memory-report="format=json file=%t.json" -o /dev/null
// RUN: act-opt %s --fuse-attention --memory-report="format=json file=%t.fused.json" -o /dev/null
// RUN: %python -c "import json; a, b = [json.load(open(f))['retained_bytes'] for f in ('%t.json', '%t.fused.json')]; assert b < a, (a, b)"

// Causal attention of one layer as a framework runs it: product, scale, mask, softmax,
// product. The probabilities are as large as s * s for every head, and are kept.
// CHECK: act.attention
// CHECK-SAME: causal
// CHECK-NOT: act.softmax
#V_h = #act.dims<V, h>
#axd_h = #act.dims<a*d, h>
#b_a_s_d = #act.dims<b, a, s, d>
#b_a_s_s = #act.dims<b, a, s, s>
#b_s = #act.dims<b, s>
#b_s_V = #act.dims<b, s, V>
#b_s_a_d = #act.dims<b, s, a, d>
#b_s_axd = #act.dims<b, s, a*d>
#s_s = #act.dims<s, s>
module @attention {
  act.parameter @embed "embed.weight" : tensor<65x48xf32, #V_h>
  act.parameter @q "q.weight" : tensor<48x48xf32, #axd_h>
  act.parameter @k "k.weight" : tensor<48x48xf32, #axd_h>
  act.parameter @v "v.weight" : tensor<48x48xf32, #axd_h>

  func.func @forward(%tokens: tensor<2x64xi32, #b_s> {act.name = "tokens"},
                     %labels: tensor<2x64xi32, #b_s> {act.name = "labels"})
      -> (tensor<f32> {act.name = "loss"}) {
    %embed = act.param @embed : tensor<65x48xf32, #V_h>
    %wq = act.param @q : tensor<48x48xf32, #axd_h>
    %wk = act.param @k : tensor<48x48xf32, #axd_h>
    %wv = act.param @v : tensor<48x48xf32, #axd_h>
    %x = act.embedding %embed, %tokens : (tensor<65x48xf32, #V_h>, tensor<2x64xi32, #b_s>) -> tensor<2x64x48xf32, #act.dims<b, s, h>>
    %q0 = act.linear %x, %wq : (tensor<2x64x48xf32, #act.dims<b, s, h>>, tensor<48x48xf32, #axd_h>) -> tensor<2x64x48xf32, #b_s_axd>
    %k0 = act.linear %x, %wk : (tensor<2x64x48xf32, #act.dims<b, s, h>>, tensor<48x48xf32, #axd_h>) -> tensor<2x64x48xf32, #b_s_axd>
    %v0 = act.linear %x, %wv : (tensor<2x64x48xf32, #act.dims<b, s, h>>, tensor<48x48xf32, #axd_h>) -> tensor<2x64x48xf32, #b_s_axd>
    %q1 = act.reshape %q0 : tensor<2x64x48xf32, #b_s_axd> -> tensor<2x64x4x12xf32, #b_s_a_d>
    %k1 = act.reshape %k0 : tensor<2x64x48xf32, #b_s_axd> -> tensor<2x64x4x12xf32, #b_s_a_d>
    %v1 = act.reshape %v0 : tensor<2x64x48xf32, #b_s_axd> -> tensor<2x64x4x12xf32, #b_s_a_d>
    %q2 = act.transpose %q1 [0, 2, 1, 3] : tensor<2x64x4x12xf32, #b_s_a_d> -> tensor<2x4x64x12xf32, #b_a_s_d>
    %k2 = act.transpose %k1 [0, 2, 1, 3] : tensor<2x64x4x12xf32, #b_s_a_d> -> tensor<2x4x64x12xf32, #b_a_s_d>
    %v2 = act.transpose %v1 [0, 2, 1, 3] : tensor<2x64x4x12xf32, #b_s_a_d> -> tensor<2x4x64x12xf32, #b_a_s_d>

    %scores = act.matmul %q2, %k2 transpose_rhs : (tensor<2x4x64x12xf32, #b_a_s_d>, tensor<2x4x64x12xf32, #b_a_s_d>) -> tensor<2x4x64x64xf32, #b_a_s_s>
    %scaled = act.scale %scores by 0.28867513459481287 : tensor<2x4x64x64xf32, #b_a_s_s>
    %mask = act.causal_mask : tensor<64x64xi1, #s_s>
    %never = act.constant dense<0xFF800000> : tensor<f32>
    %masked = act.select %mask, %scaled, %never : (tensor<64x64xi1, #s_s>, tensor<2x4x64x64xf32, #b_a_s_s>, tensor<f32>) -> tensor<2x4x64x64xf32, #b_a_s_s>
    %p = act.softmax %masked axis 3 : tensor<2x4x64x64xf32, #b_a_s_s>
    %o = act.matmul %p, %v2 : (tensor<2x4x64x64xf32, #b_a_s_s>, tensor<2x4x64x12xf32, #b_a_s_d>) -> tensor<2x4x64x12xf32, #b_a_s_d>

    %o1 = act.transpose %o [0, 2, 1, 3] : tensor<2x4x64x12xf32, #b_a_s_d> -> tensor<2x64x4x12xf32, #b_s_a_d>
    %o2 = act.reshape %o1 : tensor<2x64x4x12xf32, #b_s_a_d> -> tensor<2x64x48xf32, #act.dims<b, s, h>>
    %logits = act.linear %o2, %embed : (tensor<2x64x48xf32, #act.dims<b, s, h>>, tensor<65x48xf32, #V_h>) -> tensor<2x64x65xf32, #b_s_V>
    %loss = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x64x65xf32, #b_s_V>, tensor<2x64xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
