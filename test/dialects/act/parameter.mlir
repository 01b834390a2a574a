// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK: act.parameter @q_proj "model.layers.{l}.self_attn.q_proj.weight" : tensor<64x48xf32> layers(2){{$}}
act.parameter @q_proj "model.layers.{l}.self_attn.q_proj.weight" : tensor<64x48xf32> layers(2) init(normal, 2.000000e-02)

// CHECK: act.parameter @embed "model.embed_tokens.weight" : tensor<96x48xbf16> init(normal, 1.000000e-02) tied ["lm_head.weight"]
act.parameter @embed "model.embed_tokens.weight" : tensor<96x48xbf16> init(normal, 1.000000e-02) tied ["lm_head.weight"]

// CHECK: act.parameter @norm "model.layers.{l}.norm.weight" : tensor<48xf32> layers(2) init(ones) frozen{{$}}
act.parameter @norm "model.layers.{l}.norm.weight" : tensor<48xf32> layers(2) init(ones) frozen

// CHECK: act.parameter @bias "bias" : tensor<48xf32> init(zeros, 1.000000e-01)
act.parameter @bias "bias" : tensor<48xf32> init(zeros, 1.000000e-01)

// CHECK: act.parameter @packed "w" : tensor<64x48x!act.nf4> frozen{{$}}
act.parameter @packed "w" : tensor<64x48x!act.nf4> frozen

// CHECK: act.parameter @named "h" : tensor<?x48xf32, #v_48>
act.parameter @named "h" : tensor<?x48xf32, #act.dims<v, 48>>
