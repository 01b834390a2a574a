// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @q_proj "q.{l}" : tensor<64x48xf32> layers(2)
act.parameter @table "t" : tensor<4x64x!act.nf4> frozen

// CHECK-LABEL: @weight
// CHECK: act.param @q_proj : tensor<64x48xf32>
func.func @weight() -> tensor<64x48xf32> {
  %w = act.param @q_proj : tensor<64x48xf32>
  return %w : tensor<64x48xf32>
}

// CHECK-LABEL: @nf4
// CHECK: act.param @table : tensor<4x64x!act.nf4>
func.func @nf4() -> tensor<4x64x!act.nf4> {
  %w = act.param @table : tensor<4x64x!act.nf4>
  return %w : tensor<4x64x!act.nf4>
}
