// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#b_s_h = #act.dims<b, s, h>
#b_s_v = #act.dims<b, s, v>

// CHECK-LABEL: @bias
// CHECK: act.linear %{{.+}}, %{{.+}} bias(%{{.+}}) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
func.func @bias(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<2x4x6xf32> {
  %0 = act.linear %x, %w bias(%b) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @no_bias
// CHECK: act.linear %{{.+}}, %{{.+}} : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
func.func @no_bias(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>) -> tensor<2x4x6xf32> {
  %0 = act.linear %x, %w : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @conv1d
// CHECK: act.linear %{{.+}}, %{{.+}} bias(%{{.+}}) in_out : (tensor<2x4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
func.func @conv1d(%x: tensor<2x4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<2x4x6xf32> {
  %0 = act.linear %x, %w bias(%b) in_out : (tensor<2x4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @lora
// CHECK: act.linear %{{.+}}, %{{.+}} lora(%{{.+}}, %{{.+}}, 2.000000e+00) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
func.func @lora(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %a: tensor<3x8xf32>, %b: tensor<6x3xf32>) -> tensor<2x4x6xf32> {
  %0 = act.linear %x, %w lora(%a, %b, 2.000000e+00) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<3x8xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @everything
// CHECK: act.linear %{{.+}}, %{{.+}} bias(%{{.+}}) lora(%{{.+}}, %{{.+}}, 5.000000e-01) in_out : (tensor<4x8xbf16>, tensor<8x6x!act.nf4<block = 16>>, tensor<6xbf16>, tensor<3x8xbf16>, tensor<6x3xbf16>) -> tensor<4x6xbf16>
func.func @everything(%x: tensor<4x8xbf16>, %w: tensor<8x6x!act.nf4<block = 16>>, %c: tensor<6xbf16>, %a: tensor<3x8xbf16>, %b: tensor<6x3xbf16>) -> tensor<4x6xbf16> {
  %0 = act.linear %x, %w bias(%c) lora(%a, %b, 5.000000e-01) in_out : (tensor<4x8xbf16>, tensor<8x6x!act.nf4<block = 16>>, tensor<6xbf16>, tensor<3x8xbf16>, tensor<6x3xbf16>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// CHECK-LABEL: @nf4_weight
// CHECK: act.linear %{{.+}}, %{{.+}} : (tensor<2x4x8xbf16>, tensor<6x8x!act.nf4>) -> tensor<2x4x6xbf16>
func.func @nf4_weight(%x: tensor<2x4x8xbf16>, %w: tensor<6x8x!act.nf4>) -> tensor<2x4x6xbf16> {
  %0 = act.linear %x, %w : (tensor<2x4x8xbf16>, tensor<6x8x!act.nf4>) -> tensor<2x4x6xbf16>
  return %0 : tensor<2x4x6xbf16>
}

// CHECK-LABEL: @named
// CHECK: act.linear %{{.+}}, %{{.+}} : (tensor<?x?x8xf32, #b_s_h>, tensor<6x8xf32>) -> tensor<?x?x6xf32, #b_s_v>
func.func @named(%x: tensor<?x?x8xf32, #b_s_h>, %w: tensor<6x8xf32>) -> tensor<?x?x6xf32, #b_s_v> {
  %0 = act.linear %x, %w : (tensor<?x?x8xf32, #b_s_h>, tensor<6x8xf32>) -> tensor<?x?x6xf32, #b_s_v>
  return %0 : tensor<?x?x6xf32, #b_s_v>
}
