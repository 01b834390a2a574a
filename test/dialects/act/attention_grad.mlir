// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @causal
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
func.func @causal(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @window
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal window(4) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
func.func @window(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal window(4) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @padding
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 mask(%{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x8xi1>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
func.func @padding(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %mask: tensor<1x8xi1>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 mask(%mask) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x8xi1>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @softcap_and_sinks
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal softcap(5.000000e+01) sinks(%{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>)
func.func @softcap_and_sinks(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>) {
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal softcap(5.000000e+01) sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>
}

// CHECK-LABEL: @packed
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal cu_seqlens(%{{.+}}) : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
func.func @packed(%do: tensor<8x4x8xf32>, %q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %o: tensor<8x4x8xf32>, %lse: tensor<4x8xf32>, %cu: tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>
}

// CHECK-LABEL: @dropout
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 dropout(1.000000e-01, %{{.+}}, %{{.+}}, %{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, i64, i64, i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
func.func @dropout(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %seed: i64, %step: i64, %site: i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 dropout(1.000000e-01, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, i64, i64, i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @everything
// CHECK: act.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal window(4) softcap(5.000000e+01) mask(%{{.+}}) sinks(%{{.+}}) dropout(1.000000e-01, %{{.+}}, %{{.+}}, %{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x8xi1>, tensor<4xf32>, i64, i64, i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>)
func.func @everything(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %mask: tensor<1x8xi1>, %sinks: tensor<4xf32>, %seed: i64, %step: i64, %site: i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>) {
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal window(4) softcap(5.000000e+01) mask(%mask) sinks(%sinks) dropout(1.000000e-01, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x8xi1>, tensor<4xf32>, i64, i64, i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>
}

// CHECK-LABEL: @score
// CHECK: act.attention_grad {{.+}} scale 3.535534e-01 causal score {
// CHECK: ^bb0(%[[S:.+]]: f32, %{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %{{.+}}: index):
// CHECK: %[[T:.+]] = arith.mulf %[[S]]
// CHECK: act.yield %[[T]] : f32
// CHECK: } : (
func.func @score(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield %t : f32
  } : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @value_heads_of_another_size
// CHECK: act.attention_grad %{{.+}} scale 3.535534e-01 causal : (tensor<1x8x4x6xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>, tensor<1x8x4x6xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>)
func.func @value_heads_of_another_size(%do: tensor<1x8x4x6xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x6xf32>, %o: tensor<1x8x4x6xf32>, %lse: tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x6xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>, tensor<1x8x4x6xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>
}

// CHECK-LABEL: @sinks_and_bias
// CHECK: %dq, %dk, %dv, %dsinks, %dbias = act.attention_grad {{.+}} causal top_left sinks(%{{.+}}) bias(%{{.+}}) : {{.+}} -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>, tensor<1x4x1x8xbf16>)
func.func @sinks_and_bias(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<4xf32>, %bias: tensor<1x4x1x8xbf16>) -> (tensor<4xf32>, tensor<1x4x1x8xbf16>) {
  %0:5 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal top_left sinks(%sinks) bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xf32>, tensor<1x4x1x8xbf16>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>, tensor<1x4x1x8xbf16>)
  // A bias whose gradient nobody asks for.
  %1:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x1x8xbf16>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#3, %0#4 : tensor<4xf32>, tensor<1x4x1x8xbf16>
}
