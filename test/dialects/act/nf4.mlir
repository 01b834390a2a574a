// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK: @default(%{{.+}}: tensor<4x64x!act.nf4>)
func.func @default(%x: tensor<4x64x!act.nf4<block = 64>>) {
  return
}

// CHECK: @small(%{{.+}}: tensor<4x64x!act.nf4<block = 16>>)
func.func @small(%x: tensor<4x64x!act.nf4<block = 16>>) {
  return
}

// CHECK: @nested(%{{.+}}: tensor<4x64x!act.nf4<nested = true>>)
func.func @nested(%x: tensor<4x64x!act.nf4<block = 64, nested = true>>) {
  return
}

// CHECK: @small_nested(%{{.+}}: tensor<4x64x!act.nf4<block = 16, nested = true>>)
func.func @small_nested(%x: tensor<4x64x!act.nf4<nested = true, block = 16>>) {
  return
}
