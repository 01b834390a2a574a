// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#n_k = #act.dims<n, k>

// CHECK-LABEL: @bf16
// CHECK: act.dequantize %{{.+}} : tensor<8x16x!act.nf4> -> tensor<8x16xbf16>
func.func @bf16(%w: tensor<8x16x!act.nf4>) -> tensor<8x16xbf16> {
  %0 = act.dequantize %w : tensor<8x16x!act.nf4> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// CHECK-LABEL: @blocks
// CHECK: act.dequantize %{{.+}} : tensor<8x16x!act.nf4<block = 32>, #n_k> -> tensor<8x16xf32, #n_k>
func.func @blocks(%w: tensor<8x16x!act.nf4<block = 32>, #n_k>) -> tensor<8x16xf32, #n_k> {
  %0 = act.dequantize %w : tensor<8x16x!act.nf4<block = 32>, #n_k> -> tensor<8x16xf32, #n_k>
  return %0 : tensor<8x16xf32, #n_k>
}
