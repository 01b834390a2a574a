// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_s = #act.dims<s, s>

// CHECK-LABEL: @causal
// CHECK: act.causal_mask : tensor<4x6xi1>
func.func @causal() -> tensor<4x6xi1> {
  %0 = act.causal_mask : tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}

// CHECK-LABEL: @windowed
// CHECK: act.causal_mask window(4) : tensor<8x8xi1>
func.func @windowed() -> tensor<8x8xi1> {
  %0 = act.causal_mask window(4) : tensor<8x8xi1>
  return %0 : tensor<8x8xi1>
}

// CHECK-LABEL: @named
// CHECK: act.causal_mask : tensor<?x?xi1, #s_s>
func.func @named() -> tensor<?x?xi1, #s_s> {
  %0 = act.causal_mask : tensor<?x?xi1, #s_s>
  return %0 : tensor<?x?xi1, #s_s>
}
// CHECK-LABEL: @top_left
// CHECK: act.causal_mask top_left window(4) : tensor<4x6xi1>
func.func @top_left() -> tensor<4x6xi1> {
  %0 = act.causal_mask top_left window(4) : tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
