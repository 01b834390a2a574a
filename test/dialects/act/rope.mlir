// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#b_s_a_d = #act.dims<b, s, a, d>
#s_4 = #act.dims<s, 4>

// CHECK-LABEL: @half
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} : tensor<1x8x2x8xf32>, tensor<8x4xf32>
func.func @half(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<1x8x2x8xf32> {
  %0 = act.rope %x, %cos, %sin : tensor<1x8x2x8xf32>, tensor<8x4xf32>
  return %0 : tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @interleaved
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} interleaved : tensor<1x8x2x8xf32>, tensor<8x4xf32>
func.func @interleaved(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<1x8x2x8xf32> {
  %0 = act.rope %x, %cos, %sin interleaved : tensor<1x8x2x8xf32>, tensor<8x4xf32>
  return %0 : tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @heads_first
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} heads_first : tensor<1x2x8x8xf32>, tensor<8x4xf32>
func.func @heads_first(%x: tensor<1x2x8x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<1x2x8x8xf32> {
  %0 = act.rope %x, %cos, %sin heads_first : tensor<1x2x8x8xf32>, tensor<8x4xf32>
  return %0 : tensor<1x2x8x8xf32>
}

// CHECK-LABEL: @inverse
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} interleaved inverse : tensor<1x8x2x8xf32>, tensor<8x4xf32>
func.func @inverse(%x: tensor<1x8x2x8xf32>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<1x8x2x8xf32> {
  %0 = act.rope %x, %cos, %sin interleaved inverse : tensor<1x8x2x8xf32>, tensor<8x4xf32>
  return %0 : tensor<1x8x2x8xf32>
}

// CHECK-LABEL: @packed
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} : tensor<8x2x8xbf16>, tensor<8x4xf32>
func.func @packed(%x: tensor<8x2x8xbf16>, %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<8x2x8xbf16> {
  %0 = act.rope %x, %cos, %sin : tensor<8x2x8xbf16>, tensor<8x4xf32>
  return %0 : tensor<8x2x8xbf16>
}

// CHECK-LABEL: @named
// CHECK: act.rope %{{.+}}, %{{.+}}, %{{.+}} : tensor<?x?x2x8xf32, #b_s_a_d>, tensor<?x4xf32, #s_4>
func.func @named(%x: tensor<?x?x2x8xf32, #b_s_a_d>, %cos: tensor<?x4xf32, #s_4>, %sin: tensor<?x4xf32, #s_4>) -> tensor<?x?x2x8xf32, #b_s_a_d> {
  %0 = act.rope %x, %cos, %sin : tensor<?x?x2x8xf32, #b_s_a_d>, tensor<?x4xf32, #s_4>
  return %0 : tensor<?x?x2x8xf32, #b_s_a_d>
}
