// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

act.parameter @q_proj "q.{l}" : tensor<64x48xf32> layers(2)
act.parameter @table "t" : tensor<4x64x!act.nf4> frozen

// CHECK-LABEL: @weight
// CHECK: act.accumulate @q_proj, %{{.+}} : tensor<64x48xf32>
func.func @weight(%dw: tensor<64x48xf32>) {
  act.accumulate @q_proj, %dw : tensor<64x48xf32>
  return
}

// The gradient's type need not be the parameter's.
// CHECK-LABEL: @narrower
// CHECK: act.accumulate @q_proj, %{{.+}} : tensor<64x48xbf16>
func.func @narrower(%dw: tensor<64x48xbf16>) {
  act.accumulate @q_proj, %dw : tensor<64x48xbf16>
  return
}
