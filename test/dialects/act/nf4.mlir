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
