// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @causal
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
func.func @causal(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @log_sum_exp
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x4x8xf32>)
func.func @log_sum_exp(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) {
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x4x8xf32>)
  return %0#0, %0#1 : tensor<1x8x4x8xf32>, tensor<1x4x8xf32>
}

// CHECK-LABEL: @window
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal window(4) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
func.func @window(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal window(4) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @padding
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 mask(%{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi1>) -> tensor<1x8x4x8xf32>
func.func @padding(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %mask: tensor<1x8xi1>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi1>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @softcap_and_sinks
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal softcap(5.000000e+01) sinks(%{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>) -> tensor<1x8x4x8xf32>
func.func @softcap_and_sinks(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %sinks: tensor<4xf32>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal softcap(5.000000e+01) sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @packed
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal cu_seqlens(%{{.+}}) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>) -> tensor<8x4x8xf32>
func.func @packed(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %cu: tensor<5xi32>) -> tensor<8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>) -> tensor<8x4x8xf32>
  return %0 : tensor<8x4x8xf32>
}

// CHECK-LABEL: @packed_log_sum_exp
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal cu_seqlens(%{{.+}}) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<4x8xf32>)
func.func @packed_log_sum_exp(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %cu: tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<4x8xf32>) {
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 causal cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<4x8xf32>)
  return %0#0, %0#1 : tensor<8x4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @dropout
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 dropout(1.000000e-01, %{{.+}}, %{{.+}}, %{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, i64, i64, i64) -> tensor<1x8x4x8xf32>
func.func @dropout(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 dropout(1.000000e-01, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, i64, i64, i64) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @everything
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal window(4) softcap(5.000000e+01) mask(%{{.+}}) sinks(%{{.+}}) dropout(1.000000e-01, %{{.+}}, %{{.+}}, %{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi1>, tensor<4xf32>, i64, i64, i64) -> tensor<1x8x4x8xf32>
func.func @everything(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %mask: tensor<1x8xi1>, %sinks: tensor<4xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal window(4) softcap(5.000000e+01) mask(%mask) sinks(%sinks) dropout(1.000000e-01, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi1>, tensor<4xf32>, i64, i64, i64) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @value_heads_of_another_size
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>) -> (tensor<1x8x4x6xf32>, tensor<1x4x8xf32>)
func.func @value_heads_of_another_size(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x6xf32>) -> (tensor<1x8x4x6xf32>, tensor<1x4x8xf32>) {
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>) -> (tensor<1x8x4x6xf32>, tensor<1x4x8xf32>)
  return %0#0, %0#1 : tensor<1x8x4x6xf32>, tensor<1x4x8xf32>
}

// CHECK-LABEL: @score
// CHECK: act.attention {{.+}} scale 3.535534e-01 causal score {
// CHECK: ^bb0(%[[S:.+]]: f32, %{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %{{.+}}: index):
// CHECK: %[[T:.+]] = arith.mulf %[[S]]
// CHECK: act.yield %[[T]] : f32
// CHECK: } : (
func.func @score(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield %t : f32
  } : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @mask_of_pairs
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 mask(%{{.+}}) : (tensor<2x8x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x8x6xi1>) -> tensor<2x8x4x8xf32>
func.func @mask_of_pairs(%q: tensor<2x8x4x8xf32>, %k: tensor<2x6x2x8xf32>, %v: tensor<2x6x2x8xf32>, %mask: tensor<2x8x6xi1>) -> tensor<2x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) : (tensor<2x8x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x8x6xi1>) -> tensor<2x8x4x8xf32>
  return %0 : tensor<2x8x4x8xf32>
}

// CHECK-LABEL: @mask_of_pairs_for_all
// CHECK: act.attention {{.*}}, tensor<1x8x6xi1>) -> tensor<2x8x4x8xf32>
func.func @mask_of_pairs_for_all(%q: tensor<2x8x4x8xf32>, %k: tensor<2x6x2x8xf32>, %v: tensor<2x6x2x8xf32>, %mask: tensor<1x8x6xi1>) -> tensor<2x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) : (tensor<2x8x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<1x8x6xi1>) -> tensor<2x8x4x8xf32>
  return %0 : tensor<2x8x4x8xf32>
}

// CHECK-LABEL: @bias
// CHECK: act.attention %{{.+}}, %{{.+}}, %{{.+}} scale 3.535534e-01 causal top_left window(4) softcap(5.000000e+01) bias(%{{.+}}) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x4x1x8xbf16>) -> tensor<1x8x4x8xf32>
func.func @bias(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %bias: tensor<1x4x1x8xbf16>) -> tensor<1x8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal top_left window(4) softcap(5.000000e+01) bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x4x1x8xbf16>) -> tensor<1x8x4x8xf32>
  return %0 : tensor<1x8x4x8xf32>
}

// CHECK-LABEL: @packed_bias
// CHECK: cu_seqlens(%{{.+}}) bias(%{{.+}}) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>, tensor<4x8x8xf32>) -> tensor<8x4x8xf32>
func.func @packed_bias(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %cu: tensor<5xi32>, %bias: tensor<4x8x8xf32>) -> tensor<8x4x8xf32> {
  %0 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) bias(%bias) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>, tensor<4x8x8xf32>) -> tensor<8x4x8xf32>
  return %0 : tensor<8x4x8xf32>
}
